package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// The bounds of texts, in bytes.
const (
	maxName = 60
	maxList = 300
	maxPath = 200
)

// note describes a failure. keys translates the keys of properties.
func (f *failure) note(keys *rewrite.KeyMap) wording.Note {
	tokens, below := keys.Translate(f.tokens)
	text := f.text(below)
	if f.value == nil && f.name == "" && len(tokens) > 0 { // below propertyNames
		last := len(tokens) - 1
		text = fmt.Sprintf("the name of property %s: %s", quoteName(tokens[last]), text)
		tokens = tokens[:last]
	}
	if f.alternatives > 0 {
		text += fmt.Sprintf(" (for the nearest of %d alternatives)", f.alternatives)
	}
	var at *tree.Path
	for _, token := range tokens {
		at = at.At(token)
	}
	return wording.Note{Path: wording.Cut(at.String(), maxPath), Rule: f.keyword, Text: text}
}

// text says what was expected and what the value is.
func (f *failure) text(keys *rewrite.KeyMap) string {
	name := func(key string) string {
		translated, _ := keys.Translate([]string{key})
		return quoteName(translated[0])
	}
	if types, values := f.expects(); types != nil || values != nil {
		return f.expected(types, values)
	}
	switch f.keyword {
	case "required":
		if f.name != "" {
			return "missing required property " + name(f.name)
		}
	case "dependentRequired", "dependencies":
		if f.name != "" {
			return fmt.Sprintf("missing property %s, which is required beside %s", name(f.name), name(f.dependent))
		}
	case "additionalProperties":
		if f.name != "" {
			return "unknown property " + name(f.name) + f.suggestion(name)
		}
	case "unevaluatedProperties":
		return "unknown property"
	case "false":
		return "not allowed here"
	}
	if f.schema == nil {
		return f.amount()
	}
	expected := f.schema.Get(f.keyword)
	switch f.keyword {
	case "not":
		return "expected anything that does not match " + expected.Short() + ", got " + f.got()
	case "pattern":
		return "expected a string that matches " + wording.Cut(expected.Text(), 2*maxName) + ", got " + f.got()
	case "multipleOf":
		return "expected a multiple of " + expected.Short() + ", got " + f.got()
	case "minContains", "maxContains":
		return f.amount() + " of " + f.schema.Get("contains").Short()
	}
	if bound, ok := bounds[f.keyword]; ok {
		if expected.Is(tree.Bool) { // draft-04
			expected = f.schema.Get(bound.beside)
		}
		return "expected " + bound.sign + " " + expected.Short() + ", got " + f.got()
	}
	return f.amount()
}

// bounds lists the keywords that bound a number. In draft-04 the exclusive ones are booleans beside
// the number.
var bounds = map[string]struct{ sign, beside string }{
	"minimum":          {">=", ""},
	"maximum":          {"<=", ""},
	"exclusiveMinimum": {">", "minimum"},
	"exclusiveMaximum": {"<", "maximum"},
}

// amount rewords the message of jsonschema/v5 if it has two numbers.
func (f *failure) amount() string {
	var a, b int
	if row, ok := amounts[f.keyword]; ok {
		if n, _ := fmt.Sscanf(f.message, row.read, &a, &b); n == 2 {
			return fmt.Sprintf(row.write, a, b)
		}
	}
	return f.message
}

// amounts holds the messages of jsonschema/v5, which TestLibraryMessages pins, and ours.
var amounts = map[string]struct{ read, write string }{
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

// expected names the types or values that would do.
func (f *failure) expected(types, values []string) string {
	got := f.got()
	if types != nil && f.value != nil {
		if kind := vocabulary.Types[f.value.Kind]; kind != got {
			got = kind + " " + got
		}
	}
	text := "expected " + joinWords(types, " or ")
	switch {
	case len(values) == 1 && types == nil:
		text = "expected " + values[0]
	case types == nil:
		text = "expected one of " + joinWords(values, ", ")
	case values != nil:
		text = "expected one of " + joinWords(values, ", ") + ", or " + joinWords(types, " or ")
	}
	text += ", got " + got
	if near := wording.Closest(got, values); near != "" && f.value.Is(tree.Text) {
		text += " (did you mean " + near + "?)"
	}
	return text
}

// got returns the value, cut short.
func (f *failure) got() string {
	if f.value == nil && len(f.tokens) > 0 {
		return quoteName(f.tokens[len(f.tokens)-1])
	}
	return f.value.Short()
}

// suggestion tells, for an unknown property, the one that was meant or all that are left.
func (f *failure) suggestion(name func(string) string) string {
	var names []string
	properties := vocabulary.MembersOf(f.schema.Get("properties"))
	for _, m := range properties[:min(len(properties), 500)] {
		if f.value.Get(m.Key) == nil {
			names = append(names, name(m.Key))
		}
	}
	if near := wording.Closest(name(f.name), names); near != "" {
		return " (did you mean " + near + "?)"
	}
	if len(names) > 0 {
		return " (known: " + joinWords(names, ", ") + ")"
	}
	return ""
}

// joinWords joins words up to maxList, and counts them if they are more.
func joinWords(words []string, separator string) string {
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

// quoteName quotes the name of a property, cut short.
func quoteName(name string) string { return wording.Cut(tree.Quote(name), maxName) }

// An Error tells everything that is wrong with a value, in words that a model can act on.
type Error struct {
	Subject string         // what the value is: "invalid arguments for tool get_weather"; "" if unknown
	Faults  []wording.Note // in the order of the value; Path is in the value, Rule is a keyword of JSON Schema
	More    int            // number of faults that are not listed
}

// The bounds of an Error.
const (
	maxFaults     = 20
	maxFaultsText = 2000 // bytes
)

// newError describes failures; nil if there are none. keys translates the keys of properties.
func newError(subject string, failures []*failure, keys *rewrite.KeyMap) error {
	if len(failures) == 0 {
		return nil
	}
	e := &Error{Subject: subject}
	size := 0
	for _, f := range failures {
		if len(e.Faults) == maxFaults || size > maxFaultsText {
			e.More++
			continue
		}
		note := f.note(keys)
		if slices.Contains(e.Faults, note) {
			continue
		}
		if size += len(note.String()); size > maxFaultsText && len(e.Faults) > 0 {
			e.More++
			continue
		}
		e.Faults = append(e.Faults, note)
	}
	return e
}

func notJSON(subject string, err error) error {
	return &Error{Subject: subject, Faults: []wording.Note{{Text: "not JSON: " + err.Error()}}}
}

// Error returns the subject and the faults, a line each if there are several.
func (e *Error) Error() string {
	lines := make([]string, len(e.Faults))
	for i, fault := range e.Faults {
		lines[i] = fault.String()
	}
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", e.More))
	}
	switch {
	case e.Subject == "":
		return strings.Join(lines, "\n")
	case len(lines) == 1:
		return e.Subject + ": " + lines[0]
	}
	return e.Subject + ":\n- " + strings.Join(lines, "\n- ")
}
