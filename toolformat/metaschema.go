package toolformat

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// checkSchema is what a schema violates of the meta-schema of its draft, each violation
// with its path; nil for a valid schema.
//
// A schema without $schema is taken as 2020-12, and may have the forms of older drafts
// and of OpenAPI that upgradeDraft repairs: they are no violations. The same holds for
// "format": 2020-12 makes it an annotation (validation, 7.2.1), so that a pattern of
// another dialect of regular expressions is none either.
func checkSchema(schema json.RawMessage, at *path) []Note {
	wrong := func(format string, args ...any) []Note {
		return []Note{{Path: at.String(), Rule: ruleSchema, Text: fmt.Sprintf(format, args...)}}
	}
	root, err := parseNode(schema)
	if err != nil {
		return wrong("not JSON: %v", err)
	}
	if err := bounded(root); err != nil {
		return wrong("%v", err)
	}
	draft, declared := draftOf(root)
	var old oldForms
	if !declared {
		old = tolerate(root)
	}
	var notes []Note
	for _, f := range violations(root, draft) {
		notes = append(notes, Note{Path: old.original(root, f.tokens, at).String(), Rule: ruleSchema, Text: f.note(nil).Text})
	}
	return notes
}

// ruleSchema is the rule of a note that names a violation of the meta-schema.
const ruleSchema = "schema"

// bounded says what makes a schema too large to be looked at.
func bounded(schema *node) error {
	switch count, depth := measure(schema); {
	case depth > maxSchemaDepth:
		return fmt.Errorf("nested deeper than %d levels", maxSchemaDepth)
	case count > maxSchemaNodes:
		return fmt.Errorf("more than %d values", maxSchemaNodes)
	}
	return nil
}

// violations are what a document violates of a draft's meta-schema, less formats.
func violations(doc *node, draft int) []*failure {
	meta, err := jsonschema.NewCompiler().Compile(drafts[draft]) // the library has them compiled
	if err != nil {
		return []*failure{{message: err.Error()}}
	}
	doc, renamed := withoutPatterns(doc)
	err = meta.Validate(plain(doc))
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return nil
	}
	r := report{instance: doc}
	all := slices.DeleteFunc(condense(r.failures(invalid)), func(f *failure) bool { return f.keyword == "format" })
	for _, f := range all {
		n := doc
		for i, token := range f.tokens {
			n = n.step(token)
			if at, ok := renamed[n]; ok {
				f.tokens[i] = at
			}
		}
	}
	return all
}

// withoutPatterns is a copy of a schema without regular expressions, which the library
// would compile, whatever their size. What stands in patternProperties gets other keys;
// renamed has its own.
func withoutPatterns(doc *node) (copied *node, renamed map[*node]string) {
	doc, renamed = doc.clone(), map[*node]string{}
	eachSchema(doc, nil, func(s *node, _ *path) {
		if pattern := s.get("pattern"); pattern.is(textNode) {
			pattern.raw = `""`
		}
		if patterns := s.get("patternProperties"); patterns.is(objectNode) {
			for i, m := range patterns.members {
				renamed[m.val] = m.key
				patterns.members[i].key = strconv.Itoa(i)
			}
		}
	})
	return doc, renamed
}

// plain is a value as jsonschema/v5 takes it. A number out of bounds would make it
// panic: another of the same sign and kind, whole or not, stands for it.
func plain(n *node) any {
	switch n.kind {
	case objectNode:
		object := make(map[string]any, len(n.members))
		for _, m := range n.members {
			object[m.key] = plain(m.val)
		}
		return object
	case arrayNode:
		array := make([]any, len(n.items))
		for i, it := range n.items {
			array[i] = plain(it)
		}
		return array
	case textNode:
		return n.text()
	case numberNode:
		if !countable(n.raw) {
			return standIn(n.raw)
		}
		return json.Number(n.raw)
	case boolNode:
		return n.truth()
	}
	return nil
}

// maxDigits bounds the length of the numbers that are computed with.
const maxDigits = 1000

// countable reports whether a number is small enough, as written, to compute with.
func countable(raw string) bool {
	_, ok := exponent(raw)
	return ok && len(raw) <= maxDigits
}

// standIn is a number like one that is out of bounds: huge or tiny.
func standIn(raw string) json.Number {
	sign, digits := "", raw
	if strings.HasPrefix(raw, "-") {
		sign, digits = raw[:1], raw[1:]
	}
	mantissa, power, _ := strings.Cut(strings.ToLower(digits), "e")
	switch {
	case strings.Trim(mantissa, "0.") == "":
		return "0"
	case strings.HasPrefix(power, "-"), power == "" && strings.Contains(mantissa, "."):
		return json.Number(sign + "1e-400")
	}
	return json.Number(sign + "1e400")
}

// oldForms are the schemas whose array of items stands under the name that 2020-12 has
// for it.
type oldForms map[*node]bool

// tolerate takes out the forms that upgradeDraft repairs: boolean exclusiveMinimum and
// exclusiveMaximum (draft-04 validation, 5.1.3), an array of items (draft-07 validation, 6.4.1), required as a
// property's own boolean (draft-03, 5.7), and types in upper case (Gemini's Schema).
// OpenAPI's nullable is an unknown keyword, which is valid.
func tolerate(root *node) oldForms {
	old := oldForms{}
	eachSchema(root, nil, func(s *node, _ *path) {
		s.members = slices.DeleteFunc(s.members, func(m member) bool {
			return m.val.is(boolNode) && slices.Contains([]string{"exclusiveMinimum", "exclusiveMaximum", "required"}, m.key)
		})
		types := s.get("type")
		if types.is(textNode) {
			types = newArray(types)
		}
		for _, t := range types.list() {
			if lower := strings.ToLower(t.text()); slices.Contains(typeNames[:], lower) || lower == "integer" {
				t.raw = quote(lower)
			}
		}
		if items := s.get("items"); items.is(arrayNode) && len(items.items) > 0 && s.get("prefixItems") == nil {
			old[s] = true
			renameMember(s, "items", "prefixItems")
			renameMember(s, "additionalItems", "items")
		}
	})
	return old
}

// original is the path of a place before tolerate.
func (old oldForms) original(root *node, tokens []string, at *path) *path {
	n := root
	for _, token := range tokens {
		name := token
		if old[n] {
			switch token {
			case "prefixItems":
				name = "items"
			case "items":
				name = "additionalItems"
			}
		}
		at, n = at.at(name), n.step(token)
	}
	return at
}
