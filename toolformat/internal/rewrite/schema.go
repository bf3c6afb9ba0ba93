package rewrite

import (
	"fmt"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// The bounds of a schema that is rewritten. A hostile server can write a few hundred
// bytes whose references expand to billions of nodes; no honest tool comes near these.
const (
	MaxDepth = 100
	MaxNodes = 100_000
)

// A Schema takes one schema through the passes of a dialect. Each pass changes root in
// place, notes what it did, and leaves a schema that accepts whatever it accepted
// before (OpenAI's strict mode and renamed keys aside).
type Schema struct {
	Root  *tree.Node
	Notes []wording.Note
	Keys  *KeyMap // properties that have another name than the tool gave them; nil: none
	Err   error   // why the schema cannot be expressed; the passes that follow are not run

	dialect string     // whom it is for, as notes call it: "OpenAI"
	base    *tree.Path // where the schema stands in the definition
	rule    string     // of the pass that runs
	spare   int        // nodes that may still be added
}

// A Pass is one step of a dialect.
type Pass struct {
	Rule string // its name in notes: one word, stable
	Run  func(*Schema)
}

// New reads a schema to be rewritten. The error says what is wrong with it.
func New(schema []byte, base *tree.Path, dialect string) (*Schema, error) {
	root, err := tree.Parse(schema)
	if err != nil {
		return nil, err
	}
	r := &Schema{Root: root, base: base, dialect: dialect}
	count, depth := root.Size()
	switch {
	case depth > MaxDepth:
		return nil, &Error{base, fmt.Sprintf("nested deeper than %d levels", MaxDepth)}
	case count > MaxNodes:
		return nil, &Error{base, fmt.Sprintf("more than %d values", MaxNodes)}
	}
	r.spare = MaxNodes - count
	return r, nil
}

// Of rewrites a schema that is known to be within the bounds.
func Of(root *tree.Node, dialect string) *Schema {
	return &Schema{Root: root, dialect: dialect, spare: MaxNodes}
}

// Apply runs passes in order until one finds that the schema cannot be expressed.
func (r *Schema) Apply(passes []Pass) error {
	for _, p := range passes {
		r.rule = p.Rule
		if p.Run(r); r.Err != nil {
			return r.Err
		}
	}
	return nil
}

// note says what the pass did at a place.
func (r *Schema) note(at *tree.Path, format string, args ...any) {
	r.Notes = append(r.Notes, wording.Note{Path: at.String(), Rule: r.rule, Text: fmt.Sprintf(format, args...)})
}

// fail says why the schema cannot be expressed.
func (r *Schema) fail(at *tree.Path, format string, args ...any) {
	if r.Err == nil {
		r.Err = &Error{at, fmt.Sprintf(format, args...)}
	}
}

// A Error says why a schema cannot be expressed.
type Error struct {
	At   *tree.Path
	Text string
}

func (e *Error) Error() string { return wording.Note{Path: e.At.String(), Text: e.Text}.String() }

// spend takes the nodes of a copy from the budget; false when they are not there.
func (r *Schema) spend(n *tree.Node) bool {
	count, _ := n.Size()
	if count > r.spare {
		return false
	}
	r.spare -= count
	return true
}

// each visits every schema of the root, parents before children. What visit puts in
// the place of children is visited too. Boolean schemas are visited; what is not a
// schema at all is not.
func (r *Schema) each(visit func(s *tree.Node, at *tree.Path)) {
	vocabulary.EachSchema(r.Root, r.base, visit)
}
