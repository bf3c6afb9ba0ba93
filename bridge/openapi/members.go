package openapi

import (
	"bytes"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// members returns the properties of a body that is a plain object or a combination of such, perhaps
// with an empty list of properties. ok is false for any other body, which can only be a single
// argument.
func (s *schemas) members(schema []byte) (members []property, ok bool) {
	m := merger{schemas: s, left: maxParts}
	if !m.add(schema, 0) || !m.listed {
		return nil, false
	}
	for i, p := range m.properties {
		m.properties[i].required = slices.Contains(m.required, p.name)
		m.properties[i].schema = s.rewrite(p.raw)
	}
	return m.properties, true
}

// A merger collects the properties of combined objects.
type merger struct {
	*schemas
	properties []property
	required   []string
	listed     bool // there is a list of properties
	left       int  // schemas that may yet be read
}

// maxParts bounds the schemas of which one is combined: two that are combined of one that is combined
// of the same two, and so on, are far more than the document has.
const maxParts = 10_000

// add adds the properties of an object. It returns false if the schema is more than a list of
// properties.
func (m *merger) add(schema []byte, depth int) bool {
	if m.is30 { // siblings of $ref are ignored
		schema = m.resolved(schema)
	}
	if m.left--; m.left < 0 || depth > maxDepth || len(schema) == 0 || schema[0] != '{' {
		return false
	}
	for key, value := range wire.Members(schema) {
		switch key {
		case "properties":
			m.listed = true
			for name, p := range wire.Members(value) {
				if m.isReadOnly(p) {
					continue
				}
				if slices.ContainsFunc(m.properties, func(o property) bool { return o.name == name }) || strings.ContainsAny(name, "{}") {
					return false
				}
				m.properties = append(m.properties, property{name: name, raw: p})
			}
		case "required":
			for name := range wire.Elements(value) {
				text, _ := wire.Text(name)
				m.required = append(m.required, text)
			}
		case "$ref":
			if ref, _ := wire.Text(value); !m.add(m.target(ref), depth+1) {
				return false
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

// mayBe reports whether a value of a schema may be a list, and whether it may be an object.
func (s *schemas) mayBe(schema []byte) (isList, isObject bool) {
	left := maxParts
	return s.mayBeAt(schema, 0, &left)
}

func (s *schemas) mayBeAt(schema []byte, depth int, left *int) (isList, isObject bool) {
	schema = s.resolved(schema)
	isList, isObject = true, true
	if *left--; *left < 0 || depth > maxDepth || len(schema) == 0 || schema[0] != '{' {
		return isList, isObject
	}
	if kind := wire.Lookup(schema, "type"); kind != nil {
		isList, isObject = bytes.Contains(kind, []byte(`"array"`)), bytes.Contains(kind, []byte(`"object"`))
	}
	if values := wire.Lookup(schema, "enum"); values != nil {
		mayList, mayObject := false, false
		for v := range wire.Elements(values) {
			mayList, mayObject = mayList || v[0] == '[', mayObject || v[0] == '{'
		}
		isList, isObject = isList && mayList, isObject && mayObject
	}
	for part := range wire.Elements(wire.Lookup(schema, "allOf")) {
		mayList, mayObject := s.mayBeAt(part, depth+1, left)
		isList, isObject = isList && mayList, isObject && mayObject
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		anyList, anyObject := wire.Lookup(schema, key) == nil, wire.Lookup(schema, key) == nil
		for part := range wire.Elements(wire.Lookup(schema, key)) {
			mayList, mayObject := s.mayBeAt(part, depth+1, left)
			anyList, anyObject = anyList || mayList, anyObject || mayObject
		}
		isList, isObject = isList && anyList, isObject && anyObject
	}
	return isList, isObject
}
