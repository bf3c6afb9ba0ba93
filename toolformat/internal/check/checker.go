package check

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// A Checker is what toolformat.Checker documents.
type Checker struct {
	schema  *tree.Node    // as compiled
	simple  *simpleSchema // nil if the schema is not simple
	engines *sync.Pool    // of *engine
}

// NewChecker compiles a schema, as toolformat.NewChecker documents.
func NewChecker(schema json.RawMessage) (c *Checker, notes []wording.Note, err error) {
	defer recoverTo(&err)
	root, err := tree.Parse(schema)
	if err != nil {
		return nil, nil, err
	}
	if err := rewrite.CheckSize(root); err != nil {
		return nil, nil, fmt.Errorf("the schema is too large: %w", err)
	}
	draft, declared := vocabulary.DraftOf(root)
	if uri := root.Get("$schema"); uri != nil && !declared {
		notes = append(notes, wording.Note{Path: "/$schema", Rule: ruleUnchecked, Text: fmt.Sprintf("unknown draft %s, read as 2020-12", uri.Short())})
	}
	r := rewrite.Of(root, "the check")
	wrong := violations(root, draft)
	if wrong != nil {
		rewrite.UpgradeDraft(r)
		draft = vocabulary.LatestDraft
	}
	rewrite.FoldNullable(r)
	p, err := newPreparer(r.Root, draft)
	if err != nil {
		return nil, nil, err
	}
	if wrong != nil || len(r.Notes)+len(p.copies) > 0 { // the schema has changed
		wrong = violations(p.root, draft)
	}
	if err := p.prepare(wrong); err != nil {
		return nil, nil, err
	}
	c = &Checker{p.root, newSimpleSchema(p.root), &sync.Pool{New: func() any { e, _ := newEngine(p.root, draft); return e }}}
	if !isPlain(p.root) { // else it is certain to compile, and is mostly never needed
		e, err := newEngine(p.root, draft)
		if err != nil {
			return nil, nil, err
		}
		c.engines.Put(e)
	}
	return c, append(notes, p.notes...), nil
}

// Check validates a value; the error is an [*Error].
func (c *Checker) Check(instance json.RawMessage) error { return c.check("", instance) }

// Structured validates the structured content of a result, which must be there; the error is an
// [*Error].
func (c *Checker) Structured(content json.RawMessage) error {
	const subject = "invalid structured content"
	if content == nil || string(content) == "null" {
		return &Error{Subject: subject, Faults: []wording.Note{{Rule: "required", Text: "missing, and the tool has an output schema"}}}
	}
	return c.check(subject, content)
}

func (c *Checker) check(subject string, instance json.RawMessage) error {
	n, err := tree.Parse(instance)
	if err != nil {
		return notJSON(subject, err)
	}
	return newError(subject, c.failures(n), nil)
}

// failures returns what a value does not meet, of alternatives only the nearest.
func (c *Checker) failures(n *tree.Node) []*failure { return condense(c.details(n)) }

// details returns the failures with all that is wrong in each alternative.
func (c *Checker) details(n *tree.Node) (all []*failure) {
	if all = outOfBounds(n); all != nil || c.simple.accepts(n) {
		return all
	}
	e := c.engines.Get().(*engine)
	defer c.engines.Put(e)
	invalid, err := e.validate(n)
	switch {
	case err != nil:
		return []*failure{{value: n, message: err.Error()}}
	case invalid == nil:
		return nil
	}
	r := failureReader{instance: n, schema: c.schema}
	return r.readAll(invalid)
}

// maxValues bounds the size of a value.
const maxValues = 100_000

// outOfBounds returns why a value is not checked at all.
func outOfBounds(n *tree.Node) []*failure {
	if count, _ := n.Size(); count > maxValues {
		return []*failure{{value: n, keyword: "size", message: fmt.Sprintf("too large to be checked: more than %d values", maxValues)}}
	}
	if !vocabulary.AnyValue(n, isUnbounded) {
		return nil
	}
	var all []*failure
	vocabulary.EachValue(n, nil, func(n *tree.Node, at *tree.Path) {
		if isUnbounded(n) {
			all = append(all, &failure{tokens: at.Keys(nil), at: n.Start, value: n, keyword: "number", message: fmt.Sprintf("%v, got %s", tree.BoundNumber(n.Raw), n.Short())})
		}
	})
	return all
}

// isUnbounded reports whether n is a number that is not computed with.
func isUnbounded(n *tree.Node) bool { return n.Is(tree.Number) && tree.BoundNumber(n.Raw) != nil }

// recoverTo turns a panic into an error: jsonschema/v5 panics on input that it does not expect.
func recoverTo(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the schema cannot be used: %v", r)
	}
}

// NewLazy returns a function that compiles a schema when it is first called, and may be called from
// many goroutines. An empty schema accepts every object.
func NewLazy(schema json.RawMessage) func() (*Checker, error) {
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	return sync.OnceValues(func() (*Checker, error) {
		c, _, err := NewChecker(schema)
		return c, err
	})
}
