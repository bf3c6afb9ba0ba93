package check

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// An engine is a compiled schema that runs one check at a time, because it counts the work:
// jsonschema/v5 has no bound of its own, and a schema of a few hundred bytes can apply itself twice
// at each level of a value, so that the time doubles with each level.
type engine struct {
	schema  *jsonschema.Schema
	perPart int // most work that one schema does for each part of a value
	pattern int // instructions of the largest regular expressions of one schema
	budget  int // work that is left for the check
}

// The bounds of one check: the work that the meters count, and the steps of a regular expression,
// which are the product of its instructions and the length of the text.
const (
	maxWork  = 500_000
	maxSteps = 1_000_000_000
)

var errTooMuch = errors.New("too large, or nested too deeply, to be checked against the schema")

// newEngine compiles a prepared schema. It writes $schema into one without: the library would assert
// formats.
func newEngine(schema *tree.Node, draft vocabulary.Draft) (*engine, error) {
	if schema.Is(tree.Object) {
		schema = tree.NewObject(append([]tree.Member{tree.NewMember("$schema", tree.NewText(vocabulary.Drafts[draft]))}, schema.Members...)...)
	}
	e := &engine{}
	compiler := jsonschema.NewCompiler()
	compiler.LoadURL = func(url string) (io.ReadCloser, error) { return nil, fmt.Errorf("%s is not loaded", url) }
	compiler.RegisterExtension("meter", nil, meters{e})
	err := compiler.AddResource(documentURL, bytes.NewReader(schema.JSON()))
	if err == nil {
		e.schema, err = compiler.Compile(documentURL)
	}
	if err != nil {
		return nil, fmt.Errorf("the schema cannot be compiled: %w", err)
	}
	return e, nil
}

// validate returns what a value does not meet. The error says why it was not checked.
func (e *engine) validate(n *tree.Node) (invalid *jsonschema.ValidationError, err error) {
	defer func() {
		switch r := recover(); r {
		case nil:
		case errTooMuch: // from a meter
			err = errTooMuch
		default: // a panic of the library
			err = fmt.Errorf("cannot be checked: %v", r)
		}
	}()
	if parts, text := extent(n); e.perPart*parts > maxWork || e.pattern*text > maxSteps {
		return nil, errTooMuch
	}
	e.budget = maxWork
	err = e.schema.Validate(decode(n))
	if errors.As(err, &invalid) {
		return invalid, nil
	}
	return nil, err
}

// extent returns the size of the largest object or array in a value, and of the longest string in
// bytes.
func extent(n *tree.Node) (parts, text int) {
	vocabulary.AnyValue(n, func(n *tree.Node) bool {
		parts, text = max(parts, len(n.Members)+len(n.Items)), max(text, len(n.Raw))
		for _, m := range n.Members {
			text = max(text, len(m.Key))
		}
		return false
	})
	return parts, text
}

// meters adds a meter to each schema of an engine.
type meters struct{ engine *engine }

// A meter takes the work of one schema from the budget each time that it is applied to a value.
type meter struct {
	engine  *engine
	fixed   int // work for the value
	perPart int // work for each part of the value
	pattern int // instructions of the schema's regular expressions
}

// Compile returns the meter of one schema.
func (m meters) Compile(_ jsonschema.CompilerContext, schema map[string]any) (jsonschema.ExtSchema, error) {
	result := meter{engine: m.engine, fixed: 1, perPart: 1}
	for keyword, value := range schema {
		parts := 1
		switch value := value.(type) {
		case map[string]any:
			if below := vocabulary.Keywords[keyword]; below == vocabulary.ManySchemas || below == vocabulary.NoSchema {
				parts = len(value)
			}
			if keyword == "patternProperties" {
				for pattern := range value {
					result.addPattern(pattern)
				}
			}
		case []any:
			parts = len(value)
		case string:
			if keyword == "pattern" {
				result.addPattern(value)
			}
		}
		result.fixed += parts
		if vocabulary.InPlace(keyword) || keyword == "patternProperties" {
			result.perPart += parts
		}
	}
	m.engine.perPart = max(m.engine.perPart, result.perPart)
	m.engine.pattern = max(m.engine.pattern, result.pattern)
	return result, nil
}

// addPattern counts the instructions of a regular expression.
func (m *meter) addPattern(pattern string) {
	if re, err := syntax.Parse(pattern, syntax.Perl); err == nil {
		m.pattern += patternSize(re)
	}
}

