package check

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// A Checker validates values against a JSON Schema. It is immutable and may be used from many
// goroutines.
//
// "format" is an annotation and refuses nothing, in every draft: it is in 2020-12 (validation,
// 7.2.1), and what a server takes for a date is for the server to decide.
type Checker struct {
	schema  *tree.Node // as compiled
	draft   vocabulary.Draft
	simple  *simpleSchema // nil if the schema is not simple
	engines sync.Pool     // of *engine
}

// NewChecker compiles a schema: of the draft that its $schema names, or else of 2020-12. One that
// is not valid in its draft is repaired first, as it is for providers. The notes name what is not
// checked.
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
	if r.Err != nil {
		return nil, nil, r.Err
	}
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
	c = &Checker{schema: p.root, draft: draft, simple: newSimpleSchema(p.root)}
	e, err := newEngine(c.schema, c.draft)
	if err != nil {
		return nil, nil, err
	}
	c.engines.Put(e)
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
	e, _ := c.engines.Get().(*engine)
	if e == nil {
		var err error
		if e, err = newEngine(c.schema, c.draft); err != nil { // it compiled once
			return []*failure{{value: n, message: err.Error()}}
		}
	}
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
	if !hasUnboundedNumber(n) {
		return nil
	}
	var all []*failure
	var visit func(n *tree.Node, tokens []string)
	visit = func(n *tree.Node, tokens []string) {
		if n.Is(tree.Number) {
			if err := tree.BoundNumber(n.Raw); err != nil {
				all = append(all, &failure{tokens: slices.Clone(tokens), at: n.Start, value: n, keyword: "number", message: fmt.Sprintf("%v, got %s", err, n.Short())})
			}
		}
		for _, m := range n.Members {
			visit(m.Value, append(tokens, m.Key))
		}
		for i, it := range n.Items {
			visit(it, append(tokens, strconv.Itoa(i)))
		}
	}
	visit(n, nil)
	return all
}

// hasUnboundedNumber reports whether a value has a number that is not computed with.
func hasUnboundedNumber(n *tree.Node) bool {
	return n.Is(tree.Number) && tree.BoundNumber(n.Raw) != nil ||
		slices.ContainsFunc(n.Members, func(m tree.Member) bool { return hasUnboundedNumber(m.Value) }) ||
		slices.ContainsFunc(n.Items, hasUnboundedNumber)
}

// recoverTo turns a panic into an error: jsonschema/v5 panics on input that it does not expect.
func recoverTo(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the schema cannot be used: %v", r)
	}
}

// A Lazy checker compiles its schema when it is first used. It may be copied, and used from many
// goroutines.
type Lazy struct{ once func() (*Checker, error) }

// NewLazy returns the Lazy checker of a schema; an empty one accepts every object.
func NewLazy(schema json.RawMessage) Lazy {
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	return Lazy{sync.OnceValues(func() (*Checker, error) {
		c, _, err := NewChecker(schema)
		return c, err
	})}
}

// Get returns the checker. The zero Lazy compiles schema each time.
func (l Lazy) Get(schema json.RawMessage) (*Checker, error) {
	if l.once == nil {
		l = NewLazy(schema)
	}
	return l.once()
}
