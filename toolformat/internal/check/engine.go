package check

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp/syntax"
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
