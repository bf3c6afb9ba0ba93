package toolformat

import (
	"fmt"
	"slices"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/check"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
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
	dialect:   rewrite.Dialect{Name: "the internal format", Opening: []rewrite.Pass{{Rule: "draft", Run: upgradeInvalid}}, Root: []rewrite.Pass{{Rule: "root", Run: rewrite.ObjectRoot}}},
}

var (
	internalNames   = nameRule{first: letters + digits + "_", rest: letters + digits + "_", pattern: "[a-zA-Z0-9_]+"}
	internalMembers = []string{"name", "description", "input_schema", "output_schema"}
)

// matchInternal: an Anthropic definition looks the same, so that only an output schema,
// or keeping every rule of the format, tells.
func matchInternal(def *tree.Node) match {
	switch {
	case !def.Has("input_schema"):
		return noMatch
	case def.Has("output_schema"), len(shapeViolations(def)) == 0:
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
func upgradeInvalid(r *rewrite.Schema) {
	if draft, _ := vocabulary.DraftOf(r.Root); !check.IsValid(r.Root, draft) {
		rewrite.UpgradeDraft(r)
	}
}

// strictDefinition finds all that keeps a definition from being one of the internal
// format.
func strictDefinition(def *tree.Node) []Note {
	notes := shapeViolations(def)
	for _, key := range []string{"input_schema", "output_schema"} {
		if schema := def.Get(key); schema.Is(tree.Object) {
			notes = append(notes, check.CheckSchema(schema.JSON(), tree.At(key))...)
		}
	}
	return notes
}

// shapeViolations are those of strictDefinition that need no look into the schemas.
func shapeViolations(def *tree.Node) []Note {
	var notes []Note
	wrong := func(at *tree.Path, format string, args ...any) {
		notes = append(notes, Note{Path: at.String(), Rule: ruleInvalid, Text: fmt.Sprintf(format, args...)})
	}
	top := func(key string) *tree.Path { return tree.At(key) }
	for _, m := range def.Members {
		if !slices.Contains(internalMembers, m.Key) {
			wrong(top(m.Key), "unknown member (the internal format has name, description, input_schema and output_schema, and no other)")
		}
	}
	if name := def.Get("name"); !name.Is(tree.Text) || !internalNames.takes(name.Text()) {
		wrong(top("name"), "expected a name of %s, got %s", internalNames.pattern, seen(name))
	}
	if description := def.Get("description"); description.Text() == "" {
		wrong(top("description"), "expected a text that says what the tool does, got %s", seen(description))
	}
	switch input := def.Get("input_schema"); {
	case !input.Is(tree.Object):
		wrong(top("input_schema"), "expected a JSON Schema, an object, got %s", seen(input))
	default:
		if kind := input.Get("type"); kind.Text() != "object" {
			wrong(top("input_schema").At("type"), "expected \"object\", got %s", seen(kind))
		}
		if properties := input.Get("properties"); properties == nil {
			wrong(top("input_schema").At("properties"), "expected an object, got nothing")
		}
	}
	if output := def.Get("output_schema"); output != nil && output.Kind != tree.Null && output.Kind != tree.Object {
		wrong(top("output_schema"), "expected a JSON Schema, an object, got %s", seen(output))
	}
	return notes
}

// seen is what stands at a place, for an error.
func seen(n *tree.Node) string {
	if n == nil {
		return "nothing"
	}
	return n.Short()
}
