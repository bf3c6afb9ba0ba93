package prompted

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// render fills in a template for a call or a result: %n is the name of its tool and %q that as JSON,
// %i its index in the conversation, %a the arguments as JSON, %p as those of Python, %g as an object
// of Gemma, %e in the template each, and %c the result as JSON. In each %k is a key, %v its value,
// as JSON if it is not a string, and %s whether it is a string.
func (g *grammar) render(template string, v values) string {
	var all []string
	set := func(placeholder string, value func() string) {
		if strings.Contains(template, placeholder) {
			all = append(all, placeholder, value())
		}
	}
	set("%n", func() string { return v.name })
	set("%q", func() string { return string(wire.AppendString(nil, v.name)) })
	set("%i", func() string { return strconv.Itoa(v.index) })
	set("%a", func() string { return string(v.arguments) })
	set("%p", func() string { return python.arguments(v.arguments) })
	set("%g", func() string {
		if !isObject(v.arguments) { // they could not be read
			return "{}"
		}
		gemma := dialect{mark: g.quote}
		return string(gemma.appendValue(nil, v.arguments))
	})
	set("%e", func() string { return g.renderEach(v.arguments) })
	set("%c", func() string { return string(v.content) })
	return strings.NewReplacer(all...).Replace(template)
}

// values are what a template is filled in with.
type values struct {
	name      string
	index     int
	arguments json.RawMessage // of a call: an object
	content   []byte          // of a result, as JSON
}

func (g *grammar) renderEach(arguments json.RawMessage) string {
	var b strings.Builder
	for key, value := range wire.Members(arguments) {
		text, isText := wire.Text(value)
		if !isText {
			text = string(value)
		}
		strings.NewReplacer("%k", key, "%v", text, "%s", strconv.FormatBool(isText)).WriteString(&b, g.each)
	}
	return b.String()
}

// A dialect is how values are written that JSON would write otherwise.
type dialect struct {
	words map[string]string // true, false and null
	mark  string            // the quotation mark of strings, which have no escapes; "" means those of JSON
}

var python = dialect{words: map[string]string{"true": "True", "false": "False", "null": "None"}}

// arguments returns those of a call of Python.
func (d *dialect) arguments(object json.RawMessage) string {
	var b []byte
	for key, value := range wire.Members(object) {
		if b != nil {
			b = append(b, ", "...)
		}
		b = d.appendValue(append(append(b, key...), '='), value)
	}
	return string(b)
}

func (d *dialect) appendValue(b []byte, value json.RawMessage) []byte {
	text, isText := wire.Text(value)
	switch {
	case isText:
		return d.appendText(b, text, value)
	case isObject(value):
		b = append(b, '{')
		for key, member := range wire.Members(value) {
			if b[len(b)-1] != '{' {
				b = append(b, ',')
			}
			if d.mark != "" {
				b = append(b, key...)
			} else {
				b = wire.AppendString(b, key)
			}
			b = d.appendValue(append(b, ':'), member)
		}
		return append(b, '}')
	case len(value) > 0 && value[0] == '[':
		b = append(b, '[')
		for element := range wire.Elements(value) {
			if b[len(b)-1] != '[' {
				b = append(b, ',')
			}
			b = d.appendValue(b, element)
		}
		return append(b, ']')
	}
	if word, ok := d.words[string(value)]; ok {
		return append(b, word...)
	}
	return append(b, value...)
}

// appendText appends a string, whose JSON is value. One with Gemma's mark in it stays JSON.
func (d *dialect) appendText(b []byte, text string, value json.RawMessage) []byte {
	if d.mark == "" || strings.Contains(text, d.mark) {
		return append(b, value...)
	}
	return append(append(append(b, d.mark...), text...), d.mark...)
}
