package check

import (
	"fmt"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// How much is shown of a value or a name, of a list of them, and of a path; in bytes.
const (
	maxShown = 60
	maxList  = 300
	maxPath  = 200
)

// note is what is told of a failure. keys are the names that the reader knows, where
// they are not the schema's own.
func (f *failure) note(keys *rewrite.KeyMap) wording.Note {
	tokens, below := keys.Spell(f.tokens)
	text := f.text(below)
	if f.value == nil && f.name == "" && len(tokens) > 0 { // below propertyNames
		last := len(tokens) - 1
		text = fmt.Sprintf("the name of property %s: %s", shown(tokens[last]), text)
		tokens = tokens[:last]
	}
	if f.among > 0 {
		text += fmt.Sprintf(" (for the nearest of %d alternatives)", f.among)
	}
	at := (*tree.Path)(nil)
	for _, token := range tokens {
		at = at.At(token)
	}
	return wording.Note{Path: wording.Cut(at.String(), maxPath), Rule: f.keyword, Text: text}
}

// text says what was expected and what came.
func (f *failure) text(keys *rewrite.KeyMap) string {
	name := func(key string) string {
		spelled, _ := keys.Spell([]string{key})
		return shown(spelled[0])
	}
	if types, values := f.wants(); types != nil || values != nil {
		return f.expected(types, values)
	}
	switch f.keyword {
	case "required":
		if f.name != "" {
			return "missing required property " + name(f.name)
		}
	case "dependentRequired", "dependencies":
		if f.name != "" {
			return fmt.Sprintf("missing property %s, which is required beside %s", name(f.name), name(f.other))
		}
	case "additionalProperties":
		if f.name != "" {
			return "unknown property " + name(f.name) + f.known(name)
		}
	case "unevaluatedProperties":
		return "unknown property"
	case "false":
		return "not allowed here"
	}
	want := f.schema.Get(f.keyword)
	if f.schema != nil {
		switch f.keyword {
		case "not":
			return "expected anything that does not match " + want.Short() + ", got " + f.got()
		case "pattern":
			return "expected a string that matches " + wording.Cut(want.Text(), 2*maxShown) + ", got " + f.got()
		case "multipleOf":
			return "expected a multiple of " + want.Short() + ", got " + f.got()
		case "minContains", "maxContains":
			return f.amount() + " of " + f.schema.Get("contains").Short()
		}
		if bound, ok := bounds[f.keyword]; ok {
			if want.Is(tree.Bool) { // draft-04
				want = f.schema.Get(bound.beside)
			}
			return "expected " + bound.sign + " " + want.Short() + ", got " + f.got()
		}
	}
	return f.amount()
}

// bounds are the keywords that bound a number. In draft-04 the number of the exclusive
// ones stands beside them.
var bounds = map[string]struct{ sign, beside string }{
	"minimum":          {">=", ""},
	"maximum":          {"<=", ""},
	"exclusiveMinimum": {">", "minimum"},
	"exclusiveMaximum": {"<", "maximum"},
}

// amount says two numbers that stand in jsonschema's message, in other words.
func (f *failure) amount() string {
	var a, b int
	if told, ok := amounts[f.keyword]; ok {
		if n, _ := fmt.Sscanf(f.message, told.heard, &a, &b); n == 2 {
			return fmt.Sprintf(told.said, a, b)
		}
	}
	return f.message
}

var amounts = map[string]struct{ heard, said string }{
	"minLength":       {"length must be >= %d, but got %d", "expected a length >= %d, got %d"},
	"maxLength":       {"length must be <= %d, but got %d", "expected a length <= %d, got %d"},
	"minItems":        {"minimum %d items required, but found %d items", "expected >= %d items, got %d"},
	"maxItems":        {"maximum %d items required, but found %d items", "expected <= %d items, got %d"},
	"additionalItems": {"only %d items are allowed, but found %d items", "expected <= %d items, got %d"},
	"minContains":     {"valid must be >= %d, but got %d", "expected >= %d items, got %d"},
	"maxContains":     {"valid must be <= %d, but got %d", "expected <= %d items, got %d"},
	"minProperties":   {"minimum %d properties allowed, but found %d properties", "expected >= %d properties, got %d"},
	"maxProperties":   {"maximum %d properties allowed, but found %d properties", "expected <= %d properties, got %d"},
	"uniqueItems":     {"items at index %d and %d are equal", "expected no two items alike, got equal ones at %d and %d"},
	"oneOf":           {"valid against schemas at indexes %d and %d", "expected one alternative of oneOf to match, got %d and %d"},
}

// expected says which types or values would have done.
func (f *failure) expected(types, values []string) string {
	got := f.got()
	if types != nil && f.value != nil {
		if kind := vocabulary.Types[f.value.Kind]; kind != got {
			got = kind + " " + got
		}
	}
	text := "expected " + joined(types, " or ")
	switch {
	case len(values) == 1 && types == nil:
		text = "expected " + values[0]
	case types == nil:
		text = "expected one of " + joined(values, ", ")
	case values != nil:
		text = "expected one of " + joined(values, ", ") + ", or " + joined(types, " or ")
	}
	text += ", got " + got
	if near := wording.Closest(got, values); near != "" && f.value.Is(tree.Text) {
		text += " (did you mean " + near + "?)"
	}
	return text
}

// got is what came, cut short.
func (f *failure) got() string {
	if f.value == nil && len(f.tokens) > 0 {
		return shown(f.tokens[len(f.tokens)-1])
	}
	if f.value == nil {
		return "nothing"
	}
	return f.value.Short()
}

// known helps with a property that the schema does not know.
func (f *failure) known(name func(string) string) string {
	var names []string
	if properties := f.schema.Get("properties"); properties != nil {
		for _, m := range properties.Members[:min(len(properties.Members), 500)] {
			if f.value.Get(m.Key) == nil {
				names = append(names, name(m.Key))
			}
		}
	}
	if near := wording.Closest(name(f.name), names); near != "" {
		return " (did you mean " + near + "?)"
	}
	if len(names) > 0 {
		return " (known: " + joined(names, ", ") + ")"
	}
	return ""
}

// shown is a name in quotes, cut short.
func shown(name string) string { return wording.Cut(tree.Quote(name), maxShown) }

// joined is a list of words, cut where they are too many.
func joined(words []string, separator string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteString(separator)
		}
		if b.Len()+len(w) > maxList {
			fmt.Fprintf(&b, "… (%d in all)", len(words))
			break
		}
		b.WriteString(w)
	}
	return b.String()
}
