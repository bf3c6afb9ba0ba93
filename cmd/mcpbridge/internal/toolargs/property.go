package toolargs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
)

// A Property is what a schema says of one argument.
type Property struct {
	Name     string
	About    string // its description
	Required bool
	Default  string   // as a word
	Values   []string // that it is one of, as words; nil means any

	types []string // of JSON, in the order in which a word is tried; empty means any
	item  *Property
}

// definition is a JSON Schema, as far as it matters here.
type definition struct {
	Ref         string                     `json:"$ref"`
	Type        json.RawMessage            `json:"type"`
	Description string                     `json:"description"`
	Enum        []json.RawMessage          `json:"enum"`
	Const       json.RawMessage            `json:"const"`
	Default     json.RawMessage            `json:"default"`
	AnyOf       []json.RawMessage          `json:"anyOf"`
	OneOf       []json.RawMessage          `json:"oneOf"`
	AllOf       []json.RawMessage          `json:"allOf"`
	Items       json.RawMessage            `json:"items"`
	Properties  map[string]json.RawMessage `json:"properties"`
	Required    []string                   `json:"required"`
}

// define reads a schema. A keyword of another type says nothing.
func define(raw json.RawMessage) (d definition, ok bool) {
	err := json.Unmarshal(raw, &d)
	var odd *json.UnmarshalTypeError
	return d, err == nil || errors.As(err, &odd)
}

// maxDepth and maxRead bound the references and alternatives of a property that are followed.
const maxDepth, maxRead = 8, 200

// A reader reads the definition of a property.
type reader struct {
	root json.RawMessage // the whole schema
	left int             // of maxRead
}

// tried is the order in which a word is tried as a value.
var tried = []string{"null", "boolean", "integer", "number", "array", "object", "string"}

// Properties returns the properties of a tool's input schema, in its order.
func Properties(schema json.RawMessage) []Property {
	root, ok := define(schema)
	if !ok {
		return nil
	}
	var all []Property
	for _, name := range names(schema, root.Properties) {
		own := root.Properties[name]
		p := Property{Name: name, Required: slices.Contains(root.Required, name) || string(wire.Lookup(own, "required")) == "true"} // the second as in draft 3
		(&reader{schema, maxRead}).read(&p, own, maxDepth)
		slices.SortFunc(p.types, func(a, b string) int { return slices.Index(tried, a) - slices.Index(tried, b) })
		p.types = slices.Compact(p.types)
		all = append(all, p)
	}
	return all
}

