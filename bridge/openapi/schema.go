package openapi

import (
	"bytes"
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// maxDepth bounds the nesting of a schema and the length of a chain of references.
const maxDepth = 100

// schemas converts schemas of a document to JSON Schema 2020-12, with the schemas that they refer
// to in $defs.
type schemas struct {
	raw        []byte            // the document
	is30       bool              // OpenAPI 3.0 or Swagger 2.0: nullable and the like
	isSwagger  bool              // Swagger 2.0
	components map[string][]byte // by kind/name
	targets    map[string][]byte // values by reference, filled on demand
	names      map[string]string // names in $defs by reference
	taken      map[string]string // references by name in $defs
	defs       map[string][]byte // rewritten schemas by reference
	bareDefs   map[string][]byte // the same without defaults
	bare       bool              // leave out defaults
	left       int               // parts of schemas that declares may yet read
}

func newSchemas(raw []byte, version string) *schemas {
	s := &schemas{raw: raw, is30: version < "3.1", isSwagger: version == swagger, components: map[string][]byte{}, targets: map[string][]byte{}, names: map[string]string{}, taken: map[string]string{}, defs: map[string][]byte{}, bareDefs: map[string][]byte{}, left: 100 * maxParts}
	if s.isSwagger {
		for key, kind := range swaggerKinds {
			s.addComponents(kind, wire.Lookup(raw, key))
		}
		return s
	}
	for kind, members := range wire.Members(wire.Lookup(raw, "components")) {
		s.addComponents(kind, members)
	}
	return s
}

func (s *schemas) addComponents(kind string, members []byte) {
	for name, value := range wire.Members(members) {
		s.components[kind+"/"+name] = value
	}
}

// parse parses a reference; one of Swagger 2.0 to a component leads to where 3.0 has it.
func (s *schemas) parse(ref string) native.Pointer {
	p, _ := native.ParseReference(ref)
	if s.isSwagger && len(p) > 1 && swaggerKinds[p[0]] != "" {
		return slices.Concat(native.Pointer{"components", swaggerKinds[p[0]]}, p[1:])
	}
	return p
}

// target returns the value that a reference leads to, or nil if it is not in the document.
func (s *schemas) target(ref string) []byte {
	if found, ok := s.targets[ref]; ok {
		return found
	}
	p, from := s.parse(ref), s.raw
	if len(p) >= 3 && p[0] == "components" {
		from, p = s.components[p[1]+"/"+p[2]], p[3:]
	} else if len(p) == 0 {
		from = nil
	}
	found, err := p.Select("", from)
	if err != nil {
		found = nil
	}
	s.targets[ref] = found
	return found
}

// resolve follows references to a value that is not a reference.
func (s *schemas) resolve(raw []byte) ([]byte, error) {
	first := ""
	for range maxDepth {
		ref, ok := wire.Text(wire.Lookup(raw, "$ref"))
		if !ok {
			return raw, nil
		}
		first = cmp.Or(first, ref)
		if raw = s.target(ref); raw == nil {
			return nil, brokenError(ref)
		}
	}
	return nil, fmt.Errorf("the reference %s leads back to itself", native.Shorten(first))
}

// resolved returns what resolve does, or nil where that fails.
func (s *schemas) resolved(raw []byte) []byte {
	raw, _ = s.resolve(raw)
	return raw
}

// brokenError is the error of a reference that leads to nothing.
func brokenError(ref string) error {
	if strings.HasPrefix(ref, "#") {
		return fmt.Errorf("it refers to %s, which is not in the document", native.Cut(ref, 200))
	}
	return fmt.Errorf("it refers to %s: other files are never loaded; bundle the document into one file first", native.Cut(ref, 200))
}

// name returns the name in $defs of a reference's target.
func (s *schemas) name(ref string) string {
	if name := s.names[ref]; name != "" {
		return name
	}
	p := s.parse(ref)
	if len(p) > 2 && p[0] == "components" && p[1] == "schemas" {
		p = p[2:]
	}
	name := cmp.Or(strings.Join(p, "."), "root")
	for s.taken[name] != "" {
		name += "_"
	}
	s.names[ref], s.taken[name] = name, ref
	return name
}

// define adds to a rewritten schema the definitions that it refers to.
func (s *schemas) define(schema []byte) ([]byte, error) {
	var refs []string
	known := map[string]bool{}
	find := func(raw []byte) {
		walkRefs(raw, func(name string) {
			if ref := s.taken[name]; ref != "" && !known[ref] {
				known[ref] = true
				refs = append(refs, ref)
			}
		})
	}
	find(schema)
	if len(refs) == 0 {
		return schema, nil
	}
	defs := s.defs
	if s.bare {
		defs = s.bareDefs
	}
	schema = append(schema[:len(schema)-1], `,"$defs":{`...)
	for i := 0; i < len(refs); i++ { // find adds to refs
		def, ok := defs[refs[i]]
		if !ok {
			target := s.target(refs[i])
			if target == nil {
				return nil, brokenError(refs[i])
			}
			def = s.rewrite(target)
			defs[refs[i]] = def
		}
		schema = append(native.AppendKey(schema, s.name(refs[i])), def...)
		find(def)
	}
	return append(schema, "}}"...), nil
}

// describe sets the description of a schema unless it is "".
func describe(schema []byte, description string) []byte {
	if description == "" || len(schema) == 0 || schema[0] != '{' {
		return schema
	}
	return wire.SetMember(schema, "description", wire.AppendString(nil, description))
}

// rewrite converts a schema of the document to JSON Schema 2020-12 with references to $defs.
// Keywords keep their order and bytes, except those that only OpenAPI has, which are left out. A
// value that is not a schema becomes one that accepts everything.
func (s *schemas) rewrite(schema []byte) []byte { return s.appendSchema(nil, schema, 0) }

func (s *schemas) appendSchema(dst, schema []byte, depth int) []byte {
	return s.appendPart(dst, schema, schema, depth)
}

// appendPart appends a schema that is whole, or one of the parts that allOf combines to it.
func (s *schemas) appendPart(dst, schema, whole []byte, depth int) []byte {
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
		dst = s.appendKeyword(dst, schema, whole, key, value, depth)
	}
	dst = append(dst, '}')
	mayForbidNull := func(key string) bool { return wire.Lookup(schema, key) != nil }
	if s.is30 && s.isNullable(schema) && wire.Lookup(schema, "type") == nil &&
		slices.ContainsFunc([]string{"allOf", "anyOf", "oneOf", "enum", "not"}, mayForbidNull) {
		whole := bytes.Clone(dst[begin:])
		dst = append(append(append(dst[:begin], `{"anyOf":[`...), whole...), `,{"type":"null"}]}`...)
	}
	return dst
}

