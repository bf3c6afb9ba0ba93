package check

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// An engine is a compiled schema that does one check at a time, because it counts what
// the check takes: jsonschema/v5 has no bound of its own, and a schema of a few hundred
// bytes can apply itself twice to each level of a value, so that the time doubles with
// each level.
type engine struct {
	schema  *jsonschema.Schema
	each    int // the most that one schema does for each part of a value
	pattern int // instructions of the largest regular expressions of one schema
	spare   int // what may still be spent on the check
}

// The bounds of one check: what the meters may spend, and the steps that a regular
// expression may take, which are the product of its instructions and the text.
const (
	maxWork  = 500_000
	maxSteps = 1_000_000_000
)

var errTooMuch = errors.New("too large, or nested too deeply, to be checked against the schema")

// newEngine compiles a schema that a guard has settled. Where $schema is missing the
// library asserts formats, so that it is written in.
func newEngine(schema *tree.Node, draft int) (*engine, error) {
	if schema.Is(tree.Object) {
		schema = tree.NewObject(append([]tree.Member{{Key: "$schema", Value: tree.NewText(vocabulary.Drafts[draft])}}, schema.Members...)...)
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

// validate is what a value does not meet. The error says why it was not checked.
func (e *engine) validate(n *tree.Node) (invalid *jsonschema.ValidationError, err error) {
	defer func() {
		switch r := recover(); r {
		case nil:
		case errTooMuch: // from a meter
			err = errTooMuch
		default: // the last belt around the library
			err = fmt.Errorf("cannot be checked: %v", r)
		}
	}()
	if parts, text := extent(n); e.each*parts > maxWork || e.pattern*text > maxSteps {
		return nil, errTooMuch
	}
	e.spare = maxWork
	err = e.schema.Validate(plain(n))
	if errors.As(err, &invalid) {
		return invalid, nil
	}
	return nil, err
}

// extent is the size of the largest object or array in a value, and of the longest string
// in bytes.
func extent(n *tree.Node) (parts, text int) {
	parts, text = len(n.Members)+len(n.Items), len(n.Raw)
	for _, m := range n.Members {
		p, t := extent(m.Value)
		parts, text = max(parts, p), max(text, t, len(m.Key))
	}
	for _, it := range n.Items {
		p, t := extent(it)
		parts, text = max(parts, p), max(text, t)
	}
	return parts, text
}

// meters makes the meters of an engine.
type meters struct{ engine *engine }

// A meter spends for one schema each time that it has been applied to a value.
type meter struct {
	engine  *engine
	weight  int // of the schema itself
	each    int // for each part of a value
	pattern int // instructions of its regular expressions
}

// Compile makes the meter of one schema.
func (m meters) Compile(_ jsonschema.CompilerContext, schema map[string]any) (jsonschema.ExtSchema, error) {
	one := meter{engine: m.engine, weight: 1, each: 1}
	for keyword, value := range schema {
		parts := 1
		switch value := value.(type) {
		case map[string]any:
			if below := vocabulary.Keywords[keyword]; below == vocabulary.ManySchemas || below == vocabulary.NoSchema {
				parts = len(value)
			}
		case []any:
			parts = len(value)
		}
		one.weight += parts
		if vocabulary.InPlace(keyword) || keyword == "patternProperties" {
			one.each += parts
		}
		for _, pattern := range patternsIn(keyword, value) {
			if re, err := syntax.Parse(pattern, syntax.Perl); err == nil {
				one.pattern += patternSize(re)
			}
		}
	}
	m.engine.each = max(m.engine.each, one.each)
	m.engine.pattern = max(m.engine.pattern, one.pattern)
	return one, nil
}

func patternsIn(keyword string, value any) []string {
	switch value := value.(type) {
	case string:
		if keyword == "pattern" {
			return []string{value}
		}
	case map[string]any:
		if keyword == "patternProperties" {
			return slices.Collect(maps.Keys(value))
		}
	}
	return nil
}

// Validate spends. What an error takes grows by the square of its depth, as the library
// spells out the way to it.
func (m meter) Validate(ctx jsonschema.ValidationContext, value any) error {
	cost := m.weight
	switch v := value.(type) {
	case map[string]any:
		cost += m.each * len(v)
		for key := range v {
			cost += m.pattern * len(key) / (maxSteps / maxWork)
		}
	case []any:
		cost += m.each * len(v)
	case string:
		cost += m.pattern * len(v) / (maxSteps / maxWork)
	}
	if cost > m.weight || m.each > 1 {
		depth := strings.Count(ctx.Error("", "").KeywordLocation, "/")
		cost *= 1 + depth*depth/200
	}
	if m.engine.spare -= cost; m.engine.spare < 0 {
		panic(errTooMuch)
	}
	return nil
}
