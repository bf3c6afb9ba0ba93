package sql

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// mayRun holds a statement to what a tool may run.
func (s *statement) mayRun(write bool) error {
	reads := s.dialect.reads()
	switch {
	case slices.Contains(reads, s.verb) && (write || !s.files):
		return nil
	case s.files && !write:
		return errors.New(`query: it writes a file on the server: set "write": true in the tool and in its api if it may`)
	case !slices.Contains(writes, s.verb):
		return fmt.Errorf("query: %.20s is not for a tool: expected %s, %s", s.verb, strings.Join(reads, ", "), strings.Join(writes, ", "))
	case !write:
		return fmt.Errorf(`query: %s writes: set "write": true in the tool and in its api if it may; without that it is %s`, s.verb, strings.Join(reads, ", "))
	}
	return nil
}

// The rules of notes.
const (
	ruleUnused    = "unused-property"
	ruleEmptyList = "empty-list"
)

// compare holds the parameters of a statement against the properties of its tool.
func compare(st *statement, definition toolformat.Tool) ([]toolformat.Note, error) {
	properties := propertiesOf(definition.InputSchema)
	for _, name := range st.names {
		if slices.ContainsFunc(properties, func(p property) bool { return p.name == name }) {
			continue
		}
		hint := ""
		for _, p := range properties {
			if strings.EqualFold(p.name, name) {
				hint = fmt.Sprintf(" (did you mean :%s?)", p.name)
			}
		}
		return nil, fmt.Errorf("query: :%s is no property of the parameters%s", name, hint)
	}
	var notes []toolformat.Note
	note := func(p property, rule, format string) {
		notes = append(notes, toolformat.Note{Tool: definition.Name, Path: p.path, Rule: rule, Text: fmt.Sprintf(format, p.name)})
	}
	for _, p := range properties {
		if !slices.Contains(st.names, p.name) {
			note(p, ruleUnused, "the query has no :%s, so that this argument has no effect")
		}
		if p.emptyList && st.excludes(p.name) {
			note(p, ruleEmptyList, `an empty list makes NOT IN (:%s) match nothing; "minItems": 1 refuses it`)
		}
	}
	return notes, nil
}

// excludes reports whether a parameter stands in NOT IN (…).
func (s *statement) excludes(name string) bool {
	return slices.ContainsFunc(s.parts, func(p part) bool { return p.negate && s.names[p.param] == name })
}

// A property is an argument that a tool can have.
type property struct {
	name, path string
	emptyList  bool // it may be a list without values
}

// properties gathers the properties of an object's schema, those of the schemas that it
// puts together and refers to included.
type properties struct {
	root []byte
	seen map[string]bool // references that have been followed
	all  []property
}

func propertiesOf(schema []byte) []property {
	p := properties{root: schema, seen: map[string]bool{}}
	p.gather(schema, "/input_schema")
	return p.all
}

// gather adds what stands in a schema. path is where that is; "" if it is not known.
func (p *properties) gather(schema []byte, path string) {
	for key, value := range wire.Members(schema) {
		switch key {
		case "properties":
			for name, of := range wire.Members(value) {
				p.add(name, of, path)
			}
		case "allOf", "anyOf", "oneOf":
			for each := range wire.Elements(value) {
				p.gather(each, "")
			}
		case "if", "then", "else":
			p.gather(value, "")
		case "$ref":
			pointer, _ := wire.Text(value)
			tokens := strings.Split(pointer, "/")
			if tokens[0] != "#" || p.seen[pointer] {
				continue
			}
			p.seen[pointer] = true
			for i := range tokens {
				tokens[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(tokens[i])
			}
			p.gather(wire.Lookup(p.root, tokens[1:]...), "")
		}
	}
}

func (p *properties) add(name string, schema []byte, path string) {
	if slices.ContainsFunc(p.all, func(q property) bool { return q.name == name }) {
		return
	}
	kind, _ := wire.Text(wire.Lookup(schema, "type"))
	least := string(wire.Lookup(schema, "minItems"))
	if path != "" {
		path += "/properties/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	}
	p.all = append(p.all, property{name, path, kind == "array" && (least == "" || least == "0")})
}