// appendRef appends a reference as a member. That its target is in the document is checked with
// the definitions.
func (s *schemas) appendRef(dst []byte, ref string) []byte {
	return wire.AppendString(native.AppendKey(dst, "$ref"), "#/$defs/"+url.PathEscape(native.EscapeToken(s.name(ref))))
}

// appendKeyword appends a member of a schema, or nothing if it is left out.
func (s *schemas) appendKeyword(dst, schema, whole []byte, key string, value []byte, depth int) []byte {
	if strings.HasPrefix(key, "x-") {
		return dst
	}
	switch key {
	case "$ref":
		ref, _ := wire.Text(value)
		return s.appendRef(dst, ref)
	case "xml", "externalDocs", "discriminator", "$schema", "$id", "$anchor":
		return dst
	case "default":
		if s.bare {
			return dst
		}
	case "properties":
		return s.appendMap(native.AppendKey(dst, key), value, depth, s.isReadOnly)
	case "required":
		return s.appendRequired(dst, whole, value)
	case "patternProperties", "$defs", "definitions", "dependentSchemas":
		return s.appendMap(native.AppendKey(dst, key), value, depth, func([]byte) bool { return false })
	case "allOf":
		return s.appendList(native.AppendKey(dst, key), value, whole, depth)
	case "anyOf", "oneOf", "prefixItems":
		return s.appendList(native.AppendKey(dst, key), value, nil, depth)
	case "items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else", "unevaluatedItems", "unevaluatedProperties", "contentSchema":
		return s.appendSchema(native.AppendKey(dst, key), value, depth+1)
	case "example":
		if wire.Lookup(schema, "examples") == nil {
			return append(append(append(native.AppendKey(dst, "examples"), '['), value...), ']')
		}
		return dst
	}
	if s.is30 {
		return s.append30(dst, schema, key, value)
	}
	return append(native.AppendKey(dst, key), value...)
}

