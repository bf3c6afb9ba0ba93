package rest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// An Encoding says how an argument is written, in OpenAPI's terms (3.1.1, sections 4.8.12 and
// 4.8.15). Without one, a list in a query or a form is a pair for each item, elsewhere its items
// with commas between them; an object is JSON.
type Encoding struct {
	// Style is "simple", "label" or "matrix" in a path, "simple" in a header, and "form",
	// "spaceDelimited", "pipeDelimited" or "deepObject" in a query, a form or a cookie. A
	// deepObject of any depth is filter[color][0][name]=red; a list of plain values in it is
	// filter[color][]=red.
	//
	// "json" is JSON, also of a string. "file" is for a multipart body, or for an argument that is
	// the body: a file, which the argument has as text, as data:TYPE;base64,DATA, as file:PATH (a
	// file below the folder of the API's config, see API.Files) or as the contents of an MCP
	// resource: an object of uri (its name), mimeType, and text or blob (base64), which a result may
	// embed in one with the member resource.
	Style string `json:"style,omitempty"`

	// Explode writes the items of a list or the members of an object apart: as pairs of a query,
	// or as name=value elsewhere. The default is true for the style form.
	Explode *bool `json:"explode,omitempty"`

	ContentType string `json:"contentType,omitempty"` // of a part of a multipart body
}

// The styles of an Encoding.
const (
	styleDefault = ""
	styleSimple  = "simple"
	styleLabel   = "label"
	styleMatrix  = "matrix"
	styleForm    = "form"
	styleSpace   = "spaceDelimited"
	stylePipe    = "pipeDelimited"
	styleDeep    = "deepObject"
	styleJSON    = "json"
	styleFile    = "file"
)

// An encoding is a compiled Encoding. The zero value is that of an argument without one.
type encoding struct {
	style       string
	explode     bool
	separator   string // of items that are not exploded; "" is a comma
	contentType string
}

