package rewrite

import (
	"fmt"
	"strconv"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
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
	Notes []tree.Note
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
	count, depth := tree.Measure(root)
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
	r.Notes = append(r.Notes, tree.Note{Path: at.String(), Rule: r.rule, Text: fmt.Sprintf(format, args...)})
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

func (e *Error) Error() string { return tree.Note{Path: e.At.String(), Text: e.Text}.String() }

// spend takes the nodes of a copy from the budget; false when they are not there.
func (r *Schema) spend(n *tree.Node) bool {
	count, _ := tree.Measure(n)
	if count > r.spare {
		return false
	}
	r.spare -= count
	return true
}

// each visits every schema of the root, parents before children. What visit puts in
// the place of children is visited too. Boolean schemas are visited; what is not a
// schema at all is not.
func (r *Schema) each(visit func(s *tree.Node, at *tree.Path)) { EachSchema(r.Root, r.base, visit) }

func EachSchema(s *tree.Node, at *tree.Path, visit func(s *tree.Node, at *tree.Path)) {
	visit(s, at)
	EachChild(s, at, func(child *tree.Node, at *tree.Path) { EachSchema(child, at, visit) })
}

// EachChild visits the schemas right below one, in the order of its keywords.
func EachChild(s *tree.Node, at *tree.Path, visit func(child *tree.Node, at *tree.Path)) {
	child := func(c *tree.Node, at *tree.Path) {
		if c.Is(tree.Object) || c.Is(tree.Bool) {
			visit(c, at)
		}
	}
	for i := 0; i < len(s.Members); i++ {
		m := s.Members[i]
		switch below := Keywords[m.Key]; {
		case below == ManySchemas && m.Value.Is(tree.Object):
			for j := 0; j < len(m.Value.Members); j++ {
				child(m.Value.Members[j].Value, at.At(m.Key).At(m.Value.Members[j].Key))
			}
		case (below == ListOfSchemas || below == OneOrList) && m.Value.Is(tree.Array):
			for j := 0; j < len(m.Value.Items); j++ {
				child(m.Value.Items[j], at.At(m.Key).At(strconv.Itoa(j)))
			}
		case below == oneSchema || below == OneOrList:
			child(m.Value, at.At(m.Key))
		}
	}
}

// below says which schemas stand below a keyword.
type below uint8

const (
	NoSchema      below = iota
	oneSchema           // its value is one
	ListOfSchemas       // an array of them
	ManySchemas         // an object whose members are
	OneOrList           // one, or an array of them (items before 2020-12)
)

// Keywords are those of JSON Schema with schemas below them, of every draft since 04.
var Keywords = map[string]below{
	"additionalItems":       oneSchema,
	"additionalProperties":  oneSchema,
	"contains":              oneSchema,
	"contentSchema":         oneSchema,
	"else":                  oneSchema,
	"if":                    oneSchema,
	"items":                 OneOrList,
	"not":                   oneSchema,
	"propertyNames":         oneSchema,
	"then":                  oneSchema,
	"unevaluatedItems":      oneSchema,
	"unevaluatedProperties": oneSchema,
	"allOf":                 ListOfSchemas,
	"anyOf":                 ListOfSchemas,
	"oneOf":                 ListOfSchemas,
	"prefixItems":           ListOfSchemas,
	"$defs":                 ManySchemas,
	"definitions":           ManySchemas,
	"dependencies":          ManySchemas, // draft-07: or an array of names, which is no schema and is not visited
	"dependentSchemas":      ManySchemas,
	"patternProperties":     ManySchemas,
	"properties":            ManySchemas,
}

// InPlace reports whether a keyword applies schemas to the very value of its own.
func InPlace(keyword string) bool {
	switch keyword {
	case "$ref", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependencies", "dependentSchemas":
		return true
	}
	return false
}
