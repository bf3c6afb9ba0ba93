package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/internal/httpapi"
	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// arguments are the arguments of a call, whose values are written as they came.
type arguments struct {
	names  []string // in the order of the call
	values map[string][]byte
}

func readArguments(raw json.RawMessage) arguments {
	a := arguments{values: map[string][]byte{}}
	for name, value := range wire.Members(raw) {
		if _, again := a.values[name]; !again {
			a.names = append(a.names, name)
		}
		a.values[name] = value // the last of duplicates counts, as in decoders
	}
	return a
}

// missing returns the first of names whose argument is absent or null, or "" if there is an
// argument for each.
func (a arguments) missing(names ...string) string {
	for _, name := range names {
		if v, ok := a.values[name]; !ok || string(v) == "null" {
			return name
		}
	}
	return ""
}

// texts returns the items of an array, or any other value, as text.
func texts(v []byte) (all []string) {
	if !isArray(v) {
		return []string{native.Text(v)}
	}
	for item := range wire.Elements(v) {
		all = append(all, native.Text(item))
	}
	return all
}

// escaped returns the texts of a value, escaped, with sep between them.
func escaped(v []byte, sep string) string {
	all := texts(v)
	for i, text := range all {
		all[i] = escape(text)
	}
	return strings.Join(all, sep)
}

func isArray(v []byte) bool { return len(v) > 0 && v[0] == '[' }

// request builds the request of a call. An error is for the model: it names the argument and what
// is wrong with it.
func (t *tool) request(ctx context.Context, args arguments) (*http.Request, error) {
	u := *t.URL
	if t.path != nil {
		path, err := t.expandPath(args)
		if err != nil {
			return nil, err
		}
		u.RawPath = path
		u.Path, _ = url.PathUnescape(path) // which is escaped: this cannot fail
	}
	if t.query != nil {
		u.RawQuery = t.expandQuery(args)
	}
	body, contentType := t.expandBody(args)
	header, err := t.expandHeaders(args, contentType)
	if err != nil {
		return nil, err
	}
	var reader io.Reader
	if contentType != "" {
		reader = strings.NewReader(body)
	}
	req, _ := http.NewRequestWithContext(ctx, t.method, "/", reader) // a known method: this cannot fail
	req.URL, req.Host, req.Header = &u, u.Host, header
	return req, nil
}

// expandPath returns the path of the API followed by the tool's, escaped.
func (t *tool) expandPath(args arguments) (string, error) {
	path := t.basePath
	for _, segment := range t.path {
		names := segment.names()
		if name := args.missing(names...); name != "" {
			return "", fmt.Errorf("missing argument: %s, a part of the path %s", name, t.pattern)
		}
		text := segment.expand(func(name string) string { return escaped(args.values[name], ",") })
		path += "/" + text
		if names == nil {
			continue
		}
		plain, _ := url.PathUnescape(text) // which is escaped: this cannot fail
		if err := checkSegment(plain, names); err != nil {
			return "", err
		}
	}
	return path, nil
}

// checkSegment refuses a segment that is empty, or that is not one segment for a server that
// decodes a path before it removes dot segments (RFC 3986, section 5.2.4).
func checkSegment(segment string, names []string) error {
	who := "argument " + strings.Join(names, ", ")
	if segment == "" {
		return fmt.Errorf("%s: must not be empty, as it is a part of the path", who)
	}
	if strings.ContainsFunc(segment, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return fmt.Errorf("%s: a path cannot contain a control character", who)
	}
	for step := range strings.FieldsFuncSeq(segment, func(r rune) bool { return r == '/' || r == '\\' }) {
		step, _, _ = strings.Cut(step, ";") // servlet containers drop the rest
		if step == "." || step == ".." {
			return fmt.Errorf("%s: %q would lead to another path", who, step)
		}
	}
	return nil
}

