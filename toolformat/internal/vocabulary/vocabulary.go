package vocabulary

import (
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

func EachSchema(s *tree.Node, at *tree.Path, visit func(s *tree.Node, at *tree.Path)) {
	visit(s, at)
	EachChild(s, at, func(child *tree.Node, at *tree.Path) { EachSchema(child, at, visit) })
}

// EachChild visits the schemas right below one, in the order of its keywords.
func EachChild(s *tree.Node, at *tree.Path, visit func(child *tree.Node, at *tree.Path)) {
	child := func(c *tree.Node, at *tree.Path) {
		if c.Is(tree.Object) || c.Is(tree.Bool) {
			visit(c, at)
		}
	}
	for i := 0; i < len(s.Members); i++ {
		m := s.Members[i]
		switch below := Keywords[m.Key]; {
		case below == ManySchemas && m.Value.Is(tree.Object):
			for j := 0; j < len(m.Value.Members); j++ {
				child(m.Value.Members[j].Value, at.At(m.Key).At(m.Value.Members[j].Key))
			}
		case (below == ListOfSchemas || below == OneOrList) && m.Value.Is(tree.Array):
			for j := 0; j < len(m.Value.Items); j++ {
				child(m.Value.Items[j], at.At(m.Key).At(strconv.Itoa(j)))
			}
		case below == OneSchema || below == OneOrList:
			child(m.Value, at.At(m.Key))
		}
	}
}

const (
	NoSchema      Below = iota
	OneSchema           // its value is one
	ListOfSchemas       // an array of them
	ManySchemas         // an object whose members are
	OneOrList           // one, or an array of them (items before 2020-12)
)

// Keywords are those of JSON Schema with schemas below them, of every draft since 04.
var Keywords = map[string]Below{
	"additionalItems":       OneSchema,
	"additionalProperties":  OneSchema,
	"contains":              OneSchema,
	"contentSchema":         OneSchema,
	"else":                  OneSchema,
	"if":                    OneSchema,
	"items":                 OneOrList,
	"not":                   OneSchema,
	"propertyNames":         OneSchema,
	"then":                  OneSchema,
	"unevaluatedItems":      OneSchema,
	"unevaluatedProperties": OneSchema,
	"allOf":                 ListOfSchemas,
	"anyOf":                 ListOfSchemas,
	"oneOf":                 ListOfSchemas,
	"prefixItems":           ListOfSchemas,
	"$defs":                 ManySchemas,
	"definitions":           ManySchemas,
	"dependencies":          ManySchemas, // draft-07: or an array of names, which is no schema and is not visited
	"dependentSchemas":      ManySchemas,
	"patternProperties":     ManySchemas,
	"properties":            ManySchemas,
}

// InPlace reports whether a keyword applies schemas to the very value of its own.
func InPlace(keyword string) bool {
	switch keyword {
	case "$ref", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependencies", "dependentSchemas":
		return true
	}
	return false
}

// Assertions are the keywords that can refuse an instance, alone or with others (2020-12
// core, 8.2.3 and 10 and 11; validation, 6). All others are annotations, those that no
// vocabulary knows among them (core, 6.5).
var Assertions = map[string]bool{
	"$dynamicRef": true, "$ref": true, "additionalItems": true, "additionalProperties": true, "allOf": true, "anyOf": true, "const": true,
	"contains": true, "dependencies": true, "dependentRequired": true, "dependentSchemas": true, "else": true, "enum": true,
	"exclusiveMaximum": true, "exclusiveMinimum": true, "format": true, "if": true, "items": true, "maxContains": true, "maxItems": true,
	"maxLength": true, "maxProperties": true, "maximum": true, "minContains": true, "minItems": true, "minLength": true,
	"minProperties": true, "minimum": true, "multipleOf": true, "not": true, "oneOf": true, "pattern": true, "patternProperties": true,
	"prefixItems": true, "properties": true, "propertyNames": true, "required": true, "then": true, "type": true,
	"unevaluatedItems": true, "unevaluatedProperties": true, "uniqueItems": true,
}

// The Drafts of JSON Schema that are known, each with the URL of its meta-schema. The
// numbers are in their order.
var Drafts = map[int]string{
	4:    "http://json-schema.org/draft-04/schema",
	6:    "http://json-schema.org/draft-06/schema",
	7:    "http://json-schema.org/draft-07/schema",
	2019: "https://json-schema.org/draft/2019-09/schema",
	2020: "https://json-schema.org/draft/2020-12/schema",
}

// LatestDraft is what a schema is written in that does not say (MCP 2025-11-25,
// tools: "defaults to JSON Schema 2020-12 if no $schema field is present").
const LatestDraft = 2020

// DraftOf is the draft that a schema says it is written in; declared is false when it
// names none, or one that is not known.
func DraftOf(schema *tree.Node) (draft int, declared bool) {
	url := schema.Get("$schema").Text()
	url, _ = strings.CutSuffix(url, "#") // the URLs of draft-07 and before end in an empty fragment, which many leave out
	_, url, _ = strings.Cut(url, "://")
	for draft, known := range Drafts {
		if _, known, _ := strings.Cut(known, "://"); url == known {
			return draft, true
		}
	}
	return LatestDraft, false
}

// Below says which schemas stand below a keyword.
type Below uint8

// Types are the names of the types of JSON values, in the order of the kinds of nodes.
var Types = [...]string{tree.Null: "null", tree.Bool: "boolean", tree.Number: "number", tree.Text: "string", tree.Array: "array", tree.Object: "object", tree.Object + 1: "integer"}
