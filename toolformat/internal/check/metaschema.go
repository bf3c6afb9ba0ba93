package check

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// ruleSchema is the rule of a note about a violation of the meta-schema.
const ruleSchema = "schema"

// CheckSchema returns what a schema, which stands at a place in its definition, violates of the
// meta-schema of its draft; nil for a valid schema.
//
// A schema without $schema is read as 2020-12, and may have the forms of older drafts and of OpenAPI
// that [rewrite.UpgradeDraft] repairs. "format" is not checked: 2020-12 makes it an annotation
// (validation, 7.2.1), so that a pattern of another dialect of regular expressions is valid too.
func CheckSchema(schema json.RawMessage, at *tree.Path) []wording.Note {
	wrong := func(format string, args ...any) []wording.Note {
		return []wording.Note{{Path: at.String(), Rule: ruleSchema, Text: fmt.Sprintf(format, args...)}}
	}
	root, err := tree.Parse(schema)
	if err != nil {
		return wrong("not JSON: %v", err)
	}
	if err := rewrite.CheckSize(root); err != nil {
		return wrong("%v", err)
	}
	draft, declared := vocabulary.DraftOf(root)
	var old oldForms
	if !declared {
		old = removeOldForms(root)
	}
	var notes []wording.Note
	for _, f := range violations(root, draft) {
		notes = append(notes, wording.Note{Path: old.originalPath(root, f.tokens, at).String(), Rule: ruleSchema, Text: f.note(nil).Text})
	}
	return notes
}

// IsValid reports whether a schema is valid by the meta-schema of a draft, formats aside.
func IsValid(schema *tree.Node, draft vocabulary.Draft) bool {
	return len(violations(schema, draft)) == 0
}

// violations returns what a document violates of the meta-schema of a draft, formats aside.
func violations(doc *tree.Node, draft vocabulary.Draft) []*failure {
	if isPlain(doc) {
		return nil
	}
	return libraryViolations(doc, draft)
}

// libraryViolations is violations by the library alone.
func libraryViolations(doc *tree.Node, draft vocabulary.Draft) []*failure {
	meta := jsonschema.NewCompiler().MustCompile(vocabulary.Drafts[draft]) // the library has it compiled
	doc, renamed := withoutPatterns(doc)
	var invalid *jsonschema.ValidationError
	if !errors.As(meta.Validate(decode(doc)), &invalid) {
		return nil
	}
	r := failureReader{instance: doc}
	all := slices.DeleteFunc(condense(r.readAll(invalid)), func(f *failure) bool { return f.keyword == "format" })
	for _, f := range all {
		n := doc
		for i, token := range f.tokens {
			n = n.Find(token)
			if key, ok := renamed[n]; ok {
				f.tokens[i] = key
			}
		}
	}
	return all
}

// withoutPatterns returns a copy of a schema without regular expressions, which the library would
// compile, whatever their size. The members of patternProperties get other keys; renamed has the
// original ones.
func withoutPatterns(doc *tree.Node) (copied *tree.Node, renamed map[*tree.Node]string) {
	doc, renamed = doc.Clone(), map[*tree.Node]string{}
	vocabulary.EachSchema(doc, nil, func(s *tree.Node, _ *tree.Path) {
		if pattern := s.Get("pattern"); pattern.Is(tree.Text) {
			pattern.Raw = `""`
		}
		if patterns := s.Get("patternProperties"); patterns.Is(tree.Object) {
			for i, m := range patterns.Members {
				renamed[m.Value] = m.Key
				patterns.Members[i].Key = strconv.Itoa(i)
			}
		}
	})
	return doc, renamed
}

// decode returns a value as jsonschema/v5 takes it. A number out of bounds would make it panic: a
// stand-in of the same sign and kind, whole or not, replaces it.
func decode(n *tree.Node) any {
	switch n.Kind {
	case tree.Object:
		object := make(map[string]any, len(n.Members))
		for _, m := range n.Members {
			object[m.Key] = decode(m.Value)
		}
		return object
	case tree.Array:
		array := make([]any, len(n.Items))
		for i, it := range n.Items {
			array[i] = decode(it)
		}
		return array
	case tree.Text:
		return n.Text()
	case tree.Number:
		if tree.BoundNumber(n.Raw) != nil {
			return standIn(n.Raw)
		}
		return json.Number(n.Raw)
	case tree.Bool:
		return n.IsBool(true)
	}
	return nil
}

// standIn returns a number like one that is out of bounds: huge or tiny.
func standIn(raw string) json.Number {
	digits := strings.TrimPrefix(raw, "-")
	sign := raw[:len(raw)-len(digits)]
	mantissa, power, _ := strings.Cut(strings.ToLower(digits), "e")
	switch {
	case strings.Trim(mantissa, "0.") == "":
		return "0"
	case strings.HasPrefix(power, "-"), power == "" && strings.Contains(mantissa, "."):
		return json.Number(sign + "1e-400")
	}
	return json.Number(sign + "1e400")
}

// oldForms are the schemas whose array of items was renamed to prefixItems.
type oldForms map[*tree.Node]bool

// removeOldForms replaces the forms that UpgradeDraft repairs: boolean exclusiveMinimum and
// exclusiveMaximum (draft-04 validation, 5.1.3), an array of items (draft-07 validation, 6.4.1),
// required as a property's own boolean (draft-03, 5.7), and types in upper case (Gemini's Schema).
// OpenAPI's nullable is an unknown keyword, which is valid.
func removeOldForms(root *tree.Node) oldForms {
	old := oldForms{}
	vocabulary.EachSchema(root, nil, func(s *tree.Node, _ *tree.Path) {
		s.Members = slices.DeleteFunc(s.Members, func(m tree.Member) bool {
			return m.Value.Is(tree.Bool) && slices.Contains([]string{"exclusiveMinimum", "exclusiveMaximum", "required"}, m.Key)
		})
		types := s.Get("type")
		if types.Is(tree.Text) {
			types = tree.NewArray(types)
		}
		for _, t := range types.List() {
			if lower := strings.ToLower(t.Text()); slices.Contains(vocabulary.Types[:], lower) {
				t.Raw = tree.Quote(lower)
			}
		}
		if items := s.Get("items"); items.Is(tree.Array) && len(items.Items) > 0 && s.Get("prefixItems") == nil {
			old[s] = true
			s.Rename("items", "prefixItems")
			s.Rename("additionalItems", "items")
		}
	})
	return old
}

// originalPath returns the path of a value before removeOldForms.
func (old oldForms) originalPath(root *tree.Node, tokens []string, at *tree.Path) *tree.Path {
	n := root
	for _, token := range tokens {
		name := token
		if old[n] {
			name = cmp.Or(map[string]string{"prefixItems": "items", "items": "additionalItems"}[token], token)
		}
		at, n = at.At(name), n.Find(token)
	}
	return at
}
