package toolformat

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/check"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// noArguments is the schema of a tool without arguments.
const noArguments = `{"type":"object","properties":{}}`

// input converts the schema of the arguments; false means that the format cannot express it.
func (c *conversion) input(d *definition) bool {
	if isMissing(c.Tool.InputSchema) {
		c.Tool.InputSchema = json.RawMessage(noArguments)
		c.note("/input_schema", ruleNoSchema, "no input schema: treated as a tool without arguments")
	}
	if len(c.hidden) > 0 {
		r := c.schema("input_schema", c.Tool.InputSchema, []rewrite.Pass{{Rule: ruleContext, Run: rewrite.Hide(c.hidden)}})
		if r == nil {
			return false
		}
		c.Tool.InputSchema = r.bytes
	}
	r := c.schema("input_schema", c.Tool.InputSchema, c.dialect.Input())
	if r == nil {
		return false
	}
	c.keys, d.input = r.Keys, r.bytes
	if about := r.Root.Get("description"); c.to.noRootDescription && about.Is(tree.Text) {
		r.Root.Remove("description")
		d.input = r.Root.JSON()
		d.description = strings.TrimSpace(d.description + "\n\n" + about.Text())
		c.note("/input_schema/description", ruleDescription, "moved to the description of the tool: %s reads none at the root of a schema", c.to.name)
	}
	return true
}

// output converts the schema of the result. A tool is not left out if that fails: the schema restricts
// nothing that a model sends.
func (c *conversion) output(d *definition) {
	switch {
	case isMissing(c.Tool.OutputSchema):
		return
	case c.to.output == nil:
		c.note("/output_schema", ruleLeftOut, "%q left out: %s has no place for it", "output_schema", c.to.name)
		return
	}
	if r := c.schema("output_schema", c.Tool.OutputSchema, c.dialect.Output()); r != nil {
		d.output = r.bytes
	}
	for _, n := range c.violations {
		c.note(n.Path, ruleOutput, "\"output_schema\" left out, since it cannot be converted: %s", n.Text)
	}
	c.violations = nil
}

// isMissing reports whether a tool has no schema; null means none.
func isMissing(schema json.RawMessage) bool { return len(schema) == 0 || string(schema) == "null" }

// draftRule is the rule of the pass after which a schema is of 2020-12, and can be validated.
const draftRule = "draft"

// rewritten is a schema after the passes.
type rewritten struct {
	*rewrite.Schema
	bytes json.RawMessage
}

// schema takes a schema through passes, and adds their notes. One that they do not change keeps its
// bytes. It returns nil, and adds the violations, if the format cannot express the schema.
func (c *conversion) schema(member string, raw json.RawMessage, passes []rewrite.Pass) *rewritten {
	at := tree.At(member)
	r, err := rewrite.New(raw, at, c.dialect.Name)
	if err == nil && !r.Root.Is(tree.Object) && !r.Root.Is(tree.Bool) {
		err = &rewrite.Error{At: at, Text: "expected a JSON Schema, an object, got " + r.Root.Kind.String()}
	}
	if err != nil {
		return c.failSchema(at, err)
	}
	before := r.Root.JSON()
	for i := range passes {
		if err := r.Apply(passes[i : i+1]); err != nil {
			return c.failSchema(at, err)
		}
		if c.to.needsValidSchema && passes[i].Rule == draftRule {
			for _, n := range check.CheckSchema(r.Root.JSON(), at) {
				c.fail(n.Path, "%s", n.Text)
			}
			if c.violations != nil {
				return nil
			}
		}
	}
	after := r.Root.JSON()
	if string(after) == string(before) {
		after = compact(raw)
	}
	for _, n := range r.Notes {
		n.Tool = c.source.Name
		c.Notes = append(c.Notes, n)
	}
	return &rewritten{r, after}
}

// failSchema adds why the schema at a place cannot be converted, and returns nil.
func (c *conversion) failSchema(at *tree.Path, err error) *rewritten {
	var wrong *rewrite.Error
	if errors.As(err, &wrong) {
		c.fail(wrong.At.String(), "%s", wrong.Text)
	} else {
		c.fail(at.String(), "not JSON: %v", err)
	}
	return nil
}
