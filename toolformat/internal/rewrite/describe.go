package rewrite

import (
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// The bounds of texts, in bytes.
const (
	maxPhrase      = 200    // of one value in a description
	maxDescription = 20_000 // of a description, beyond which nothing is added
	maxQuoted      = 80     // of a key or reference in a note
)

// uninformative lists keywords that tell a model nothing: they name and comment. Keywords that no
// vocabulary knows are treated alike.
var uninformative = map[string]bool{
	"$anchor": true, "$comment": true, "$defs": true, "$dynamicAnchor": true, "$id": true, "$schema": true, "$vocabulary": true,
	"definitions": true, "title": true,
}

// plainPhrases are the words before the value of a keyword. After a colon follow JSON or schemas.
var plainPhrases = map[string]string{
	"$dynamicRef": "as", "$ref": "as", "const": "must be", "contentEncoding": "encoded as",
	"contentMediaType": "media type", "contentSchema": "content:", "default": "default",
	"dependentSchemas": "with each of these properties:", "enumDescriptions": "meanings:", "enumNames": "names:",
	"example": "example", "exclusiveMaximum": "less than", "exclusiveMinimum": "more than", "format": "format",
	"maxItems": "max items", "maxLength": "max length", "maxProperties": "max properties", "maximum": "max",
	"minItems": "min items", "minLength": "min length", "minProperties": "min properties", "minimum": "min",
	"multipleOf": "multiple of", "pattern": "pattern", "patternProperties": "properties by pattern:",
	"properties": "properties:", "propertyNames": "property names:",
}

// listPhrases are the words before a list, and between its items.
var listPhrases = map[string]struct{ before, separator string }{
	"prefixItems": {"items in order: ", ", "}, "examples": {"examples: ", ", "}, "enum": {"one of ", ", "},
	"anyOf": {"any of: ", " | "}, "oneOf": {"exactly one of: ", " | "}, "allOf": {"all of: ", " | "},
}

// flagPhrases are the words for a keyword whose value is true.
var flagPhrases = map[string]string{
	"deprecated": "deprecated", "readOnly": "read-only", "uniqueItems": "unique items", "writeOnly": "write-only",
}

// unquoted lists the keywords whose string a model reads better without quotes.
var unquoted = map[string]bool{
	"$ref": true, "contentEncoding": true, "contentMediaType": true, "format": true, "pattern": true,
}

// A describer puts keywords into words for a description.
type describer struct {
	truncated bool // a value was too long
}

// remark ends a note about a description.
func (d *describer) remark() string {
	if d.truncated {
		return ", shortened"
	}
	return ""
}

// moveToDescription removes members of a schema and describes them instead; remark ends the note.
func moveToDescription(s *tree.Node, members []tree.Member) (remark string) {
	d := &describer{}
	phrases := d.phrases(s, members)
	for _, m := range members {
		s.Remove(m.Key)
	}
	d.addPhrases(s, phrases)
	return d.remark()
}

// quotedKeys lists the keys of members, for a note.
func quotedKeys(members []tree.Member) string {
	var keys []string
	for _, m := range members {
		keys = append(keys, tree.Quote(m.Key))
	}
	return strings.Join(keys, ", ")
}

// phrases returns the words for members of a schema, in order.
func (d *describer) phrases(s *tree.Node, members []tree.Member) []string {
	var all []string
	for _, m := range members {
		if words := d.keywordPhrase(s, m); words != "" {
			all = append(all, words)
		}
	}
	return all
}

// keywordPhrase returns the words for a keyword of the schema s; "" if it has none.
func (d *describer) keywordPhrase(s *tree.Node, m tree.Member) string {
	if before, ok := plainPhrases[m.Key]; ok {
		if text := m.Value.Text(); text != "" && unquoted[m.Key] {
			return before + " " + d.shorten(text)
		}
		return before + " " + d.schemaPhrase(m.Value)
	}
	if list, ok := listPhrases[m.Key]; ok {
		return list.before + d.listPhrase(m.Value, list.separator)
	}
	switch m.Key {
	case "additionalProperties", "unevaluatedProperties":
		return d.restPhrase(m.Value, "other properties")
	case "items", "unevaluatedItems", "additionalItems":
		if s.Get("prefixItems") != nil || m.Key != "items" {
			return d.restPhrase(m.Value, "further items")
		}
		return "items: " + d.schemaPhrase(m.Value)
	case "required":
		return "required: " + d.namesPhrase(m.Value)
	case "dependentRequired":
		var words []string
		for _, property := range vocabulary.MembersOf(m.Value) {
			words = append(words, property.Key+" requires "+d.namesPhrase(property.Value))
		}
		return d.shorten(strings.Join(words, "; "))
	case "type":
		return "type " + d.schemaPhrase(tree.NewObject(m))
	case "not":
		return d.notPhrase(m.Value)
	case "if", "contains":
		return d.groupPhrase(s, m)
	}
	if m.Value.IsBool(true) {
		return flagPhrases[m.Key]
	}
	return ""
}

// groupPhrase returns the words for a keyword with those that mean nothing without it (2020-12
// core, 10.2.2 and 10.3.1.3).
func (d *describer) groupPhrase(s *tree.Node, m tree.Member) string {
	words := m.Key + " " + d.schemaPhrase(m.Value)
	for _, other := range []struct{ of, key, before, after string }{
		{"if", "then", "then ", ""}, {"if", "else", "else ", ""},
		{"contains", "minContains", "at least ", " times"}, {"contains", "maxContains", "at most ", " times"},
	} {
		if val := s.Get(other.key); val != nil && other.of == m.Key {
			words += " " + other.before + d.schemaPhrase(val) + other.after
		}
	}
	return words
}

// restPhrase returns the words for the schema of all that is not named.
func (d *describer) restPhrase(n *tree.Node, what string) string {
	switch {
	case n.IsBool(false):
		return "no " + what
	case acceptsAll(n):
		return what + " allowed"
	}
	return what + ": " + d.schemaPhrase(n)
}

// notPhrase returns the words for the schema of a not, which mostly keeps properties apart.
func (d *describer) notPhrase(n *tree.Node) string {
	if required := n.Get("required"); required.Is(tree.Array) && len(required.Items) > 0 && len(n.Members) == 1 {
		if len(required.Items) == 1 {
			return "without " + d.namesPhrase(required)
		}
		return "not together: " + d.namesPhrase(required)
	}
	return "not " + d.schemaPhrase(n)
}

// schemaPhrase returns the types of a schema that has nothing else, or else the JSON of a schema or
// value.
func (d *describer) schemaPhrase(n *tree.Node) string {
	switch {
	case n.IsBool(false):
		return "nothing"
	case n.Is(tree.Object) && len(n.Members) == 0, n.IsBool(true):
		return "anything"
	case n.Is(tree.Object) && len(n.Members) == 1 && n.Members[0].Key == "type":
		if names := typesOf(n); len(names) > 0 {
			return strings.Join(names, " or ")
		}
	}
	return d.shorten(string(n.JSON()))
}

// listPhrase returns the words for several schemas or values, with one bound on all.
func (d *describer) listPhrase(n *tree.Node, separator string) string {
	if !n.Is(tree.Array) {
		return d.shorten(string(n.JSON()))
	}
	var b strings.Builder
	for i, it := range n.Items {
		if i > 0 {
			b.WriteString(separator)
		}
		if b.Len() > maxPhrase {
			break
		}
		b.WriteString(d.schemaPhrase(it))
	}
	return d.shorten(b.String())
}

// namesPhrase lists the strings of an array.
func (d *describer) namesPhrase(n *tree.Node) string { return d.shorten(strings.Join(n.Texts(), ", ")) }

// shorten cuts a text that is too long for a description.
func (d *describer) shorten(s string) string {
	d.truncated = d.truncated || len(s) > maxPhrase
	return wording.Cut(s, maxPhrase)
}

// addPhrases appends phrases to the description of a schema: `The city. (min length 1; default
// "x")`.
func (d *describer) addPhrases(s *tree.Node, phrases []string) {
	if len(phrases) > 0 {
		d.appendText(s, "("+strings.Join(phrases, "; ")+")", " ")
	}
}

// addSentence appends a sentence to the description of a schema.
func (d *describer) addSentence(s *tree.Node, text string) {
	old := strings.TrimSpace(s.Get("description").Text())
	separator := " "
	if old != "" && !strings.ContainsAny(old[len(old)-1:], ".!?:;)") {
		separator = ". "
	}
	d.appendText(s, text, separator)
}

func (d *describer) appendText(s *tree.Node, text, separator string) {
	old := strings.TrimSpace(s.Get("description").Text())
	switch {
	case len(old) > maxDescription:
		d.truncated = true
		return
	case old != "":
		text = old + separator + text
	}
	s.Set("description", tree.NewText(text))
}

// quoteShort quotes a key or a reference for a note.
func quoteShort(s string) string { return wording.Cut(tree.Quote(s), maxQuoted) }
