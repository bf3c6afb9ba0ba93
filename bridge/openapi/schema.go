package openapi

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// maxDepth bounds how deep a schema may be, and how many references follow another.
const maxDepth = 100

// schemas takes schemas out of a document, as JSON Schema 2020-12 with what they refer
// to in $defs.
type schemas struct {
	raw        []byte
	is30       bool              // nullable and the like
	components map[string][]byte // by kind/name
	targets    map[string][]byte // by reference, as far as they have been looked for
	names      map[string]string // of definitions, by reference
	taken      map[string]string // references, by name
	defs       map[string][]byte // rewritten, by reference
}

func newSchemas(raw []byte, is30 bool) *schemas {
	s := &schemas{raw: raw, is30: is30, components: map[string][]byte{}, targets: map[string][]byte{}, names: map[string]string{}, taken: map[string]string{}, defs: map[string][]byte{}}
	for kind, members := range wire.Members(wire.Lookup(raw, "components")) {
		for name, value := range wire.Members(members) {
			s.components[kind+"/"+name] = value
		}
	}
	return s
}

// tokens are the keys of a reference into the document; nil for another.
func tokens(ref string) []string {
	rest, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	all := strings.Split(rest, "/")
	for i, token := range all {
		all[i] = unescape(token)
	}
	return all
}

// unescape is a key as it stands in a JSON Pointer that is a fragment (RFC 6901, 6).
func unescape(token string) string {
	if plain, err := url.PathUnescape(token); err == nil {
		token = plain
	}
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
}

// target is what a reference leads to; nil when that is nothing of the document.
func (s *schemas) target(ref string) []byte {
	if found, ok := s.targets[ref]; ok {
		return found
	}
	keys, at := tokens(ref), s.raw
	if len(keys) >= 3 && keys[0] == "components" {
		at, keys = s.components[keys[1]+"/"+keys[2]], keys[3:]
	} else if keys == nil {
		at = nil
	}
	for _, key := range keys {
		if at = step(at, key); at == nil {
			break
		}
	}
	s.targets[ref] = at
	return at
}

func step(at []byte, key string) []byte {
	if len(at) == 0 || at[0] != '[' {
		return wire.Lookup(at, key)
	}
	i, err := strconv.Atoi(key)
	for item := range wire.Elements(at) {
		if i--; err == nil && i < 0 {
			return item
		}
	}
	return nil
}

// resolve follows references until there is something else.
func (s *schemas) resolve(raw []byte) []byte {
	for range maxDepth {
		ref, ok := wire.Text(wire.Lookup(raw, "$ref"))
		if !ok {
			return raw
		}
		raw = s.target(ref)
	}
	return nil
}

// name is that of a reference's definition.
func (s *schemas) name(ref string) string {
	if name := s.names[ref]; name != "" {
		return name
	}
	keys := tokens(ref)
	if len(keys) > 2 && keys[0] == "components" && keys[1] == "schemas" {
		keys = keys[2:]
	}
	name := cmp.Or(strings.Join(keys, "."), "root")
	for s.taken[name] != "" {
		name += "_"
	}
	s.names[ref], s.taken[name] = name, ref
	return name
}

// define gives a schema that has been rewritten the definitions that it refers to.
func (s *schemas) define(schema []byte) []byte {
	var order []string // references
	find := func(raw []byte) {
		walkRefs(raw, func(name string) {
			if ref := s.taken[name]; ref != "" && !slices.Contains(order, ref) {
				order = append(order, ref)
			}
		})
	}
	find(schema)
	if len(order) == 0 {
		return schema
	}
	defs := []byte(`{`)
	for i := 0; i < len(order); i++ { // it grows
		def, ok := s.defs[order[i]]
		if !ok {
			def = s.rewrite(s.target(order[i]))
			s.defs[order[i]] = def
		}
		if i > 0 {
			defs = append(defs, ',')
		}
		defs = append(append(wire.AppendString(defs, s.name(order[i])), ':'), def...)
		find(def)
	}
	schema = append(schema[:len(schema)-1], `,"$defs":`...)
	return append(append(schema, defs...), "}}"...)
}

// describe gives a schema the description of what it is the schema of.
func describe(schema []byte, description string) []byte {
	if description == "" || len(schema) == 0 || schema[0] != '{' {
		return schema
	}
	return wire.SetMember(schema, "description", wire.AppendString(nil, description))
}

// members are the properties of a body that is a plain object, or all of several; false
// when it is something else, so that it can only be one argument.
func (s *schemas) members(schema []byte) ([]property, bool) {
	m := merger{schemas: s}
	if !m.add(schema, 0) || len(m.all) == 0 {
		return nil, false
	}
	for i, p := range m.all {
		m.all[i].required = slices.Contains(m.required, p.name)
		m.all[i].schema = s.rewrite(p.schema)
	}
	return m.all, true
}

type merger struct {
	*schemas
	all      []property
	required []string
}

// add adds the properties of one object; false when it says more than properties can.
func (m *merger) add(schema []byte, depth int) bool {
	schema = m.resolve(schema)
	if depth > maxDepth || len(schema) == 0 || schema[0] != '{' {
		return false
	}
	for key, value := range wire.Members(schema) {
		switch key {
		case "properties":
			for name, p := range wire.Members(value) {
				if string(wire.Lookup(m.resolve(p), "readOnly")) == "true" {
					continue // it is in answers alone
				}
				if slices.ContainsFunc(m.all, func(o property) bool { return o.name == name }) || strings.ContainsAny(name, "{}") {
					return false
				}
				m.all = append(m.all, property{name: name, schema: p})
			}
		case "required":
			for name := range wire.Elements(value) {
				text, _ := wire.Text(name)
				m.required = append(m.required, text)
			}
		case "allOf":
			for part := range wire.Elements(value) {
				if !m.add(part, depth+1) {
					return false
				}
			}
		case "type":
			if string(value) != `"object"` {
				return false
			}
		case "additionalProperties":
			if string(value) != "false" {
				return false
			}
		case "title", "description", "example", "examples", "externalDocs", "xml", "deprecated", "$comment", "nullable":
		default:
			if !strings.HasPrefix(key, "x-") {
				return false
			}
		}
	}
	return true
}

// walkRefs tells of each definition that a schema refers to.
func walkRefs(raw []byte, found func(name string)) {
	if len(raw) == 0 {
		return
	}
	switch raw[0] {
	case '[':
		for item := range wire.Elements(raw) {
			walkRefs(item, found)
		}
	case '{':
		for key, value := range wire.Members(raw) {
			if ref, ok := wire.Text(value); ok && key == "$ref" {
				if name, ok := strings.CutPrefix(ref, "#/$defs/"); ok {
					found(unescape(name))
				}
				continue
			}
			walkRefs(value, found)
		}
	}
}
