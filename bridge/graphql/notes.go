package graphql

import (
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// The rules of a tool's notes.
const (
	ruleVariable = "variable" // a variable is not a property, only optional, or unused
	ruleType     = "type"     // the property's type is not the variable's
	ruleUnused   = "unused"   // no request ever contains the property
)

// notes lists what is legal in a definition and probably a mistake.
func (t *tool) notes(definition toolformat.Tool) []toolformat.Note {
	n := native.NewNotes(definition)
	declared := map[string]bool{}
	for _, v := range t.op.variables {
		declared[v.name] = true
		schema, known := n.Properties[v.name]
		kind, _ := wire.Text(wire.Lookup(schema, "type"))
		switch {
		case !known:
			effect := "it is omitted from every request"
			if v.required() {
				effect = "every call fails without it"
			}
			n.Add("/graphql", ruleVariable, "the variable $%s: %s is not a property%s; %s", v.name, &v.typ, native.Suggest("%s", v.name, n.Properties), effect)
		case v.required() && n.IsOptional(v.name):
			n.AddProperty(v.name, ruleVariable, "%s is not required, but the variable $%s: %s is: a call without it fails", v.name, v.name, &v.typ)
		case !v.typ.accepts(kind):
			n.AddProperty(v.name, ruleType, "%s is of type %s, but the variable is $%s: %s: a call fails unless its value can be converted", v.name, kind, v.name, &v.typ)
		}
		if t.unused[v.name] {
			n.Add("/graphql", ruleVariable, "the operation declares the variable $%s and does not use it: a server may refuse the query", v.name)
		}
	}
	for _, name := range n.Names() {
		if !declared[name] {
			n.AddProperty(name, ruleUnused, "%s is not a variable of the operation and is never sent%s", name, native.Suggest("$%s", name, declared))
		}
	}
	return n.All
}

// accepts reports whether values of a JSON Schema type are values of t or become such. "" stands
// for any type, and a type that GraphQL does not define accepts all.
func (t *typeRef) accepts(kind string) bool {
	for t.item != nil { // a single value becomes a list
		if kind == "array" {
			return true
		}
		t = t.item
	}
	kinds, builtin := map[string]string{
		"Int": "integer number", "Float": "integer number", "String": "string integer number boolean", "ID": "string integer number", "Boolean": "boolean",
	}[t.name]
	return !builtin || kind == "" || slices.Contains(strings.Fields(kinds), kind)
}
