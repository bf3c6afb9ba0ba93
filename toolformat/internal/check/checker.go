package check

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// A Checker checks values against a JSON Schema: a tool's arguments, or its structured
// result. It is immutable and may be used from many goroutines.
//
// A "format" is an annotation and refuses nothing, in every draft: it is in 2020-12
// (validation, 7.2.1), and what a server takes for a date is for the server to say.
type Checker struct {
	schema  *tree.Node // as it is compiled
	draft   int        // of it
	obvious *obvious   // of it; nil when nothing is
	engines sync.Pool  // of *engine
}

// NewChecker compiles a schema: of the draft that its $schema names, or else of 2020-12.
// One that is not valid in its draft is repaired first, as it is for providers.
//
// The notes name what the checker does not look at: references to what is not in the
// schema, as nothing is ever loaded, patterns that Go's regular expressions do not have,
// and what is no valid use of a keyword. All the rest is checked.
func NewChecker(schema json.RawMessage) (c *Checker, notes []wording.Note, err error) {
	defer recoverTo(&err)
	root, err := tree.Parse(schema)
	if err != nil {
		return nil, nil, err
	}
	if err := bounded(root); err != nil {
		return nil, nil, fmt.Errorf("the schema is too large: %w", err)
	}
	draft, declared := vocabulary.DraftOf(root)
	if uri := root.Get("$schema"); uri != nil && !declared {
		notes = append(notes, wording.Note{Path: "/$schema", Rule: ruleUnchecked, Text: fmt.Sprintf("unknown draft %s, taken as 2020-12", uri.Short())})
	}
	r := rewrite.Of(root, "the check")
	wrong := Violations(root, draft)
	if wrong != nil {
		rewrite.UpgradeDraft(r)
		draft = vocabulary.LatestDraft
	}
	rewrite.FoldNullable(r)
	if r.Err != nil {
		return nil, nil, r.Err
	}
	g, err := newGuard(r.Root, draft)
	if err != nil {
		return nil, nil, err
	}
	if wrong != nil || len(r.Notes)+len(g.moved) > 0 { // it is not what it was
		wrong = Violations(g.root, draft)
	}
	if err := g.settle(wrong); err != nil {
		return nil, nil, err
	}
	c = &Checker{schema: g.root, draft: draft, obvious: newObvious(g.root)}
	e, err := newEngine(c.schema, c.draft)
	if err != nil {
		return nil, nil, err
	}
	c.engines.Put(e)
	return c, append(notes, g.notes...), nil
}

// Check says what is wrong with a value: nil, or a *CheckError.
func (c *Checker) Check(instance json.RawMessage) error {
	n, err := tree.Parse(instance)
	if err != nil {
		return notJSON("", err)
	}
	return newCheckError("", c.failures(n), nil)
}

// Structured says what is wrong with structured content; nil and null are missing.
func (c *Checker) Structured(structured json.RawMessage) error {
	const subject = "invalid structured content"
	if structured == nil || string(structured) == "null" {
		return &Error{Subject: subject, Faults: []wording.Note{{Rule: "required", Text: "there is none, and the tool has an output schema"}}}
	}
	n, err := tree.Parse(structured)
	if err != nil {
		return notJSON(subject, err)
	}
	return newCheckError(subject, c.failures(n), nil)
}

// failures are what a value does not meet, as it is told.
func (c *Checker) failures(n *tree.Node) []*failure { return condense(c.details(n)) }

// details are the failures with all that is wrong in each alternative.
func (c *Checker) details(n *tree.Node) (all []*failure) {
	if all = outOfBounds(n); all != nil || c.obvious.accepts(n) {
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
	r := report{instance: n, schema: c.schema}
	return r.failures(invalid)
}

// maxValues bounds the values in one that is checked.
const maxValues = 100_000

// outOfBounds are what keeps a value from being checked at all.
func outOfBounds(n *tree.Node) []*failure {
	if count, _ := n.Size(); count > maxValues {
		return []*failure{{value: n, keyword: "size", message: fmt.Sprintf("too large to be checked: more than %d values", maxValues)}}
	}
	if !hasUncountable(n) {
		return nil
	}
	var all []*failure
	var visit func(n *tree.Node, tokens []string)
	visit = func(n *tree.Node, tokens []string) {
		if err := tree.BoundNumber(n.Raw); n.Is(tree.Number) && err != nil {
			all = append(all, &failure{tokens: slices.Clone(tokens), at: n.Start, value: n, keyword: "number", message: fmt.Sprintf("%v, got %s", err, n.Short())})
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

// hasUncountable reports whether there is a number that is not computed with.
func hasUncountable(n *tree.Node) bool {
	return n.Is(tree.Number) && tree.BoundNumber(n.Raw) != nil ||
		slices.ContainsFunc(n.Members, func(m tree.Member) bool { return hasUncountable(m.Value) }) ||
		slices.ContainsFunc(n.Items, hasUncountable)
}

// A Error is all that is wrong with a value, in words that a model can act on. What
// a model sent is answered with a Result that has failed, not with an Error: see TextResult.
type Error struct {
	Subject string         // what the value is: "invalid arguments for tool get_weather"; "" when that is not known
	Faults  []wording.Note // in the order of the value; Path is in the value, Rule is a keyword of JSON Schema
	More    int            // faults that are not listed
}

// How much a CheckError says.
const (
	maxFaults     = 20
	maxFaultsText = 2000 // bytes
)

// newCheckError tells failures; nil when there are none. keys are the names that the
// reader knows.
func newCheckError(subject string, failures []*failure, keys *rewrite.KeyMap) error {
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

// recoverTo is the last belt around code that is not ours: jsonschema/v5 panics on input
// that it does not expect.
func recoverTo(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the schema cannot be used: %v", r)
	}
}
