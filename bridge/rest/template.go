package rest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
)

// A template is a text with placeholders, such as "pre{name}".
type template []part

// A part is a placeholder if it has a name, else literal text.
type part struct{ text, name string }

// parseTemplate parses a template. It refuses braces that do not enclose a name.
func parseTemplate(s string) (template, error) {
	var t template
	for s != "" {
		i := strings.IndexAny(s, "{}")
		if i < 0 {
			return append(t, part{text: s}), nil
		}
		if s[i] == '}' {
			return nil, fmt.Errorf("unbalanced braces: } without { before %q", native.Shorten(s[i+1:]))
		}
		if i > 0 {
			t = append(t, part{text: s[:i]})
		}
		end := strings.IndexAny(s[i+1:], "{}")
		switch {
		case end < 0 || s[i+1+end] == '{':
			return nil, fmt.Errorf("unbalanced braces: no } after %q", native.Shorten(s[i:]))
		case end == 0:
			return nil, errors.New("{} does not name an argument")
		}
		t = append(t, part{name: s[i+1 : i+1+end]})
		s = s[i+2+end:]
	}
	return t, nil
}

// names returns the names of the placeholders, in order.
func (t template) names() []string {
	var names []string
	for _, p := range t {
		if p.name != "" {
			names = append(names, p.name)
		}
	}
	return names
}

// cut splits a template at the first separator in its literal text.
func (t template) cut(sep string) (before, after template, found bool) {
	for i, p := range t {
		left, right, ok := strings.Cut(p.text, sep)
		if !ok {
			continue
		}
		before = append(before, t[:i]...)
		if left != "" {
			before = append(before, part{text: left})
		}
		if right != "" {
			after = append(after, part{text: right})
		}
		return before, append(after, t[i+1:]...), true
	}
	return t, nil, false
}

// split splits a template at every separator in its literal text.
func (t template) split(sep string) []template {
	var parts []template
	for {
		before, after, found := t.cut(sep)
		if parts = append(parts, before); !found {
			return parts
		}
		t = after
	}
}

// escapeLiterals escapes the literal text for a URL, except unreserved characters, those in allowed
// and what is escaped already.
func (t template) escapeLiterals(allowed string) error {
	for i, p := range t {
		var b []byte
		for j := 0; j < len(p.text); j++ {
			c := p.text[j]
			switch {
			case c == '%':
				if j+2 >= len(p.text) || !isHex(p.text[j+1]) || !isHex(p.text[j+2]) {
					return fmt.Errorf("%q: %% must be followed by two hexadecimal digits; a percent sign is written %%25", native.Shorten(p.text[j:]))
				}
				b = append(b, c)
			case isUnreserved(c) || strings.IndexByte(allowed, c) >= 0:
				b = append(b, c)
			default:
				b = appendByte(b, c)
			}
		}
		t[i].text = string(b)
	}
	return nil
}

// The characters that need no escape besides unreserved ones (RFC 3986, sections 3.3 and 3.4).
const (
	pathLiterals  = "!$&'()*+,;=:@"
	queryLiterals = pathLiterals + "/?"
)

// isUnreserved reports whether c never needs an escape (RFC 3986, section 2.3).
func isUnreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// appendEscaped appends s with everything escaped that is not unreserved, so that it means itself
// anywhere in a URL.
func appendEscaped(dst []byte, s string) []byte {
	for i := range len(s) {
		if isUnreserved(s[i]) {
			dst = append(dst, s[i])
		} else {
			dst = appendByte(dst, s[i])
		}
	}
	return dst
}

func appendByte(dst []byte, c byte) []byte {
	const hex = "0123456789ABCDEF"
	return append(dst, '%', hex[c>>4], hex[c&15])
}
