package toolformat

import (
	"fmt"
	"slices"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/check"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// internalFormat is the project's own: AbstractLLM's tool model, "name, description, input_schema,
// output_schema" and nothing else (its general-tool-call-model.md, section 2, and ToolDefinition with
// extra = "forbid"). Its name rule is [a-zA-Z0-9_]+ without a limit, the description is required, and
// the schema of the arguments has type "object" and properties (types.py refuses it without).
var internalFormat = format{
	name:             FormatInternal,
	match:            matchInternal,
	input:            []string{"input_schema"},
	output:           []string{"output_schema"},
	names:            internalNames,
	exact:            true,
	needsDescription: true,
	needsValidSchema: true,
	dialect: rewrite.Dialect{
		Name:    "the internal format",
		Opening: []rewrite.Pass{{Rule: draftRule, Run: upgradeInvalid}},
		Root:    []rewrite.Pass{{Rule: "root", Run: rewrite.ObjectRoot}},
	},
}

var (
	internalNames   = nameRule{first: letters + digits + "_", rest: letters + digits + "_", pattern: "[a-zA-Z0-9_]+"}
	internalMembers = []string{"name", "description", "input_schema", "output_schema"}
)

// matchInternal: an Anthropic definition looks the same, so that only an output schema, or following
// every rule of the format, tells.
func matchInternal(def *tree.Node) match {
	switch {
	case !def.Has("input_schema"):
		return noMatch
	case def.Has("output_schema"), len(shapeViolations(def)) == 0:
		return isMatch
	}
	return mayMatch
}

// upgradeInvalid keeps a valid schema of any draft, since the format allows each, and upgrades one
// that is of another draft than it declares: draft-04's "exclusiveMinimum": true is invalid where no
// $schema makes it 2020-12.
func upgradeInvalid(r *rewrite.Schema) {
	if draft, _ := vocabulary.DraftOf(r.Root); !check.IsValid(r.Root, draft) {
		rewrite.UpgradeDraft(r)
	}
}

// internalViolations returns what keeps a definition from being one of the internal format.
func internalViolations(def *tree.Node) []Note {
	notes := shapeViolations(def)
	for _, key := range []string{"input_schema", "output_schema"} {
		if schema := def.Get(key); schema.Is(tree.Object) {
			notes = append(notes, check.CheckSchema(schema.JSON(), tree.At(key))...)
		}
	}
	return notes
}

// shapeViolations returns the violations that show without a check of the schemas.
func shapeViolations(def *tree.Node) []Note {
	var notes []Note
	wrong := func(at *tree.Path, format string, args ...any) {
		notes = append(notes, Note{Path: at.String(), Rule: ruleInvalid, Text: fmt.Sprintf(format, args...)})
	}
	for _, m := range def.Members {
		if !slices.Contains(internalMembers, m.Key) {
			wrong(tree.At(m.Key), "unknown member (the internal format has only name, description, input_schema and output_schema)")
		}
	}
	if name := def.Get("name"); !name.Is(tree.Text) || !internalNames.allows(name.Text()) {
		wrong(tree.At("name"), "expected a name matching %s, got %s", internalNames.pattern, name.Short())
	}
	if description := def.Get("description"); description.Text() == "" {
		wrong(tree.At("description"), "expected a description of the tool, got %s", description.Short())
	}
	input, at := def.Get("input_schema"), tree.At("input_schema")
	if !input.Is(tree.Object) {
		wrong(at, "expected a JSON Schema, an object, got %s", input.Short())
	} else {
		if kind := input.Get("type"); kind.Text() != "object" {
			wrong(at.At("type"), `expected "object", got %s`, kind.Short())
		}
		if input.Get("properties") == nil {
			wrong(at.At("properties"), "expected an object, got nothing")
		}
	}
	if output := def.Get("output_schema"); def.Has("output_schema") && !output.Is(tree.Object) {
		wrong(tree.At("output_schema"), "expected a JSON Schema, an object, got %s", output.Short())
	}
	return notes
}
