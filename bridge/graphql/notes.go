package graphql

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// The rules of a tool's notes.
const (
	ruleVariable = "variable" // it is no property, one that a call need not have, or has no place in the operation
	ruleType     = "type"     // the property's type is not the variable's
	ruleUnused   = "unused"   // no request ever holds the property
)

// notes say what is legal in a definition, and most likely not meant.
func (t *tool) notes(definition toolformat.Tool) []toolformat.Note {
	n := native.NewNotes(definition)
	declared := map[string]bool{}
	for _, v := range t.op.variables {
		declared[v.name] = true
		schema, known := n.Properties[v.name]
		switch kind := typeOf(schema); {
		case !known:
			n.Say("/graphql", ruleVariable, "the variable $%s: %s is no property%s%s", v.name, &v.typ, native.Suggest("%s", v.name, n.Properties), v.fate())
		case v.required() && n.MayLack(v.name):
			n.SayOf(v.name, ruleVariable, "%s is not required, and the variable $%s: %s is: a call without it fails", v.name, v.name, &v.typ)
		case !v.typ.fits(kind):
			n.SayOf(v.name, ruleType, "%s is of the type %s, the variable $%s: %s is not: a call fails unless the value can be read as one", v.name, kind, v.name, &v.typ)
		}
		if t.unused[v.name] {
			n.Say("/graphql", ruleVariable, "the variable $%s is declared and has no place in the operation: a server may refuse the query", v.name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
		if !declared[name] {
			n.SayOf(name, ruleUnused, "%s is no variable of the operation and is never sent%s", name, native.Suggest("$%s", name, declared))
		}
	}
	return n.All
}

func (v *variable) fate() string {
	if v.required() {
		return "; each call fails without it"
	}
	return "; it is left out of each request"
}

// typeOf is the type that a property's schema names; "" when that is none, or several.
func typeOf(schema json.RawMessage) string {
	kind, _ := wire.Text(wire.Lookup(schema, "type"))
	return kind
}

// fits reports whether values of a property's type are, or become, values of a
// variable's. What GraphQL does not define may be anything.
func (t *typeRef) fits(kind string) bool {
	for t.item != nil { // one value is a list of it
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
