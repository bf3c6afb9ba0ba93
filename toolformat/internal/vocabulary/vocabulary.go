package vocabulary

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// Below tells which schemas stand below a keyword.
type Below uint8

// The ways in which a keyword holds schemas.
const (
	NoSchema      Below = iota
	OneSchema           // its value is a schema
	ListOfSchemas       // an array of schemas
	ManySchemas         // an object whose members are schemas
	OneOrList           // a schema, or an array of schemas (items before 2020-12)
)

// Keywords lists the keywords that hold schemas, of every draft since 04.
var Keywords = map[string]Below{
	"additionalItems": OneSchema, "additionalProperties": OneSchema, "contains": OneSchema, "contentSchema": OneSchema,
	"else": OneSchema, "if": OneSchema, "items": OneOrList, "not": OneSchema, "propertyNames": OneSchema, "then": OneSchema,
	"unevaluatedItems": OneSchema, "unevaluatedProperties": OneSchema,
	"allOf": ListOfSchemas, "anyOf": ListOfSchemas, "oneOf": ListOfSchemas, "prefixItems": ListOfSchemas,
	"$defs": ManySchemas, "definitions": ManySchemas, "dependentSchemas": ManySchemas, "patternProperties": ManySchemas,
	"properties": ManySchemas, "dependencies": ManySchemas, // draft-07: arrays of names among them are not visited
}

// Assertions lists the keywords that can refuse a value, alone or with others (2020-12 core,
// 8.2.3, 10 and 11; validation, 6), by the draft that introduced them. All others are annotations,
// unknown keywords too (core, 6.5).
var Assertions = map[string]Draft{
	"$dynamicRef": 2020, "$ref": 4, "additionalItems": 4, "additionalProperties": 4, "allOf": 4, "anyOf": 4, "const": 6, "contains": 6,
	"dependencies": 4, "dependentRequired": 2019, "dependentSchemas": 2019, "else": 7, "enum": 4, "exclusiveMaximum": 4,
	"exclusiveMinimum": 4, "format": 4, "if": 7, "items": 4, "maxContains": 2019, "maxItems": 4, "maxLength": 4, "maxProperties": 4,
	"maximum": 4, "minContains": 2019, "minItems": 4, "minLength": 4, "minProperties": 4, "minimum": 4, "multipleOf": 4, "not": 4,
	"oneOf": 4, "pattern": 4, "patternProperties": 4, "prefixItems": 2020, "properties": 4, "propertyNames": 6, "required": 4, "then": 7,
	"type": 4, "unevaluatedItems": 2019, "unevaluatedProperties": 2019, "uniqueItems": 4,
}

// Types lists the names of the types (2020-12 validation, 6.1.1): by the kind of a node, and then
// "integer".
var Types = [...]string{tree.Null: "null", tree.Bool: "boolean", tree.Number: "number", tree.Text: "string",
	tree.Array: "array", tree.Object: "object", tree.Object + 1: "integer"}

// InPlace reports whether a keyword applies schemas to the same value as the schema that has it
// (2020-12 core, 10.2, and $ref).
func InPlace(keyword string) bool {
	switch keyword {
	case "$ref", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependencies", "dependentSchemas":
		return true
	}
	return false
}

// MembersOf returns the members of an object; nil for any other value.
func MembersOf(n *tree.Node) []tree.Member {
	if n == nil {
		return nil
	}
	return n.Members
}

// AnyValue reports whether a condition is true of n or of a value below it, parents before children.
func AnyValue(n *tree.Node, is func(*tree.Node) bool) bool {
	return is(n) || slices.ContainsFunc(n.Members, func(m tree.Member) bool { return AnyValue(m.Value, is) }) ||
		slices.ContainsFunc(n.Items, func(it *tree.Node) bool { return AnyValue(it, is) })
}

// EachValue visits n, which stands at a place, and every value below it, parents before children.
func EachValue(n *tree.Node, at *tree.Path, visit func(n *tree.Node, at *tree.Path)) {
	visit(n, at)
	for _, m := range n.Members {
		EachValue(m.Value, at.At(m.Key), visit)
	}
	for i, it := range n.Items {
		EachValue(it, at.At(strconv.Itoa(i)), visit)
	}
}

// EachSchema visits s and every schema below it, parents before children. Schemas that visit puts
// in the place of children are visited too. Boolean schemas are visited, values that are neither
// an object nor a boolean are not.
func EachSchema(s *tree.Node, at *tree.Path, visit func(s *tree.Node, at *tree.Path)) {
	visit(s, at)
	EachChild(s, at, func(_ string, child *tree.Node, at *tree.Path) { EachSchema(child, at, visit) })
}

// EachChild visits the schemas directly below s, in the order of its keywords. keyword is the one
// that a child stands below.
func EachChild(s *tree.Node, at *tree.Path, visit func(keyword string, child *tree.Node, at *tree.Path)) {
	child := func(keyword string, c *tree.Node, at *tree.Path) {
		if c.Is(tree.Object) || c.Is(tree.Bool) {
			visit(keyword, c, at)
		}
	}
	for i := 0; i < len(s.Members); i++ { // visit may change s
		m := s.Members[i]
		switch below := Keywords[m.Key]; {
		case below == ManySchemas:
			for j := 0; j < len(m.Value.Members); j++ {
				child(m.Key, m.Value.Members[j].Value, at.At(m.Key).At(m.Value.Members[j].Key))
			}
		case below == ListOfSchemas, below == OneOrList && m.Value.Is(tree.Array):
			for j := 0; j < len(m.Value.Items); j++ {
				child(m.Key, m.Value.Items[j], at.At(m.Key).At(strconv.Itoa(j)))
			}
		case below != NoSchema:
			child(m.Key, m.Value, at.At(m.Key))
		}
	}
}

// A Draft is a version of JSON Schema, by its number or year; 0 is an unknown one.
type Draft int

// LatestDraft is the draft of a schema that declares none (MCP 2025-11-25, tools: "defaults to
// JSON Schema 2020-12 if no $schema field is present").
const LatestDraft Draft = 2020

// Drafts holds the URL of the meta-schema of each draft that can be checked.
var Drafts = map[Draft]string{
	4:    "http://json-schema.org/draft-04/schema",
	6:    "http://json-schema.org/draft-06/schema",
	7:    "http://json-schema.org/draft-07/schema",
	2019: "https://json-schema.org/draft/2019-09/schema",
	2020: "https://json-schema.org/draft/2020-12/schema",
}

// DraftOf returns the draft that the $schema of a schema names, or else LatestDraft; declared is
// false if it names none, or one that is not in Drafts.
func DraftOf(schema *tree.Node) (draft Draft, declared bool) {
	url := strings.TrimSuffix(schema.Get("$schema").Text(), "#") // many leave out the empty fragment of draft-07 and before
	_, url, _ = strings.Cut(url, "://")
	for draft, known := range Drafts {
		if _, known, _ := strings.Cut(known, "://"); url == known {
			return draft, true
		}
	}
	return LatestDraft, false
}

// String returns the name of a draft: "draft-07", "2020-12".
func (d Draft) String() string {
	switch {
	case d == 0:
		return "an unknown dialect"
	case d < 2019:
		return fmt.Sprintf("draft-%02d", int(d))
	case d == 2019:
		return "2019-09"
	}
	return "2020-12"
}
