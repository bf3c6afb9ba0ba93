package rewrite

import (
	"strings"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// maxPhrase bounds what one value adds to a description, in bytes.
const maxPhrase = 200

// silent are the keywords that a model has nothing from: they name and comment. One that
// no schema vocabulary knows is as silent: what it means is between its server and some
// other program.
var silent = map[string]bool{
	"$anchor": true, "$comment": true, "$defs": true, "$dynamicAnchor": true, "$id": true, "$schema": true, "$vocabulary": true,
	"definitions": true, "title": true,
}

// plainPhrases are the keywords that are said as a few words before their value. What
// ends in a colon has JSON or schemas after it.
var plainPhrases = map[string]string{
	"$dynamicRef":       "as",
	"$ref":              "as",
	"const":             "must be",
	"contentEncoding":   "encoded as",
	"contentMediaType":  "media type",
	"contentSchema":     "content:",
	"default":           "default",
	"dependentSchemas":  "with each of these properties:",
	"enumDescriptions":  "meanings:",
	"enumNames":         "names:",
	"example":           "example",
	"exclusiveMaximum":  "less than",
	"exclusiveMinimum":  "more than",
	"format":            "format",
	"maxItems":          "max items",
	"maxLength":         "max length",
	"maxProperties":     "max properties",
	"maximum":           "max",
	"minItems":          "min items",
	"minLength":         "min length",
	"minProperties":     "min properties",
	"minimum":           "min",
	"multipleOf":        "multiple of",
	"pattern":           "pattern",
	"patternProperties": "properties by pattern:",
	"properties":        "properties:",
	"propertyNames":     "property names:",
}

// bareText are the keywords whose string a model reads better without quotes.
var bareText = map[string]bool{
	"$ref": true, "contentEncoding": true, "contentMediaType": true, "format": true, "pattern": true,
}

// A phraser says keywords in words for a model, as they come into a description.
type phraser struct {
	cut bool // a value was too long
}

// phrases are the words for some members of a schema, in order; those that say nothing
// have none.
func (p *phraser) phrases(s *tree.Node, members []tree.Member) []string {
	var all []string
	for _, m := range members {
		if words := p.keyword(s, m); words != "" {
			all = append(all, words)
		}
	}
	return all
}

// keyword is one keyword in words; "" when there is nothing to say. s is the schema that
// it stands in, for those that only mean something together.
func (p *phraser) keyword(s *tree.Node, m tree.Member) string {
	if before, ok := plainPhrases[m.Key]; ok {
		if text := m.Value.Text(); text != "" && bareText[m.Key] {
			return before + " " + p.bound(text)
		}
		return before + " " + p.schema(m.Value)
	}
	switch m.Key {
	case "additionalProperties", "unevaluatedProperties":
		return p.others(m.Value, "other properties")
	case "items", "unevaluatedItems", "additionalItems":
		if s.Get("prefixItems") != nil || m.Key != "items" {
			return p.others(m.Value, "further items")
		}
		return "items: " + p.schema(m.Value)
	case "prefixItems":
		return "items in order: " + p.list(m.Value, ", ")
	case "uniqueItems", "deprecated", "readOnly", "writeOnly":
		if !m.Value.IsTrue() {
			return ""
		}
		return map[string]string{"uniqueItems": "unique items", "deprecated": "deprecated", "readOnly": "read-only", "writeOnly": "write-only"}[m.Key]
	case "required":
		return "required: " + p.names(m.Value)
	case "dependentRequired":
		return p.dependentRequired(m.Value)
	case "type":
		return "type " + p.schema(tree.NewObject(m))
	case "examples":
		return "examples: " + p.list(m.Value, ", ")
	case "enum":
		return "one of " + p.list(m.Value, ", ")
	case "anyOf", "oneOf", "allOf":
		return map[string]string{"anyOf": "any of: ", "oneOf": "exactly one of: ", "allOf": "all of: "}[m.Key] + p.list(m.Value, " | ")
	case "not":
		return p.not(m.Value)
	case "if", "then", "else", "contains", "minContains", "maxContains":
		return p.together(s, m)
	}
	return ""
}

// together are the words for keywords that mean nothing alone (2020-12 core, 10.2.2 and
// 10.3.1.3): they are said where the first of them stands.
func (p *phraser) together(s *tree.Node, m tree.Member) string {
	var words []string
	switch m.Key {
	case "if":
		words = append(words, "if "+p.schema(m.Value))
		for _, key := range []string{"then", "else"} {
			if val := s.Get(key); val != nil {
				words = append(words, key+" "+p.schema(val))
			}
		}
	case "contains":
		words = append(words, "contains "+p.schema(m.Value))
		if val := s.Get("minContains"); val != nil {
			words = append(words, "at least "+p.json(val)+" times")
		}
		if val := s.Get("maxContains"); val != nil {
			words = append(words, "at most "+p.json(val)+" times")
		}
	}
	return strings.Join(words, " ")
}

// others are the words for what is not listed.
func (p *phraser) others(n *tree.Node, what string) string {
	switch {
	case n.Is(tree.Bool) && !n.IsTrue():
		return "no " + what
	case unconstrained(n):
		return what + " allowed"
	}
	return what + ": " + p.schema(n)
}

// not are the words for what must not be. That some properties must not come together
// is what it is mostly used for.
func (p *phraser) not(n *tree.Node) string {
	if required := n.Get("required"); required.Is(tree.Array) && len(required.Items) > 0 && len(n.Members) == 1 {
		if len(required.Items) == 1 {
			return "without " + p.names(required)
		}
		return "not together: " + p.names(required)
	}
	return "not " + p.schema(n)
}

func (p *phraser) dependentRequired(n *tree.Node) string {
	var words []string
	for _, m := range n.Members {
		words = append(words, m.Key+" requires "+p.names(m.Value))
	}
	if words == nil {
		return ""
	}
	return p.bound(strings.Join(words, "; "))
}

// schema is a schema in words: its type where it has nothing else, else its JSON.
func (p *phraser) schema(n *tree.Node) string {
	switch {
	case n.Is(tree.Bool) && !n.IsTrue():
		return "nothing"
	case n.Is(tree.Object) && len(n.Members) == 0, n.IsTrue():
		return "anything"
	case n.Is(tree.Object) && len(n.Members) == 1 && n.Members[0].Key == "type":
		if names := typesOf(n); len(names) > 0 {
			return strings.Join(names, " or ")
		}
	}
	return p.json(n)
}

// list are several schemas or values, bounded as one.
func (p *phraser) list(n *tree.Node, separator string) string {
	if !n.Is(tree.Array) {
		return p.json(n)
	}
	var b strings.Builder
	for i, it := range n.Items {
		if i > 0 {
			b.WriteString(separator)
		}
		if b.Len() > maxPhrase {
			break
		}
		b.WriteString(p.schema(it))
	}
	return p.bound(b.String())
}

// names are the strings of an array.
func (p *phraser) names(n *tree.Node) string {
	var names []string
	if n.Is(tree.Array) {
		for _, it := range n.Items {
			names = append(names, it.Text())
		}
	}
	return p.bound(strings.Join(names, ", "))
}

func (p *phraser) json(n *tree.Node) string { return p.bound(string(n.JSON())) }

// bound cuts a text that is too long for a description.
func (p *phraser) bound(s string) string {
	if len(s) <= maxPhrase {
		return s
	}
	p.cut = true
	cut := maxPhrase
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// maxDescription bounds how long a description may become by what is appended, in bytes.
const maxDescription = 20_000

// describe appends to a schema's description what became of some of its keywords:
// `The city. (min length 1; default "x")`.
func (p *phraser) describe(s *tree.Node, phrases []string) {
	if len(phrases) > 0 {
		p.append(s, "("+strings.Join(phrases, "; ")+")", " ")
	}
}

// sentence appends a sentence of its own.
func (p *phraser) sentence(s *tree.Node, text string) {
	old := strings.TrimSpace(s.Get("description").Text())
	separator := " "
	if old != "" && !strings.ContainsAny(old[len(old)-1:], ".!?:;)") {
		separator = ". "
	}
	p.append(s, text, separator)
}

func (p *phraser) append(s *tree.Node, text, separator string) {
	old := strings.TrimSpace(s.Get("description").Text())
	switch {
	case len(old) > maxDescription:
		p.cut = true
		return
	case old != "":
		text = old + separator + text
	}
	s.Set("description", tree.NewText(text))
}
