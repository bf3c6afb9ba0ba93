package rewrite

import (
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// A keywordSet is what a provider takes of JSON Schema's keywords.
type keywordSet struct {
	keep       map[string]bool
	formats    map[string]bool // the values of "format"; nil: all
	plain      bool            // no look-around in patterns
	declared   bool            // what is required has to be among the properties
	oldReaders bool            // "required" below the root is lost on old versions: it is described too
}

// openaiStrictKeywords are those of OpenAI's Structured Outputs (guide "Structured model
// outputs", supported schemas; the rejected ones are pydantic-ai's list of default,
// minLength, maxLength, patternProperties, propertyNames, minProperties, maxProperties,
// contains, unevaluated*, uniqueItems; chatlas#255 for the format "uri"). Tuples are
// refused.
var openaiStrictKeywords = keywordSet{
	keep: map[string]bool{
		"$defs": true, "$ref": true, "additionalProperties": true, "anyOf": true, "const": true, "description": true, "enum": true,
		"exclusiveMaximum": true, "exclusiveMinimum": true, "format": true, "items": true, "maxItems": true, "maximum": true,
		"minItems": true, "minimum": true, "multipleOf": true, "pattern": true, "properties": true, "required": true, "type": true,
	},
	formats: map[string]bool{
		"date": true, "date-time": true, "duration": true, "email": true, "hostname": true, "ipv4": true, "ipv6": true, "time": true, "uuid": true,
	},
	plain: true,
}

// geminiKeywords are those that go-genai documents for ParametersJsonSchema, less $id,
// $anchor, $defs and $ref, since references are put in, less title, which is noise, and
// less oneOf, which is read as anyOf. A required property that is not declared is
// refused ("required[0]: property is not defined").
var geminiKeywords = keywordSet{
	keep: map[string]bool{
		"additionalProperties": true, "anyOf": true, "description": true, "enum": true, "format": true, "items": true, "maxItems": true,
		"maximum": true, "minItems": true, "minimum": true, "prefixItems": true, "properties": true, "required": true, "type": true,
	},
	declared: true,
}

// ollamaKeywords are the fields of Ollama's ToolProperty (ollama/ollama api/types.go).
// What it has no field for is lost there without a word. It had no "required" below the
// root until commit 96b202d34, and has no description at the root: the format moves that
// one to the tool.
var ollamaKeywords = keywordSet{
	keep:       map[string]bool{"anyOf": true, "description": true, "enum": true, "items": true, "properties": true, "required": true, "type": true},
	oldReaders: true,
}

// describeKeywords takes the keywords that a provider has no use for out of every schema
// and says them once in its description, so that a model still reads them: `The city.
// (min length 1; default "x")`. Values over 200 bytes are cut there. Keywords that tell
// a model nothing ($comment, $id, $anchor, $schema, unused definitions and what no
// vocabulary knows) are only noted.
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
	dropped := slices.DeleteFunc(slices.Clone(s.Members), func(m tree.Member) bool { return set.takes(m) })
	said := slices.Clone(dropped)
	isDropped := func(key string) bool {
		return slices.ContainsFunc(dropped, func(m tree.Member) bool { return m.Key == key })
	}
	if m := (tree.NewMember("additionalProperties", s.Get("additionalProperties"))); m.Value != nil && !unconstrained(m.Value) && isDropped("patternProperties") && !isDropped(m.Key) {
		dropped, said = append(dropped, m), append(said, m) // it would refuse what the patterns let pass
	}
	if rest := s.Get("items"); rest != nil && isDropped("prefixItems") && !isDropped("items") {
		said = append(said, tree.NewMember("items", rest)) // it comes to speak of all items
	}
	if set.oldReaders && at != r.base && s.Get("required") != nil {
		said = append(said, tree.NewMember("required", s.Get("required")))
	}
	if len(said) > 0 {
		p := &phraser{}
		phrases := p.phrases(s, said)
		for _, m := range dropped {
			s.Remove(m.Key)
		}
		if isDropped("prefixItems") {
			listItems(s, dropped)
		}
		p.describe(s, phrases)
		r.noteKeywords(at, dropped, len(phrases) > 0, p.cut)
	}
	if set.declared {
		r.declareRequired(s, at)
	}
}

// takes reports whether a keyword stays as it is.
func (set keywordSet) takes(m tree.Member) bool {
	switch {
	case !set.keep[m.Key]:
		return false
	case m.Key == "format" && set.formats != nil:
		return set.formats[m.Value.Text()]
	case m.Key == "pattern" && set.plain:
		return !slices.ContainsFunc([]string{"(?=", "(?!", "(?<"}, func(s string) bool { return strings.Contains(m.Value.Text(), s) })
	}
	return true
}

// noteKeywords says what became of keywords.
func (r *Schema) noteKeywords(at *tree.Path, dropped []tree.Member, described, cut bool) {
	var told, silenced []tree.Member
	for _, m := range dropped {
		if _, plain := plainPhrases[m.Key]; !silent[m.Key] && (plain || vocabulary.Assertions[m.Key] || vocabulary.Keywords[m.Key] != vocabulary.NoSchema || slices.Contains([]string{"deprecated", "examples", "readOnly", "writeOnly"}, m.Key)) {
			told = append(told, m)
		} else {
			silenced = append(silenced, m)
		}
	}
	if len(told) > 0 && described {
		r.note(at, "%s moved into the description%s: %s takes none of it here", quotedKeys(told), cutRemark(cut), r.dialect)
	} else if len(told) > 0 {
		r.note(at, "%s left out: it constrains nothing as it stands, and %s takes none of it", quotedKeys(told), r.dialect)
	}
	if len(silenced) > 0 {
		r.note(at, "%s left out: it tells a model nothing, and %s takes none of it", quotedKeys(silenced), r.dialect)
	}
}

// listItems gives an array whose tuple is taken out items that may be any of the tuple's,
// and any of those after it.
func listItems(s *tree.Node, dropped []tree.Member) {
	tuple := dropped[slices.IndexFunc(dropped, func(m tree.Member) bool { return m.Key == "prefixItems" })].Value
	if !tuple.Is(tree.Array) {
		return
	}
	kinds := slices.Clone(tuple.Items)
	rest := s.Get("items")
	most := number(s.Get("maxItems"))
	for _, m := range dropped {
		if m.Key == "maxItems" {
			most = number(m.Value)
		}
	}
	if most == nil || !most.IsInt() || !most.Num().IsInt64() || most.Num().Int64() > int64(len(kinds)) {
		if rest == nil {
			rest = tree.NewBool(true)
		}
		kinds = append(kinds, rest)
	}
	if items := either(kinds, false); items.Is(tree.Object) {
		s.Set("items", items)
	}
}

// declareRequired gives what is required and not named among the properties a schema of
// its own: that of the properties that are not named.
func (r *Schema) declareRequired(s *tree.Node, at *tree.Path) {
	names := textsOf(s.Get("required"))
	if len(names) == 0 {
		return
	}
	properties := s.Get("properties")
	if properties == nil {
		properties = tree.NewObject()
	}
	if !properties.Is(tree.Object) {
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
		if rest := s.Get("additionalProperties"); rest.Is(tree.Object) && r.spend(rest) {
			schema = rest.Clone()
		}
		properties.Members = append(properties.Members, tree.NewMember(name, schema))
		r.note(at, "the required property %q is declared now: %s refuses one that is not", name, r.dialect)
	}
	s.Set("properties", properties)
}
