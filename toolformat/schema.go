package toolformat

import (
	"fmt"
	"strconv"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// The bounds of a schema that is rewritten. A hostile server can write a few hundred
// bytes whose references expand to billions of nodes; no honest tool comes near these.
const (
	maxSchemaDepth = 100
	maxSchemaNodes = 100_000
)

// A rewrite takes one schema through the passes of a dialect. Each pass changes root in
// place, notes what it did, and leaves a schema that accepts whatever it accepted
// before (OpenAI's strict mode and renamed keys aside).
type rewrite struct {
	root  *tree.Node
	notes []Note
	keys  *keyMap // properties that have another name than the tool gave them; nil: none
	err   error   // why the schema cannot be expressed; the passes that follow are not run

	dialect string     // whom it is for, as notes call it: "OpenAI"
	base    *tree.Path // where the schema stands in the definition
	rule    string     // of the pass that runs
	spare   int        // nodes that may still be added
}

// A pass is one step of a dialect.
type pass struct {
	rule string // its name in notes: one word, stable
	run  func(*rewrite)
}

// newRewrite reads a schema to be rewritten. The error says what is wrong with it.
func newRewrite(schema []byte, base *tree.Path, dialect string) (*rewrite, error) {
	root, err := tree.Parse(schema)
	if err != nil {
		return nil, err
	}
	r := &rewrite{root: root, base: base, dialect: dialect}
	count, depth := tree.Measure(root)
	switch {
	case depth > maxSchemaDepth:
		return nil, &schemaError{base, fmt.Sprintf("nested deeper than %d levels", maxSchemaDepth)}
	case count > maxSchemaNodes:
		return nil, &schemaError{base, fmt.Sprintf("more than %d values", maxSchemaNodes)}
	}
	r.spare = maxSchemaNodes - count
	return r, nil
}

// rewriteOf rewrites a schema that is known to be within the bounds.
func rewriteOf(root *tree.Node, dialect string) *rewrite {
	return &rewrite{root: root, dialect: dialect, spare: maxSchemaNodes}
}

// through runs passes in order until one finds that the schema cannot be expressed.
func (r *rewrite) through(passes []pass) error {
	for _, p := range passes {
		r.rule = p.rule
		if p.run(r); r.err != nil {
			return r.err
		}
	}
	return nil
}

// note says what the pass did at a place.
func (r *rewrite) note(at *tree.Path, format string, args ...any) {
	r.notes = append(r.notes, Note{Path: at.String(), Rule: r.rule, Text: fmt.Sprintf(format, args...)})
}

// fail says why the schema cannot be expressed.
func (r *rewrite) fail(at *tree.Path, format string, args ...any) {
	if r.err == nil {
		r.err = &schemaError{at, fmt.Sprintf(format, args...)}
	}
}

// A schemaError says why a schema cannot be expressed.
type schemaError struct {
	at   *tree.Path
	text string
}

func (e *schemaError) Error() string { return Note{Path: e.at.String(), Text: e.text}.String() }

// spend takes the nodes of a copy from the budget; false when they are not there.
func (r *rewrite) spend(n *tree.Node) bool {
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
func (r *rewrite) each(visit func(s *tree.Node, at *tree.Path)) { eachSchema(r.root, r.base, visit) }

func eachSchema(s *tree.Node, at *tree.Path, visit func(s *tree.Node, at *tree.Path)) {
	visit(s, at)
	eachChild(s, at, func(child *tree.Node, at *tree.Path) { eachSchema(child, at, visit) })
}

// eachChild visits the schemas right below one, in the order of its keywords.
func eachChild(s *tree.Node, at *tree.Path, visit func(child *tree.Node, at *tree.Path)) {
	child := func(c *tree.Node, at *tree.Path) {
		if c.Is(tree.Object) || c.Is(tree.Bool) {
			visit(c, at)
		}
	}
	for i := 0; i < len(s.Members); i++ {
		m := s.Members[i]
		switch below := keywords[m.Key]; {
		case below == manySchemas && m.Value.Is(tree.Object):
			for j := 0; j < len(m.Value.Members); j++ {
				child(m.Value.Members[j].Value, at.At(m.Key).At(m.Value.Members[j].Key))
			}
		case (below == listOfSchemas || below == oneOrList) && m.Value.Is(tree.Array):
			for j := 0; j < len(m.Value.Items); j++ {
				child(m.Value.Items[j], at.At(m.Key).At(strconv.Itoa(j)))
			}
		case below == oneSchema || below == oneOrList:
			child(m.Value, at.At(m.Key))
		}
	}
}

// below says which schemas stand below a keyword.
type below uint8

const (
	noSchema      below = iota
	oneSchema           // its value is one
	listOfSchemas       // an array of them
	manySchemas         // an object whose members are
	oneOrList           // one, or an array of them (items before 2020-12)
)

// keywords are those of JSON Schema with schemas below them, of every draft since 04.
var keywords = map[string]below{
	"additionalItems":       oneSchema,
	"additionalProperties":  oneSchema,
	"contains":              oneSchema,
	"contentSchema":         oneSchema,
	"else":                  oneSchema,
	"if":                    oneSchema,
	"items":                 oneOrList,
	"not":                   oneSchema,
	"propertyNames":         oneSchema,
	"then":                  oneSchema,
	"unevaluatedItems":      oneSchema,
	"unevaluatedProperties": oneSchema,
	"allOf":                 listOfSchemas,
	"anyOf":                 listOfSchemas,
	"oneOf":                 listOfSchemas,
	"prefixItems":           listOfSchemas,
	"$defs":                 manySchemas,
	"definitions":           manySchemas,
	"dependencies":          manySchemas, // draft-07: or an array of names, which is no schema and is not visited
	"dependentSchemas":      manySchemas,
	"patternProperties":     manySchemas,
	"properties":            manySchemas,
}

// inPlace reports whether a keyword applies schemas to the very value of its own.
func inPlace(keyword string) bool {
	switch keyword {
	case "$ref", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependencies", "dependentSchemas":
		return true
	}
	return false
}