// names returns the names of the properties in the order of the schema.
func names(schema json.RawMessage, properties map[string]json.RawMessage) []string {
	var all []string
	dec := json.NewDecoder(bytes.NewReader(wire.Lookup(schema, "properties")))
	_, _ = dec.Token() // the schema was decoded before
	for dec.More() {
		name, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			break
		}
		if text, ok := name.(string); ok && properties[text] != nil && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// read adds what a definition says to a property.
func (r *reader) read(p *Property, raw json.RawMessage, depth int) {
	if depth == 0 || r.left == 0 {
		return
	}
	d, ok := define(raw)
	if !ok {
		return
	}
	r.left--
	if path, ok := strings.CutPrefix(d.Ref, "#/"); ok {
		r.read(p, wire.Lookup(r.root, keys(path)...), depth-1)
	}
	if p.About == "" || d.Description != "" && d.Ref != "" {
		p.About = strings.Join(strings.Fields(d.Description), " ")
	}
	if d.Default != nil {
		p.Default = asWord(d.Default)
	}
	var types []string
	var one string
	if json.Unmarshal(d.Type, &one) == nil {
		types = []string{one}
	} else {
		_ = json.Unmarshal(d.Type, &types) // anything else says nothing
	}
	types = slices.DeleteFunc(types, func(t string) bool { return t == "" }) // what is not a string
	if slices.ContainsFunc(types, func(t string) bool { return !slices.Contains(tried, t) }) {
		types = nil // "any", as draft 3 has it
	}
	p.types = append(p.types, types...)
	if d.Const != nil {
		d.Enum = append(d.Enum, d.Const)
	}
	for _, value := range d.Enum {
		if word := asWord(value); !slices.Contains(p.Values, word) {
			p.Values = append(p.Values, word)
		}
		if len(types) == 0 {
			p.types = append(p.types, typeOf(value))
		}
	}
	for _, part := range d.AllOf {
		r.read(p, part, depth-1)
	}
	r.readAny(p, d.AnyOf, depth-1)
	r.readAny(p, d.OneOf, depth-1)
	if d.Items != nil && p.item == nil {
		p.item = &Property{Name: p.Name}
		r.read(p.item, d.Items, depth-1)
	}
}

// unescape undoes the escapes of a key in a JSON Pointer.
var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// keys returns the keys of a JSON Pointer that is a part of a URI (RFC 6901, section 6).
func keys(path string) []string {
	if plain, err := url.PathUnescape(path); err == nil {
		path = plain
	}
	all := strings.Split(path, "/")
	for i, key := range all {
		all[i] = unescape.Replace(key)
	}
	return all
}

// readAny adds alternatives. Only if each lists its values, or its types, the property has no others.
func (r *reader) readAny(p *Property, parts []json.RawMessage, depth int) {
	var values, types []string
	open, any := false, false
	for _, part := range parts {
		var one Property
		r.read(&one, part, depth)
		types, any = append(types, one.types...), any || len(one.types) == 0
		if p.item == nil {
			p.item = one.item
		}
		if p.About == "" {
			p.About = one.About
		}
		values = append(values, one.Values...)
		open = open || one.Values == nil && !slices.Equal(one.types, []string{"null"})
	}
	if !open {
		p.Values = append(p.Values, values...)
	}
	if !any {
		p.types = append(p.types, types...)
	}
}

// asWord returns a value as a user writes it.
func asWord(value json.RawMessage) string {
	if text, ok := wire.Text(value); ok {
		return text
	}
	return string(value)
}

func typeOf(value json.RawMessage) string {
	switch trimmed := bytes.TrimSpace(value); {
	case len(trimmed) == 0:
		return ""
	case trimmed[0] == '"':
		return "string"
	case trimmed[0] == '{':
		return "object"
	case trimmed[0] == '[':
		return "array"
	case trimmed[0] == 't' || trimmed[0] == 'f':
		return "boolean"
	case trimmed[0] == 'n':
		return "null"
	case isInteger().Match(trimmed):
		return "integer"
	}
	return "number"
}

var isInteger = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`) })

// isSwitch reports whether the flag of the property needs no value.
func (p *Property) isSwitch() bool {
	return slices.Equal(slices.DeleteFunc(slices.Clone(p.types), func(t string) bool { return t == "null" }), []string{"boolean"})
}

// isList reports whether the flag may be repeated.
func (p *Property) isList() bool { return slices.Contains(p.types, "array") }

// kind names the type in help: "integer", "string…".
func (p *Property) kind() string {
	types := slices.DeleteFunc(slices.Clone(p.types), func(t string) bool { return t == "null" })
	switch {
	case len(p.Values) > 0 && len(strings.Join(p.Values, "|")) <= 40:
		return strings.Join(p.Values, "|")
	case p.isList() && p.item != nil:
		return p.item.kind()
	case len(types) != 1 || types[0] == "object" || types[0] == "array":
		return "JSON"
	}
	return types[0]
}

// value returns the words that a flag was given as the property's value.
func (p *Property) value(words []string) (json.RawMessage, error) {
	others := slices.DeleteFunc(slices.Clone(p.types), func(t string) bool { return t == "array" || t == "null" })
	if !p.isList() || len(words) == 1 && len(others) > 0 {
		return p.one(words[len(words)-1])
	}
	if len(words) == 1 && typeOf(json.RawMessage(words[0])) == "array" && wire.Valid([]byte(words[0])) == nil {
		return json.RawMessage(words[0]), nil
	}
	item := p.item
	if item == nil {
		item = &Property{}
	}
	list := []byte("[")
	for i, word := range words {
		value, err := item.one(word)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, value...)
	}
	return append(list, ']'), nil
}

// one returns a word as a value.
func (p *Property) one(word string) (json.RawMessage, error) {
	if len(p.Values) > 0 && !slices.Contains(p.Values, word) {
		return nil, fmt.Errorf("expected one of %s, got %s%s", strings.Join(p.Values, ", "), hint.Quote(word), near(word, p.Values))
	}
	types := p.types
	if len(types) == 0 {
		types = tried
	}
	valid, is := wire.Valid([]byte(word)) == nil, typeOf(json.RawMessage(word))
	for _, t := range types {
		switch {
		case t == "string":
			return wire.AppendString(nil, word), nil
		case valid && (is == t || is == "integer" && t == "number"):
			return json.RawMessage(word), nil
		}
	}
	return nil, fmt.Errorf("expected %s, got %s", expected(types), hint.Quote(word))
}

// expected names types in an error.
func expected(types []string) string {
	switch wanted := strings.Join(types, " or "); wanted {
	case "boolean":
		return "true or false"
	case "integer":
		return "a whole number"
	case "number":
		return "a number"
	case "object":
		return `an object as JSON, as in '{"a": 1}'`
	default:
		return wanted
	}
}

func near(word string, known []string) string {
	if text := hint.DidYouMean(word, known); strings.HasPrefix(text, " (did") {
		return text
	}
	return ""
}
