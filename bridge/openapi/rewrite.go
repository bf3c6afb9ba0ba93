package openapi

import (
	"bytes"
	"net/url"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// rewrite converts a schema of the document to JSON Schema 2020-12 with references to $defs.
// Keywords keep their order and bytes, except those that only OpenAPI has, which are left out. A
// value that is not a schema becomes one that accepts everything.
func (s *schemas) rewrite(schema []byte) []byte { return s.appendSchema(nil, schema, 0) }

func (s *schemas) appendSchema(dst, schema []byte, depth int) []byte {
	switch {
	case string(schema) == "true", string(schema) == "false":
		return append(dst, schema...)
	case depth > maxDepth, len(schema) == 0, schema[0] != '{':
		return append(dst, "{}"...)
	}
	ref, isRef := wire.Text(wire.Lookup(schema, "$ref"))
	if isRef && s.is30 {
		return append(s.appendRef(append(dst, '{'), ref), '}') // siblings of $ref are ignored
	}
	begin := len(dst)
	dst = append(dst, '{')
	for key, value := range wire.Members(schema) {
		mark := len(dst)
		if mark > begin+1 {
			dst = append(dst, ',')
		}
		start := len(dst)
		if dst = s.appendKeyword(dst, schema, key, value, depth); len(dst) == start {
			dst = dst[:mark]
		}
	}
	dst = append(dst, '}')
	if s.is30 && string(wire.Lookup(schema, "nullable")) == "true" && wire.Lookup(schema, "type") == nil && hasMore(schema) {
		whole := bytes.Clone(dst[begin:])
		dst = append(append(append(dst[:begin], `{"anyOf":[`...), whole...), `,{"type":"null"}]}`...)
	}
	return dst
}

// hasMore reports whether a schema without a type has a keyword that null might violate.
func hasMore(schema []byte) bool {
	for _, key := range []string{"allOf", "anyOf", "oneOf", "enum", "not"} {
		if wire.Lookup(schema, key) != nil {
			return true
		}
	}
	return false
}

// appendRef appends a reference as a member, or nothing if its target is not in the document; the
// library has refused that already.
func (s *schemas) appendRef(dst []byte, ref string) []byte {
	if s.target(ref) == nil {
		return dst
	}
	name := strings.ReplaceAll(url.PathEscape(native.EscapeToken(s.name(ref))), "%7E", "~")
	return wire.AppendString(append(dst, `"$ref":`...), "#/$defs/"+name)
}

// appendKeyword appends a member of a schema, or nothing if it is left out.
func (s *schemas) appendKeyword(dst, schema []byte, key string, value []byte, depth int) []byte {
	if strings.HasPrefix(key, "x-") {
		return dst
	}
	name := func() []byte { return append(wire.AppendString(dst, key), ':') }
	switch key {
	case "$ref":
		ref, _ := wire.Text(value)
		return s.appendRef(dst, ref)
	case "xml", "externalDocs", "discriminator", "$schema", "$id", "$anchor":
		return dst
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		return s.appendMap(name(), value, depth)
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return s.appendList(name(), value, depth)
	case "items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else", "unevaluatedItems", "unevaluatedProperties":
		return s.appendSchema(name(), value, depth+1)
	case "example":
		if wire.Lookup(schema, "examples") == nil {
			return append(append(append(dst, `"examples":[`...), value...), ']')
		}
		return dst
	}
	if s.is30 {
		return s.append30(dst, schema, key, value)
	}
	return append(name(), value...)
}

// append30 appends a keyword of 3.0, some of which differ from JSON Schema (OpenAPI 3.0.4, section
// 4.7.24).
func (s *schemas) append30(dst, schema []byte, key string, value []byte) []byte {
	isNullable := string(wire.Lookup(schema, "nullable")) == "true"
	bound := map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}[key]
	other := map[string]string{"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}[key]
	name := func(key string) []byte { return append(wire.AppendString(dst, key), ':') }
	switch {
	case key == "nullable":
		return dst
	case key == "type" && isNullable:
		return append(append(append(name(key), '['), value...), `,"null"]`...)
	case key == "enum" && isNullable && wire.Lookup(schema, "type") != nil:
		for item := range wire.Elements(value) {
			if string(item) == "null" {
				return append(name(key), value...)
			}
		}
		return append(append(name(key), bytes.TrimSuffix(bytes.TrimSpace(value), []byte("]"))...), ",null]"...)
	case bound != "" && string(value) == "true":
		if limit := wire.Lookup(schema, bound); limit != nil {
			return append(name(key), limit...)
		}
		return dst
	case bound != "" && string(value) == "false", other != "" && string(wire.Lookup(schema, other)) == "true":
		return dst
	}
	return append(name(key), value...)
}

func (s *schemas) appendMap(dst, object []byte, depth int) []byte {
	dst = append(dst, '{')
	first := true
	for key, value := range wire.Members(object) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = s.appendSchema(append(wire.AppendString(dst, key), ':'), value, depth+1)
	}
	return append(dst, '}')
}

func (s *schemas) appendList(dst, array []byte, depth int) []byte {
	dst = append(dst, '[')
	first := true
	for value := range wire.Elements(array) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = s.appendSchema(dst, value, depth+1)
	}
	return append(dst, ']')
}