// append30 appends a keyword of 3.0, some of which differ from JSON Schema (OpenAPI 3.0.4, section
// 4.7.24).
func (s *schemas) append30(dst, schema []byte, key string, value []byte) []byte {
	bound := map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}[key]
	other := map[string]string{"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}[key]
	switch {
	case key == "nullable":
		return dst
	case key == "type" && s.isNullable(schema):
		if value[0] == '[' { // as in 3.1
			return appendWith(native.AppendKey(dst, key), value, `"null"`)
		}
		return append(append(append(native.AppendKey(dst, key), '['), value...), `,"null"]`...)
	case key == "enum" && s.isNullable(schema) && wire.Lookup(schema, "type") != nil:
		return appendWith(native.AppendKey(dst, key), value, "null")
	case bound != "" && string(value) == "true":
		if limit := wire.Lookup(schema, bound); limit != nil {
			return append(native.AppendKey(dst, key), limit...)
		}
		return dst
	case bound != "" && string(value) == "false", other != "" && isTrue(schema, other):
		return dst
	}
	return append(native.AppendKey(dst, key), value...)
}

// appendWith appends a list with an item, which it may have.
func appendWith(dst, list []byte, item string) []byte {
	for has := range wire.Elements(list) {
		if string(has) == item {
			return append(dst, list...)
		}
	}
	some := bytes.TrimSpace(bytes.TrimSuffix(list, []byte("]")))
	return append(append(native.AppendComma(append(dst, some...)), item...), ']')
}

// isNullable reports whether a schema of 3.0 allows null, for which 2.0 has an extension that many use.
func (s *schemas) isNullable(schema []byte) bool {
	return isTrue(schema, "nullable") || s.isSwagger && isTrue(schema, "x-nullable")
}

// appendRequired appends the names of required properties, which are required of a request only if
// it has them: a part of whole may have the property that another one requires.
func (s *schemas) appendRequired(dst, whole, names []byte) []byte {
	begin := len(dst)
	dst = append(native.AppendKey(dst, "required"), '[')
	isEmpty := true
	for raw := range wire.Elements(names) {
		name, _ := wire.Text(raw)
		if ofAnswers, ofRequests := s.declares(whole, name, 0); !ofAnswers || ofRequests {
			dst = append(native.AppendComma(dst), raw...)
			isEmpty = false
		}
	}
	if isEmpty {
		return dst[:begin]
	}
	return append(dst, ']')
}

// declares reports whether a schema, or one that it is combined of, has a property of answers only, and
// whether one has it in requests, too.
func (s *schemas) declares(schema []byte, name string, depth int) (ofAnswers, ofRequests bool) {
	if property := wire.Lookup(schema, "properties", name); property != nil {
		if ofAnswers = s.isReadOnly(property); !ofAnswers {
			return false, true
		}
	}
	parts := list(schema, "allOf")
	if ref, ok := wire.Text(wire.Lookup(schema, "$ref")); ok {
		parts = append(parts, s.target(ref))
	}
	for _, part := range parts {
		if s.left--; s.left < 0 || depth > maxDepth {
			break
		}
		a, r := s.declares(part, name, depth+1)
		ofAnswers, ofRequests = ofAnswers || a, ofRequests || r
	}
	return ofAnswers, ofRequests
}

// isReadOnly reports whether a property is one of answers only (OpenAPI 3.1.1, section 4.8.24.1;
// 3.0.4, section 4.7.24.2).
func (s *schemas) isReadOnly(property []byte) bool {
	return isTrue(property, "readOnly") || isTrue(s.resolved(property), "readOnly")
}

// appendMap appends an object of schemas, without those that omit reports.
func (s *schemas) appendMap(dst, object []byte, depth int, omit func(schema []byte) bool) []byte {
	dst = append(dst, '{')
	for key, value := range wire.Members(object) {
		if !omit(value) {
			dst = s.appendSchema(native.AppendKey(dst, key), value, depth+1)
		}
	}
	return append(dst, '}')
}

// appendList appends a list of schemas, which are parts of whole unless that is nil.
func (s *schemas) appendList(dst, array, whole []byte, depth int) []byte {
	dst = append(dst, '[')
	for value := range wire.Elements(array) {
		of := whole
		if of == nil {
			of = value
		}
		dst = s.appendPart(native.AppendComma(dst), value, of, depth+1)
	}
	return append(dst, ']')
}

// walkRefs calls found with the name of each definition that a schema refers to.
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
				if p, ok := native.ParseReference(ref); ok && len(p) == 2 && p[0] == "$defs" {
					found(p[1])
				}
				continue
			}
			walkRefs(value, found)
		}
	}
}