// compileEncoding compiles Encoding and Join.
func (t *tool) compileEncoding(s *Spec) error {
	t.encoding = make(map[string]encoding, len(s.Encoding)+len(s.Join))
	for _, name := range slices.Sorted(maps.Keys(s.Join)) {
		if err := t.compileJoin(name, s.Join[name]); err != nil {
			return fmt.Errorf("join: %w", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Encoding)) {
		if _, twice := t.encoding[name]; twice {
			return fmt.Errorf("encoding: %s is in join as well: expected it in encoding alone", name)
		}
		e, err := t.compileStyle(name, s.Encoding[name])
		if err = cmp.Or(err, t.checkPlaces(name, e), t.checkPairs(name, e)); err != nil {
			return fmt.Errorf("encoding: %s: %w", name, err)
		}
		t.encoding[name] = e
	}
	return nil
}

func (t *tool) compileJoin(name, separator string) error {
	e := encoding{style: styleForm, separator: separator}
	if separator == "[]" {
		e = encoding{style: styleDeep}
	}
	t.encoding[name] = e
	switch {
	case !t.has(t.query, name):
		return fmt.Errorf("{%s} is not in the query", name)
	case separator == "":
		return fmt.Errorf(`the separator of %s is empty: expected "," or the like, or "[]"`, name)
	}
	return t.checkPairs(name, e)
}

func (t *tool) compileStyle(name string, from Encoding) (encoding, error) {
	e := encoding{style: from.Style, contentType: from.ContentType}
	if strings.ContainsFunc(e.contentType, isControl) {
		return e, errors.New("contentType has a control character in it")
	}
	if e.style == styleDefault && from.Explode != nil {
		e.style = styleForm
		if t.has(t.path, name) || t.inHeader(name) {
			e.style = styleSimple
		}
	}
	e.explode = e.style == styleForm
	if from.Explode != nil {
		e.explode = *from.Explode
	}
	switch e.style {
	case styleDefault, styleSimple, styleLabel, styleMatrix, styleForm, styleDeep, styleJSON, styleFile:
	case styleSpace:
		e.separator = " "
	case stylePipe:
		e.separator = "|"
	default:
		return e, fmt.Errorf("unknown style %q: expected simple, label, matrix, form, spaceDelimited, pipeDelimited, deepObject, json or file", native.Shorten(e.style))
	}
	return e, nil
}

// pairStyles are the styles of the pairs of a query, a form and the cookies.
var pairStyles = []string{styleForm, styleSpace, stylePipe, styleDeep}

// checkPlaces checks that the style of an argument fits each of its places.
func (t *tool) checkPlaces(name string, e encoding) error {
	isField := !t.used[name] || t.payload != "" && name != t.payload
	isUsed := false
	for _, place := range []struct {
		is     bool
		name   string
		styles []string
	}{
		{t.has(t.path, name), "a path", []string{styleSimple, styleLabel, styleMatrix}},
		{t.inHeader(name), "a header", []string{styleSimple}},
		{t.has(t.query, name), "a query", pairStyles},
		{t.has(t.cookies, name), "a cookie", pairStyles},
		{isField && t.format == formatForm, "a form", pairStyles},
		{isField && t.format == formatMultipart, "a multipart body", append(slices.Clone(pairStyles), styleFile)},
		{name == t.payload && t.format == formatRaw, "a body", []string{styleFile}},
	} {
		if !place.is {
			continue
		}
		isUsed = true
		if e.style != styleDefault && e.style != styleJSON && !slices.Contains(place.styles, e.style) {
			return fmt.Errorf("the style %s is not for %s: expected %s or json", e.style, place.name, strings.Join(place.styles, ", "))
		}
	}
	if !isUsed {
		return errors.New("it has no effect: the argument is not in a path, a query, a header or a form")
	}
	return nil
}

// checkPairs checks that an argument that becomes several pairs is not a part of one.
func (t *tool) checkPairs(name string, e encoding) error {
	isPart := func(pair template) bool { return !isPair(pair) && slices.Contains(pair.names(), name) }
	isMany := e.style == styleDeep || e.explode && slices.Contains(pairStyles, e.style)
	if isMany && slices.ContainsFunc(slices.Concat(t.query, t.cookies), isPart) {
		return fmt.Errorf("the style %s is for a pair such as %s={%s}", e.style, name, name)
	}
	return nil
}

// has reports whether a placeholder is in one of the templates.
func (t *tool) has(templates []template, name string) bool {
	return slices.ContainsFunc(templates, func(tpl template) bool { return slices.Contains(tpl.names(), name) })
}

func (t *tool) inHeader(name string) bool {
	return slices.ContainsFunc(t.headers, func(h header) bool { return slices.Contains(h.value.names(), name) })
}

// isPair reports whether a template is key={name} and nothing else.
func isPair(t template) bool {
	return len(t) == 2 && t[1].name != "" && strings.HasSuffix(t[0].text, "=")
}

func isArray(v []byte) bool  { return len(v) > 0 && v[0] == '[' }
func isObject(v []byte) bool { return len(v) > 0 && v[0] == '{' }
func isNull(v []byte) bool   { return string(v) == "null" }

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// verbatim escapes nothing.
func verbatim(s string) string { return s }

// parts returns the items of a list, or the members of an object: keys and values in turn or, if
// exploded, as key=value. A null is undefined and left out (RFC 6570, section 2.3).
func (e encoding) parts(v []byte, escape func(string) string) (all []string) {
	for item := range wire.Elements(v) {
		if !isNull(item) {
			all = append(all, escape(native.Text(item)))
		}
	}
	for key, member := range wire.Members(v) {
		switch text := escape(native.Text(member)); {
		case isNull(member):
		case e.explode:
			all = append(all, escape(key)+"="+text)
		default:
			all = append(all, escape(key), text)
		}
	}
	return all
}

// text returns the text of a value in a path, in a header, or as the value of one pair. It is ""
// for an empty list or object.
func (e encoding) text(name string, v []byte, escape func(string) string) string {
	isList := isArray(v) || isObject(v) && e.style != styleDefault
	switch {
	case e.style == styleJSON:
		return escape(string(v))
	case e.style == styleLabel:
		return e.label(v, escape)
	case e.style == styleMatrix:
		return e.matrix(name, v, escape)
	case !isList:
		return escape(native.Text(v))
	case e.separator == "" || e.separator == ",":
		return strings.Join(e.parts(v, escape), ",")
	}
	return strings.Join(e.parts(v, escape), escape(e.separator))
}

// label returns a value as RFC 6570, section 3.2.5, has it.
func (e encoding) label(v []byte, escape func(string) string) string {
	if !isArray(v) && !isObject(v) {
		return "." + escape(native.Text(v))
	}
	separator := ","
	if e.explode {
		separator = "."
	}
	return begin(".", strings.Join(e.parts(v, escape), separator))
}

// matrix returns a value as RFC 6570, section 3.2.7, has it.
func (e encoding) matrix(name string, v []byte, escape func(string) string) string {
	name = escape(name)
	switch {
	case isObject(v) && e.explode:
		return begin(";", strings.Join(e.parts(v, escape), ";"))
	case isArray(v) && e.explode:
		return begin(";"+name+"=", strings.Join(e.parts(v, escape), ";"+name+"="))
	case isArray(v) || isObject(v):
		return begin(";"+name+"=", strings.Join(e.parts(v, escape), ","))
	}
	return ";" + name + begin("=", escape(native.Text(v)))
}

// begin puts a prefix before a text that is not empty.
func begin(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}
