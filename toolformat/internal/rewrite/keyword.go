package rewrite

import (
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// A keywordSet says which keywords of JSON Schema a provider takes.
type keywordSet struct {
	keep             map[string]bool
	formats          map[string]bool // values of "format" that it takes; nil means all
	noLookaround     bool            // it refuses look-around in patterns
	declareRequired  bool            // it refuses a required property that is not declared
	describeRequired bool            // old versions lose "required" below the root, so that it is described too
}

// openaiStrictKeywords are those of OpenAI's Structured Outputs (guide "Structured model outputs",
// supported schemas). The rejected ones are pydantic-ai's list of default, minLength, maxLength,
// patternProperties, propertyNames, minProperties, maxProperties, contains, unevaluated* and
// uniqueItems; chatlas#255 for the format "uri". Tuples are refused.
var openaiStrictKeywords = keywordSet{
	keep: map[string]bool{
		"$defs": true, "$ref": true, "additionalProperties": true, "anyOf": true, "const": true, "description": true, "enum": true,
		"exclusiveMaximum": true, "exclusiveMinimum": true, "format": true, "items": true, "maxItems": true, "maximum": true,
		"minItems": true, "minimum": true, "multipleOf": true, "pattern": true, "properties": true, "required": true, "type": true,
	},
	formats: map[string]bool{
		"date": true, "date-time": true, "duration": true, "email": true, "hostname": true, "ipv4": true, "ipv6": true, "time": true, "uuid": true,
	},
	noLookaround: true,
}

// anthropicAnswerKeywords are those of Anthropic's structured outputs: bounds of numbers, of lengths and
// of arrays are refused.
var anthropicAnswerKeywords = keywordSet{
	keep: map[string]bool{
		"$defs": true, "$ref": true, "additionalProperties": true, "anyOf": true, "const": true, "default": true,
		"description": true, "enum": true, "format": true, "items": true, "pattern": true, "properties": true, "required": true, "type": true,
	},
	formats: map[string]bool{
		"date": true, "date-time": true, "duration": true, "email": true, "hostname": true, "ipv4": true, "ipv6": true, "time": true,
		"uri": true, "uuid": true,
	},
	noLookaround: true,
}

// geminiKeywords are those that go-genai documents for ParametersJsonSchema, without $id, $anchor,
// $defs and $ref, since references are replaced, without title, which is noise, and without oneOf,
// which is read as anyOf. "required[0]: property is not defined" is the error for a required
// property that is not declared.
var geminiKeywords = keywordSet{
	keep: map[string]bool{
		"additionalProperties": true, "anyOf": true, "description": true, "enum": true, "format": true, "items": true, "maxItems": true,
		"maximum": true, "minItems": true, "minimum": true, "prefixItems": true, "properties": true, "required": true, "type": true,
	},
	declareRequired: true,
}

// ollamaKeywords are the fields of Ollama's ToolProperty (ollama/ollama api/types.go). It had no
// "required" below the root until commit 96b202d34.
var ollamaKeywords = keywordSet{
	keep:             map[string]bool{"anyOf": true, "description": true, "enum": true, "items": true, "properties": true, "required": true, "type": true},
	describeRequired: true,
}

// allows reports whether a keyword stays as it is.
func (set keywordSet) allows(m tree.Member) bool {
	switch {
	case !set.keep[m.Key]:
		return false
	case m.Key == "format" && set.formats != nil:
		return set.formats[m.Value.Text()]
	case m.Key == "pattern" && set.noLookaround:
		return !slices.ContainsFunc([]string{"(?=", "(?!", "(?<"}, func(s string) bool { return strings.Contains(m.Value.Text(), s) })
	}
	return true
}

// describeKeywords removes the keywords that a provider does not take and describes them, so that a
// model still reads them: `The city. (min length 1; default "x")`. Those that tell a model nothing
// are only noted: $comment, $id, $anchor, $schema, unused definitions, unknown keywords.
func describeKeywords(set keywordSet) func(*Schema) {
	return func(r *Schema) {
		r.each(func(s *tree.Node, at *tree.Path) {
			if s.Is(tree.Object) {
				r.describeKeywords(s, at, set)
			}
		})
	}
}

func (r *Schema) describeKeywords(s *tree.Node, at *tree.Path, set keywordSet) {
	dropped := slices.DeleteFunc(slices.Clone(s.Members), set.allows)
	isDropped := func(key string) bool {
		return slices.ContainsFunc(dropped, func(m tree.Member) bool { return m.Key == key })
	}
	if rest := s.Get("additionalProperties"); rest != nil && !acceptsAll(rest) && isDropped("patternProperties") && !isDropped("additionalProperties") {
		dropped = append(dropped, tree.NewMember("additionalProperties", rest)) // it would refuse what the patterns allow
	}
	described := slices.Clone(dropped)
	if rest := s.Get("items"); rest != nil && isDropped("prefixItems") && !isDropped("items") {
		described = append(described, tree.NewMember("items", rest)) // it will apply to all items
	}
	if set.describeRequired && at != r.base && s.Get("required") != nil {
		described = append(described, tree.NewMember("required", s.Get("required")))
	}
	if len(described) > 0 {
		d := &describer{}
		phrases := d.phrases(s, described)
		for _, m := range dropped {
			s.Remove(m.Key)
		}
		if isDropped("prefixItems") {
			listItems(s, dropped)
		}
		d.addPhrases(s, phrases)
		r.noteKeywords(at, dropped, len(phrases) > 0, d.remark())
	}
	if set.declareRequired {
		r.declareRequired(s, at)
	}
}

// noteKeywords notes what became of keywords.
func (r *Schema) noteKeywords(at *tree.Path, dropped []tree.Member, described bool, remark string) {
	var informative, other []tree.Member
	for _, m := range dropped {
		_, plain := plainPhrases[m.Key]
		_, flag := flagPhrases[m.Key]
		if !uninformative[m.Key] && (plain || flag || m.Key == "examples" || isAssertion(m) || vocabulary.Keywords[m.Key] != vocabulary.NoSchema) {
			informative = append(informative, m)
		} else {
			other = append(other, m)
		}
	}
	if len(informative) > 0 && described {
		r.note(at, "%s moved into the description%s: not supported by %s here", quotedKeys(informative), remark, r.dialect)
	} else if len(informative) > 0 {
		r.note(at, "%s left out: restricts nothing here, and not supported by %s", quotedKeys(informative), r.dialect)
	}
	if len(other) > 0 {
		r.note(at, "%s left out: tells a model nothing, and not supported by %s", quotedKeys(other), r.dialect)
	}
}

// listItems replaces a dropped tuple by items that may be any of the tuple's, or any of those that
// may follow it.
func listItems(s *tree.Node, dropped []tree.Member) {
	member := func(key string) *tree.Node { return tree.NewObject(dropped...).Get(key) }
	tuple := member("prefixItems")
	if !tuple.Is(tree.Array) {
		return
	}
	items := slices.Clone(tuple.Items)
	most := numberOf(s.Get("maxItems"))
	if dropped := member("maxItems"); dropped != nil {
		most = numberOf(dropped)
	}
	if most == nil || !most.IsInt() || !most.Num().IsInt64() || most.Num().Int64() > int64(len(items)) {
		rest := s.Get("items")
		if rest == nil {
			rest = tree.NewBool(true)
		}
		items = append(items, rest)
	}
	if union := unionOf(items, false); union.Is(tree.Object) {
		s.Set("items", union)
	}
}

// declareRequired declares the properties that are required and not declared, with the schema of
// the additional properties.
func (r *Schema) declareRequired(s *tree.Node, at *tree.Path) {
	names := s.Get("required").Texts()
	properties := s.Get("properties")
	if properties == nil {
		properties = tree.NewObject()
	}
	if len(names) == 0 || !properties.Is(tree.Object) {
		return
	}
	declared := make(map[string]bool, len(properties.Members))
	for _, m := range properties.Members {
		declared[m.Key] = true
	}
	for _, name := range names {
		if declared[name] {
			continue
		}
		declared[name] = true
		schema := tree.NewObject()
		if rest := s.Get("additionalProperties"); rest.Is(tree.Object) && r.reserve(rest) {
			schema = rest.Clone()
		}
		properties.Members = append(properties.Members, tree.NewMember(name, schema))
		r.note(at, "the required property %q declared: %s refuses one that is not", name, r.dialect)
	}
	s.Set("properties", properties)
}

// addProperties gives every object schema properties: OpenAI refuses one without, at any depth
// (spring-ai#4776, langchain-mcp-adapters#137, kubernetes-mcp-server#340, mcphost#90: "object
// schema missing properties"). The empty list changes no verdict.
func addProperties(r *Schema) {
	r.each(func(s *tree.Node, at *tree.Path) {
		if slices.Contains(typesOf(s), "object") && s.Get("properties") == nil {
			s.Set("properties", tree.NewObject())
			r.note(at, `"properties": {} added: %s refuses an object without`, r.dialect)
		}
	})
}

// addItems gives every array schema items: OpenAI refuses one without, tuples too (mcphost#35,
// ruflo#1294, opencode#20273: "array schema missing items"). They are {}, or the schema of
// unevaluatedItems where that is about all items: it would apply to none beside {}.
func addItems(r *Schema) {
	r.each(func(s *tree.Node, at *tree.Path) {
		if !slices.Contains(typesOf(s), "array") || s.Get("items") != nil {
			return
		}
		items := tree.NewObject()
		if rest := s.Get("unevaluatedItems"); rest != nil && !slices.ContainsFunc(s.Members, func(m tree.Member) bool {
			return evaluating[m.Key] && m.Key != "prefixItems" && m.Key != "unevaluatedItems"
		}) {
			s.Remove("unevaluatedItems")
			items = rest
		}
		s.Set("items", items)
		r.note(at, `"items": %s added: %s refuses an array without`, items.Short(), r.dialect)
	})
}

// dropTitles removes the annotation title (2020-12 validation, 9.1), which generators derive from
// the key of the property: it costs tokens and may confuse a model
// (github.com/pydantic/pydantic/discussions/8504). Only a title that is not a string is worth a
// note.
func dropTitles(r *Schema) {
	r.each(func(s *tree.Node, at *tree.Path) {
		if title := s.Remove("title"); title != nil && !title.Is(tree.Text) {
			r.note(at, `"title": %s dropped: it is %s, expected a string`, title.Short(), title.Kind)
		}
	})
}