// expandQuery returns the query of the API followed by the tool's, without the pairs of absent
// arguments.
func (t *tool) expandQuery(args arguments) string {
	pairs := []string{strings.TrimSuffix(t.URL.RawQuery, "&")}
	for _, pair := range t.query {
		pairs = t.appendPair(pairs, pair, args)
	}
	return strings.Join(slices.DeleteFunc(pairs, func(pair string) bool { return pair == "" }), "&")
}

// appendPair appends a pair of the query: once, not at all if an argument is absent, or once for
// each item of an array or member of an object.
func (t *tool) appendPair(pairs []string, pair template, args arguments) []string {
	names := pair.names()
	if args.missing(names...) != "" {
		return pairs
	}
	if len(names) == 1 {
		switch v, sep := args.values[names[0]], t.join[names[0]]; {
		case sep == "[]" && v[0] == '{':
			field := strings.TrimSuffix(pair[0].text, "=")
			for key, member := range wire.Members(v) {
				pairs = append(pairs, field+"%5B"+escape(key)+"%5D="+escaped(member, ","))
			}
			return pairs
		case isArray(v) && (sep == "" || sep == "[]"):
			for _, item := range texts(v) {
				pairs = append(pairs, pair.expand(func(string) string { return escape(item) }))
			}
			return pairs
		}
	}
	return append(pairs, pair.expand(func(name string) string {
		sep := t.join[name]
		switch sep {
		case "", "[]", ",":
			sep = ","
		default:
			sep = escape(sep)
		}
		return escaped(args.values[name], sep)
	}))
}

// expandHeaders returns the headers of the API, which calls share, or a copy with those of the tool
// and the media type of the body. contentType is "" without a body.
func (t *tool) expandHeaders(args arguments, contentType string) (http.Header, error) {
	if len(t.headers) == 0 && contentType == "" {
		return t.Header, nil
	}
	all := t.Header.Clone()
	text := func(name string) string { return strings.Join(texts(args.values[name]), ",") }
	for _, h := range t.headers {
		names := h.value.names()
		if args.missing(names...) != "" {
			continue
		}
		for _, name := range names {
			if httpapi.CheckHeader(h.name, text(name)) != nil {
				return nil, fmt.Errorf("argument %s: the header %s cannot contain a line break or another control character", name, h.name)
			}
			if strings.EqualFold(h.name, "Cookie") && strings.ContainsAny(text(name), " \t\",;\\") { // RFC 6265, section 4.1.1
				return nil, fmt.Errorf("argument %s: a cookie cannot contain white space, quotes, commas, semicolons or backslashes", name)
			}
		}
		all.Set(h.name, h.value.expand(text))
	}
	if contentType != "" && all.Get("Content-Type") == "" {
		all.Set("Content-Type", contentType)
	}
	return all, nil
}

// expandBody returns the body and its media type, which is "" without a body.
func (t *tool) expandBody(args arguments) (body, contentType string) {
	const jsonType = "application/json"
	if t.payload != "" {
		if v, ok := args.values[t.payload]; ok {
			return string(v), jsonType
		}
		return "", ""
	}
	names := slices.DeleteFunc(args.names, func(name string) bool { return t.used[name] })
	switch {
	case t.body == bodyNone, t.body == bodyAuto && len(names) == 0:
		return "", ""
	case t.body == bodyForm:
		return form(names, args), "application/x-www-form-urlencoded"
	}
	dst := []byte{'{'}
	for _, name := range names { // each value as it came
		dst = append(native.AppendKey(dst, name), args.values[name]...)
	}
	return string(append(dst, '}')), jsonType
}

// form returns the named arguments as pairs; an array is a pair for each item.
func form(names []string, args arguments) string {
	var pairs []string
	for _, name := range names {
		if args.missing(name) != "" {
			continue
		}
		for _, text := range texts(args.values[name]) {
			pairs = append(pairs, escape(name)+"="+escape(text))
		}
	}
	return strings.Join(pairs, "&")
}
