package graphql

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

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
	var notes []toolformat.Note
	properties := map[string]json.RawMessage{}
	for name, schema := range wire.Members(wire.Lookup(definition.InputSchema, "properties")) {
		properties[name] = schema
	}
	required := map[string]bool{}
	for raw := range wire.Elements(wire.Lookup(definition.InputSchema, "required")) {
		name, _ := wire.Text(raw)
		required[name] = true
	}
	say := func(path, rule, format string, args ...any) {
		notes = append(notes, toolformat.Note{Tool: definition.Name, Path: path, Rule: rule, Text: fmt.Sprintf(format, args...)})
	}
	names := set(slices.Collect(maps.Keys(properties)))
	declared := map[string]bool{}
	for _, v := range t.op.variables {
		declared[v.name] = true
		schema, known := properties[v.name]
		path := "/input_schema/properties/" + v.name
		switch kind := typeOf(schema); {
		case !known:
			say("/graphql", ruleVariable, "the variable $%s: %s is no property%s%s", v.name, &v.typ, nearest("", v.name, names), v.fate())
		case v.required() && !required[v.name] && wire.Lookup(schema, "default") == nil:
			say(path, ruleVariable, "%s is not required, and the variable $%s: %s is: a call without it fails", v.name, v.name, &v.typ)
		case !v.typ.fits(kind):
			say(path, ruleType, "%s is of the type %s, the variable $%s: %s is not: a call fails unless the value can be read as one", v.name, kind, v.name, &v.typ)
		}
		if t.unused[v.name] {
			say("/graphql", ruleVariable, "the variable $%s is declared and has no place in the operation: a server may refuse the query", v.name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if !declared[name] {
			say("/input_schema/properties/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name), ruleUnused,
				"%s is no variable of the operation and is never sent%s", name, nearest("$", name, declared))
		}
	}
	return notes
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

// nearest suggests a name of nearly the same spelling.
func nearest(prefix, name string, names map[string]bool) string {
	best, least := "", 3
	for _, other := range slices.Sorted(maps.Keys(names)) {
		if len(other)-len(name) >= least || len(name)-len(other) >= least {
			continue
		}
		if d := distance(strings.ToLower(name), strings.ToLower(other)); d < least {
			best, least = other, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s%s?)", prefix, clip(best))
}

// distance is how many bytes must be added, left out or replaced to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
