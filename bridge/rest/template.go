package rest

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
)

// A template is a text with placeholders, such as "pre{name}".
type template []part

// A part is a placeholder if it has a name, else literal text.
type part struct{ text, name string }

// parseTemplate parses a template. It refuses braces that do not enclose a name.
func parseTemplate(s string) (t template, err error) {
	for s != "" {
		text, rest, found := strings.Cut(s, "{")
		if i := strings.IndexByte(text, '}'); i >= 0 {
			return nil, fmt.Errorf("unbalanced braces: } without { before %q", native.Shorten(s[i+1:]))
		}
		if text != "" {
			t = append(t, part{text: text})
		}
		if !found {
			break
		}
		name, after, closed := strings.Cut(rest, "}")
		switch {
		case !closed || strings.Contains(name, "{"):
			return nil, fmt.Errorf("unbalanced braces: no } after %q", native.Shorten(s[len(text):]))
		case name == "":
			return nil, errors.New("{} does not name an argument")
		}
		t, s = append(t, part{name: name}), after
	}
	return t, nil
}

// names returns the names of the placeholders, in order.
func (t template) names() (names []string) {
	for _, p := range t {
		if p.name != "" {
			names = append(names, p.name)
		}
	}
	return names
}

// expand returns the text with the values of the placeholders.
func (t template) expand(value func(name string) string) string {
	var b strings.Builder
	for _, p := range t {
		if b.WriteString(p.text); p.name != "" {
			b.WriteString(value(p.name))
		}
	}
	return b.String()
}

// cut splits a template at the first separator in its literal text.
func (t template) cut(sep string) (before, after template, found bool) {
	for i, p := range t {
		if left, right, ok := strings.Cut(p.text, sep); ok {
			isEmpty := func(p part) bool { return p == part{} }
			before = slices.DeleteFunc(append(slices.Clone(t[:i]), part{text: left}), isEmpty)
			after = slices.DeleteFunc(append(template{{text: right}}, t[i+1:]...), isEmpty)
			return before, after, true
		}
	}
	return t, nil, false
}

// split splits a template at every separator in its literal text.
func (t template) split(sep string) (parts []template) {
	for found := true; found; {
		var before template
		before, t, found = t.cut(sep)
		parts = append(parts, before)
	}
	return parts
}

// The characters of literal text that need no escape besides unreserved ones (RFC 3986, sections
// 3.3 and 3.4).
const (
	pathLiterals  = "!$&'()*+,;=:@/"
	queryLiterals = pathLiterals + "?"
)

// escapeLiterals escapes the literal text for a URL, except the characters in allowed and what is
// escaped already.
func (t template) escapeLiterals(allowed string) error {
	for i, p := range t {
		var b strings.Builder
		for j := range len(p.text) {
			switch c := p.text[j : j+1]; {
			case c == "%":
				if code, _ := hex.DecodeString(p.text[j+1 : min(j+3, len(p.text))]); len(code) != 1 {
					return fmt.Errorf("%q: %% must be followed by two hexadecimal digits; a percent sign is written %%25", native.Shorten(p.text[j:]))
				}
				b.WriteString(c)
			case strings.Contains(allowed, c):
				b.WriteString(c)
			default:
				b.WriteString(escape(c))
			}
		}
		t[i].text = b.String()
	}
	return nil
}

// escape escapes all of s that is not unreserved (RFC 3986, section 2.3), so that it means itself
// anywhere in a URL.
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
