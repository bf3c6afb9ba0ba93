package rest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/internal/httpapi"
	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// request builds the request of a call. An error is for the model: it names the argument and what
// is wrong with it.
func (t *tool) request(ctx context.Context, args arguments) (*http.Request, error) {
	path, err := t.expandPath(args)
	if err != nil {
		return nil, err
	}
	u := *t.backend.URL
	if u.RawPath = path; path == "" {
		u.RawPath = u.EscapedPath()
	}
	if u.Path, err = url.PathUnescape(u.RawPath); err != nil {
		return nil, fmt.Errorf("cannot build the path: %w", err)
	}
	u.RawQuery = t.expandQuery(args)
	body, contentType := t.expandBody(args)
	header, err := t.expandHeaders(args, contentType)
	if err != nil {
		return nil, err
	}
	var reader io.Reader
	if contentType != "" {
		reader = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, t.method, "/", reader)
	if err != nil {
		return nil, fmt.Errorf("cannot build the request: %w", err)
	}
	req.URL, req.Host, req.Header = &u, u.Host, header
	return req, nil
}

// expandPath returns the path of the API followed by the tool's, escaped, or "" if the tool has no
// path.
func (t *tool) expandPath(args arguments) (string, error) {
	if t.path == nil {
		return "", nil
	}
	dst := append(make([]byte, 0, 128), t.backend.path...)
	for _, segment := range t.path {
		dst = append(dst, '/')
		begin := len(dst)
		for _, p := range segment {
			if p.name == "" {
				dst = append(dst, p.text...)
				continue
			}
			v, ok := args.get(p.name)
			if !ok {
				return "", fmt.Errorf("missing argument: %s, a part of the path %s", p.name, t.pattern)
			}
			dst = appendPlain(dst, v, ",", appendEscaped)
		}
		if names := segment.names(); names != nil {
			text, err := url.PathUnescape(string(dst[begin:]))
			if err != nil {
				return "", fmt.Errorf("cannot build the path %s: %w", t.pattern, err)
			}
			if err := checkSegment(text, names); err != nil {
				return "", err
			}
		}
	}
	return string(dst), nil
}

// expandQuery returns the query of the API followed by the tool's, without the pairs of absent
// arguments.
func (t *tool) expandQuery(args arguments) string {
	if t.query == nil {
		return t.backend.URL.RawQuery
	}
	dst := append(make([]byte, 0, 128), t.backend.URL.RawQuery...)
	for _, pair := range t.query {
		dst = t.appendPair(dst, pair, args)
	}
	return string(dst)
}

// appendPair appends a pair of the query: once, not at all if an argument is absent, or once for
// each item of an array.
func (t *tool) appendPair(dst []byte, pair template, args arguments) []byte {
	names := pair.names()
	if len(pair) == 0 {
		return dst
	}
	for _, name := range names {
		if _, ok := args.get(name); !ok {
			return dst
		}
	}
	if len(names) == 1 {
		switch v, sep := args.values[names[0]], t.join[names[0]]; {
		case sep == "[]" && isObject(v):
			for key, member := range wire.Members(v) {
				field := strings.TrimSuffix(pair[0].text, "=")
				dst = appendPlain(append(appendEscaped(append(and(dst), field+"%5B"...), key), "%5D="...), member, ",", appendEscaped)
			}
			return dst
		case isArray(v) && (sep == "" || sep == "[]"):
			for item := range wire.Elements(v) {
				dst = pair.append(and(dst), func(dst []byte, _ string) []byte { return appendEscaped(dst, native.Text(item)) })
			}
			return dst
		}
	}
	return pair.append(and(dst), func(dst []byte, name string) []byte {
		sep := t.join[name]
		if sep != "," {
			sep = string(appendEscaped(nil, sep))
		}
		if sep == "" || sep == "%5B%5D" {
			sep = ","
		}
		return appendPlain(dst, args.values[name], sep, appendEscaped)
	})
}

// and appends the separator of the next pair.
func and(dst []byte) []byte {
	if len(dst) > 0 && dst[len(dst)-1] != '&' {
		dst = append(dst, '&')
	}
	return dst
}

// append appends the template; write appends the value of a placeholder.
func (t template) append(dst []byte, write func(dst []byte, name string) []byte) []byte {
	for _, p := range t {
		if p.name == "" {
			dst = append(dst, p.text...)
		} else {
			dst = write(dst, p.name)
		}
	}
	return dst
}

// expandHeaders returns the headers of the API, which calls share, or a copy with those of the tool
// and the media type of the body. contentType is "" without a body.
func (t *tool) expandHeaders(args arguments, contentType string) (http.Header, error) {
	if len(t.headers) == 0 && contentType == "" {
		return t.backend.Header, nil
	}
	all := t.backend.Header.Clone()
next:
	for _, h := range t.headers {
		for _, name := range h.value.names() {
			v, ok := args.get(name)
			if !ok {
				continue next
			}
			text := string(appendPlain(nil, v, ",", appendText))
			if !httpapi.IsHeaderValue(text) {
				return nil, fmt.Errorf("argument %s: the header %s cannot contain a line break or another control character", name, h.name)
			}
			if strings.EqualFold(h.name, "Cookie") && strings.ContainsAny(text, " \t\",;\\") { // RFC 6265, section 4.1.1
				return nil, fmt.Errorf("argument %s: a cookie cannot contain white space, quotes, commas, semicolons or backslashes", name)
			}
		}
		all.Set(h.name, string(h.value.append(nil, func(dst []byte, name string) []byte {
			return appendPlain(dst, args.values[name], ",", appendText)
		})))
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
		v, ok := args.values[t.payload]
		if !ok {
			return "", ""
		}
		return string(v), jsonType
	}
	if t.body == bodyNone {
		return "", ""
	}
	var names []string
	for _, name := range args.names {
		if !t.used[name] {
			names = append(names, name)
		}
	}
	switch {
	case t.body == bodyForm:
		return form(names, args), "application/x-www-form-urlencoded"
	case len(names) == 0 && t.body == bodyAuto:
		return "", ""
	}
	return object(names, args.values), jsonType
}

// object returns the named arguments as a JSON object, each value as it came.
func object(names []string, values map[string][]byte) string {
	dst := []byte{'{'}
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(wire.AppendString(dst, name), ':'), values[name]...)
	}
	return string(append(dst, '}'))
}

// form returns the named arguments as pairs; an array is a pair for each item.
func form(names []string, args arguments) string {
	var dst []byte
	pair := func(name, value string) {
		dst = appendEscaped(append(appendEscaped(and(dst), name), '='), value)
	}
	for _, name := range names {
		v, ok := args.get(name)
		switch {
		case !ok:
		case isArray(v):
			for item := range wire.Elements(v) {
				pair(name, native.Text(item))
			}
		default:
			pair(name, native.Text(v))
		}
	}
	return string(dst)
}
