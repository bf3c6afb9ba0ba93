package check

import (
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// isPlain reports whether a schema is an object with only the keywords of most tools, and with values
// that the meta-schemas of all drafts take. A schema that is not plain may be valid too.
func isPlain(schema *tree.Node) bool {
	return schema.Is(tree.Object) && !slices.ContainsFunc(schema.Members, func(m tree.Member) bool { return !isPlainMember(m.Key, m.Value) })
}

func isPlainMember(keyword string, v *tree.Node) bool {
	switch keyword {
	case "$schema": // the library wants a URI when it compiles
		_, known := vocabulary.DraftOf(tree.NewObject(tree.NewMember(keyword, v)))
		scheme, _, _ := strings.Cut(v.Text(), "://")
		return known && (scheme == "http" || scheme == "https")
	case "$ref", "$comment", "title", "description", "format", "pattern":
		return v.Is(tree.Text)
	case "type":
		return slices.Contains(vocabulary.Types[:], v.Text())
	case "properties", "$defs", "definitions":
		return v.Is(tree.Object) && !slices.ContainsFunc(v.Members, func(m tree.Member) bool { return !isPlain(m.Value) })
	case "items":
		return isPlain(v)
	case "additionalProperties":
		return v.Is(tree.Bool) || isPlain(v)
	case "anyOf", "oneOf", "allOf":
		return len(v.List()) > 0 && !slices.ContainsFunc(v.Items, func(it *tree.Node) bool { return !isPlain(it) })
	case "required", "enum":
		return isTextSet(v)
	case "minimum", "maximum":
		return v.Is(tree.Number)
	case "minLength", "maxLength", "minItems", "maxItems":
		return v.Is(tree.Number) && strings.Trim(v.Raw, "0123456789") == ""
	case "uniqueItems":
		return v.Is(tree.Bool)
	case "default", "const":
		return true
	}
	return false
}

// isTextSet reports whether v is an array of different strings, and of at least one.
func isTextSet(v *tree.Node) bool {
	texts := v.Texts()
	slices.Sort(texts)
	return len(texts) > 0 && len(texts) == len(v.Items) && len(slices.Compact(texts)) == len(v.Items)
}