// Validate takes the work from the budget. An error costs by the square of its depth, as the library
// spells out the way to it.
func (m meter) Validate(ctx jsonschema.ValidationContext, value any) error {
	cost := m.fixed
	switch v := value.(type) {
	case map[string]any:
		cost += m.perPart * len(v)
		for key := range v {
			cost += m.pattern * len(key) / (maxSteps / maxWork)
		}
	case []any:
		cost += m.perPart * len(v)
	case string:
		cost += m.pattern * len(v) / (maxSteps / maxWork)
	}
	if cost > m.fixed || m.perPart > 1 {
		depth := strings.Count(ctx.Error("", "").KeywordLocation, "/")
		cost *= 1 + depth*depth/200
	}
	if m.engine.budget -= cost; m.engine.budget < 0 {
		panic(errTooMuch)
	}
	return nil
}

// A simpleSchema is a schema of types, properties, required names and lists of strings, as most
// tools have. It recognizes values that are valid in every draft without the engine. A value that it
// does not recognize may still be valid: the engine decides and finds the words.
type simpleSchema struct {
	kinds      [tree.Object + 1]bool // that a value may have
	integers   bool                  // numbers must be written as integers
	properties map[string]*simpleSchema
	required   []string
	closed     bool // no other properties
	items      *simpleSchema
	values     []string // raw strings, one of which it must be; nil means any value
}

// annotations lists keywords that refuse nothing, in every draft.
var annotations = []string{"$schema", "$comment", "title", "description", "default", "examples", "format", "deprecated", "readOnly", "writeOnly"}

// newSimpleSchema returns nil for a schema with any other keyword.
func newSimpleSchema(schema *tree.Node) *simpleSchema {
	if !schema.Is(tree.Object) {
		return nil
	}
	s := &simpleSchema{}
	if schema.Get("type") == nil {
		s.kinds = [...]bool{true, true, true, true, true, true}
	}
	for _, m := range schema.Members {
		if !slices.Contains(annotations, m.Key) && !s.addKeyword(m.Key, m.Value) {
			return nil
		}
	}
	return s
}

// addKeyword adds a keyword; false means that the schema is not simple.
func (s *simpleSchema) addKeyword(keyword string, v *tree.Node) bool {
	notText := func(n *tree.Node) bool { return !n.Is(tree.Text) }
	switch keyword {
	case "type":
		if v.Is(tree.Array) {
			return len(v.Items) > 0 && !slices.ContainsFunc(v.Items, func(t *tree.Node) bool { return !s.addType(t) })
		}
		return s.addType(v)
	case "properties":
		s.properties = make(map[string]*simpleSchema, len(v.Members))
		for _, p := range v.Members {
			if s.properties[p.Key] = newSimpleSchema(p.Value); s.properties[p.Key] == nil {
				return false
			}
		}
		return v.Is(tree.Object)
	case "required":
		s.required = v.Texts()
		return v.Is(tree.Array) && !slices.ContainsFunc(v.Items, notText)
	case "additionalProperties":
		s.closed = v.IsBool(false)
		return v.Is(tree.Bool) || v.Is(tree.Object) && len(v.Members) == 0
	case "items":
		s.items = newSimpleSchema(v)
		return s.items != nil
	case "enum":
		for _, value := range v.Items {
			s.values = append(s.values, value.Raw)
		}
		return len(s.values) > 0 && !slices.ContainsFunc(v.Items, notText)
	}
	return false
}

func (s *simpleSchema) addType(t *tree.Node) bool {
	kind := slices.Index(vocabulary.Types[:], t.Text())
	switch {
	case kind < 0:
		return false
	case t.Text() == "integer":
		s.integers = !s.kinds[tree.Number]
		kind = int(tree.Number)
	case t.Text() == "number":
		s.integers = false
	}
	s.kinds[kind] = true
	return true
}

// accepts reports whether a value is certain to be valid; never on nil.
func (s *simpleSchema) accepts(n *tree.Node) bool {
	if s == nil || !s.kinds[n.Kind] || s.values != nil && !slices.Contains(s.values, n.Raw) {
		return false
	}
	switch n.Kind {
	case tree.Number:
		return !s.integers || isDigits(n.Raw)
	case tree.Array:
		return s.items == nil || !slices.ContainsFunc(n.Items, func(item *tree.Node) bool { return !s.items.accepts(item) })
	case tree.Object:
		for _, m := range n.Members {
			if p := s.properties[m.Key]; p != nil && !p.accepts(m.Value) || p == nil && s.closed {
				return false
			}
		}
		return !slices.ContainsFunc(s.required, func(name string) bool { return !n.Has(name) })
	}
	return true
}

// isDigits reports whether a number is written as an integer.
func isDigits(raw string) bool {
	for i := range len(raw) {
		if c := raw[i]; (c < '0' || c > '9') && (c != '-' || i > 0) {
			return false
		}
	}
	return true
}
