package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

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
		query, err := t.expandQuery(args)
		if err != nil {
			return nil, err
		}
		u.RawQuery = query
	}
	body, contentType, err := t.expandBody(args)
	if err != nil {
		return nil, err
	}
	header, err := t.expandHeaders(args, contentType)
	if err != nil {
		return nil, err
	}
	var reader io.Reader
	if contentType != "" {
		reader = bytes.NewReader(body)
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
		text := segment.expand(func(name string) string { return t.encoding[name].text(name, args.values[name], escape) })
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
func (t *tool) expandQuery(args arguments) (string, error) {
	all := []string{strings.TrimSuffix(t.URL.RawQuery, "&")}
	var err error
	for _, pair := range t.query {
		if all, err = t.expandPair(all, pair, args, pairs{escape: escape, taken: []taken{t.taken, t.backend.taken}}); err != nil {
			return "", err
		}
	}
	return strings.Join(slices.DeleteFunc(all, func(pair string) bool { return pair == "" }), "&"), nil
}

// expandPair appends what a pair of the query or a cookie becomes: nothing if an argument is
// absent, or a pair for each item or member of a list or an object that is exploded. p is empty.
func (t *tool) expandPair(dst []string, of template, args arguments, p pairs) ([]string, error) {
	names := of.names()
	if args.missing(names...) != "" {
		return dst, nil
	}
	if isPair(of) {
		name, v := names[0], args.values[names[0]]
		if isArray(v) || isObject(v) {
			own := strings.TrimSuffix(of[0].text, "=")
			p.add(t.encoding[name], own, v)
			for _, it := range p.all {
				dst = append(dst, it.name+"="+it.value)
			}
			return dst, p.check(name, own, func(name string) bool {
				return slices.ContainsFunc(p.taken, func(t taken) bool { return t[name] })
			})
		}
	}
	return append(dst, of.expand(func(name string) string { return t.encoding[name].text(name, args.values[name], p.escape) })), nil
}
