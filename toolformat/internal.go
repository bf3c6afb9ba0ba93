package toolformat

import (
	"fmt"
	"slices"
)

// internalFormat is the project's own: AbstractLLM's tool model, "name, description,
// input_schema, output_schema" and nothing else (its general-tool-call-model.md, section
// 2, and ToolDefinition with extra = "forbid"). Its name rule is [a-zA-Z0-9_]+ without
// a limit, the description is required, and the schema of the arguments has
// type "object" and properties (types.py refuses it without).
var internalFormat = format{
	name:      FormatInternal,
	match:     matchInternal,
	write:     writeInternal,
	input:     []string{"input_schema"},
	output:    []string{"output_schema"},
	open:      "[",
	shut:      "]",
	names:     internalNames,
	closed:    true,
	described: true,
	checked:   true,
	dialect:   dialect{name: "the internal format", opening: []pass{{"draft", upgradeInvalid}}, root: []pass{{"root", objectRoot}}},
}

var (
	internalNames   = nameRule{first: letters + digits + "_", rest: letters + digits + "_", pattern: "[a-zA-Z0-9_]+"}
	internalMembers = []string{"name", "description", "input_schema", "output_schema"}
)

// matchInternal: an Anthropic definition looks the same, so that only an output schema,
// or keeping every rule of the format, tells.
func matchInternal(def *node) match {
	switch {
	case !def.has("input_schema"):
		return noMatch
	case def.has("output_schema"), len(shapeViolations(def)) == 0:
		return isMatch
	}
	return mayMatch
}

func writeInternal(d *definition) fields {
	return fields{
		{key: "name", val: text(d.name)},
		{key: "description", val: text(d.description)},
		{key: "input_schema", val: d.input},
		{key: "output_schema", val: d.output},
	}
}

// upgradeInvalid leaves a valid schema of any draft as it is, for the format allows each
// one, and upgrades what is of a draft that it does not name: draft-04's
// "exclusiveMinimum": true is invalid where no $schema makes it 2020-12.
func upgradeInvalid(r *rewrite) {
	if draft, _ := draftOf(r.root); violations(r.root, draft) != nil {
		upgradeDraft(r)
	}
}

// strictDefinition finds all that keeps a definition from being one of the internal
// format.
func strictDefinition(def *node) []Note {
	notes := shapeViolations(def)
	for _, key := range []string{"input_schema", "output_schema"} {
		if schema := def.get(key); schema.is(objectNode) {
			notes = append(notes, checkSchema(schema.json(), (*path)(nil).at(key))...)
		}
	}
	return notes
}

// shapeViolations are those of strictDefinition that need no look into the schemas.
func shapeViolations(def *node) []Note {
	var notes []Note
	wrong := func(at *path, format string, args ...any) {
		notes = append(notes, Note{Path: at.String(), Rule: ruleInvalid, Text: fmt.Sprintf(format, args...)})
	}
	top := func(key string) *path { return (*path)(nil).at(key) }
	for _, m := range def.members {
		if !slices.Contains(internalMembers, m.key) {
			wrong(top(m.key), "unknown member (the internal format has name, description, input_schema and output_schema, and no other)")
		}
	}
	if name := def.get("name"); !name.is(textNode) || !internalNames.takes(name.text()) {
		wrong(top("name"), "expected a name of %s, got %s", internalNames.pattern, seen(name))
	}
	if description := def.get("description"); description.text() == "" {
		wrong(top("description"), "expected a text that says what the tool does, got %s", seen(description))
	}
	switch input := def.get("input_schema"); {
	case !input.is(objectNode):
		wrong(top("input_schema"), "expected a JSON Schema, an object, got %s", seen(input))
	default:
		if kind := input.get("type"); kind.text() != "object" {
			wrong(top("input_schema").at("type"), "expected \"object\", got %s", seen(kind))
		}
		if properties := input.get("properties"); properties == nil {
			wrong(top("input_schema").at("properties"), "expected an object, got nothing")
		}
	}
	if output := def.get("output_schema"); output != nil && output.kind != nullNode && output.kind != objectNode {
		wrong(top("output_schema"), "expected a JSON Schema, an object, got %s", seen(output))
	}
	return notes
}

// seen is what stands at a place, for an error.
func seen(n *node) string {
	if n == nil {
		return "nothing"
	}
	return n.short()
}
