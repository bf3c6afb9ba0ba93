package main

import (
	"context"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// A uriTemplate is a resource template whose expressions are {name} and {+name}, with literals between them.
type uriTemplate struct {
	text     string
	names    []string
	reserved []bool   // whether a value has its slashes: {+name}
	literals []string // one before each name, and one behind the last
}

// longestTemplate bounds the bytes of a template that is read; no URI of a longer one leads to its resource.
const longestTemplate = 1 << 10

// expression matches an expression of a template.
var expression = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{(\+?)([\w.]+)\}`) })

// parseTemplate parses a template; ok is false if it has other expressions, or none, or two without a text between them.
func parseTemplate(text string) (t uriTemplate, ok bool) {
	t.text = text
	if len(text) > longestTemplate {
		return t, false
	}
	end := 0
	for _, m := range expression().FindAllStringSubmatchIndex(text, -1) {
		if end > 0 && m[0] == end {
			return t, false
		}
		t.literals = append(t.literals, text[end:m[0]])
		t.reserved = append(t.reserved, m[2] < m[3])
		t.names = append(t.names, text[m[4]:m[5]])
		end = m[1]
	}
	t.literals = append(t.literals, text[end:])
	return t, len(t.names) > 0 && !strings.ContainsAny(strings.Join(t.literals, ""), "{}")
}

// split returns the values that a URI, or the beginning of one, has for the template's names: whole reports whether it
// is one of the template's, open whether more of the last value may follow.
func (t *uriTemplate) split(uri string) (values []string, whole, open bool) {
	rest, ok := strings.CutPrefix(uri, t.literals[0])
	if !ok {
		return nil, false, false
	}
	for _, literal := range t.literals[1:] {
		value, next, found := strings.Cut(rest, literal)
		if literal == "" { // the last one
			return append(values, rest), rest != "", true
		}
		values = append(values, value)
		if !found {
			return values, false, true
		}
		rest = next
	}
	return values, rest == "", false
}

// templates returns the templates of the servers that can be filled in here.
func (c *chat) templates(ctx context.Context) (all []uriTemplate) {
	list, _ := c.tools.List(ctx, bridge.Templates) // a server that cannot say has none
	for _, key := range keysOf(list) {
		if t, ok := parseTemplate(key); ok {
			all = append(all, t)
		}
	}
	return all
}

// isOfTemplate reports whether a server has a template for a URI.
func (c *chat) isOfTemplate(ctx context.Context, uri string) bool {
	if u, err := url.Parse(uri); err != nil || len(u.Scheme) < 2 { // C: is no scheme
		return false
	}
	for _, t := range c.templates(ctx) {
		if _, whole, _ := t.split(uri); whole {
			return true
		}
	}
	return false
}

// completeURI returns what the beginning of a URI may become by the templates: the text before the first name, or with
// a value that the server offers for the name at its end.
func (c *chat) completeURI(ctx context.Context, start string) (uris []string) {
	for _, t := range c.templates(ctx) {
		if strings.HasPrefix(t.literals[0], start) && start != t.literals[0] {
			uris = append(uris, t.literals[0])
			continue
		}
		values, _, open := t.split(start)
		if !open {
			continue
		}
		at, given := len(values)-1, map[string]string{}
		for i, value := range values {
			given[t.names[i]], _ = url.PathUnescape(value)
		}
		text := given[t.names[at]]
		delete(given, t.names[at])
		before := strings.TrimSuffix(start, values[at])
		for _, value := range c.valuesOf(ctx, map[string]string{"type": "ref/resource", "uri": t.text}, t.names[at], text, given) {
			if t.reserved[at] {
				value = (&url.URL{Path: value}).EscapedPath()
			} else {
				value = url.PathEscape(value)
			}
			uris = append(uris, before+value+t.literals[at+1])
		}
	}
	return uris
}
