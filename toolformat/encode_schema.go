package toolformat

import (
	"encoding/json"
	"errors"
	"fmt"
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
		r, err := c.schema("input_schema", c.Tool.InputSchema, []rewrite.Pass{{Rule: ruleContext, Run: rewrite.Hide(c.hidden)}})
		if err != nil {
			return c.failSchema("input_schema", err)
		}
		c.addNotes(r)
		c.Tool.InputSchema = r.bytes
	}
	r, err := c.schema("input_schema", c.Tool.InputSchema, c.dialect.Input())
	if err != nil {
		return c.failSchema("input_schema", err)
	}
	c.addNotes(r)
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
	r, err := c.schema("output_schema", c.Tool.OutputSchema, c.dialect.Output())
	if err == nil {
		c.addNotes(r)
		d.output = r.bytes
		return
	}
	c.failSchema("output_schema", err)
	for _, n := range c.violations {
		c.note(n.Path, ruleOutput, "\"output_schema\" left out, since it cannot be converted: %s", n.Text)
	}
	c.violations = nil
}

// isMissing reports whether a tool has no schema; null means none.
func isMissing(schema json.RawMessage) bool { return len(schema) == 0 || string(schema) == "null" }

// addNotes adds the notes of a rewritten schema.
func (c *conversion) addNotes(r *rewritten) {
	for _, n := range r.Notes {
		n.Tool = c.source.Name
		c.Notes = append(c.Notes, n)
	}
}

// failSchema adds why a schema cannot be converted, and returns false.
func (c *conversion) failSchema(member string, err error) bool {
	at := tree.At(member).String()
	var violations invalidSchema
	var wrong *rewrite.Error
	var syntax *tree.SyntaxError
	switch {
	case errors.As(err, &violations):
		for _, n := range violations {
			c.fail(n.Path, "%s", n.Text)
		}
	case errors.As(err, &wrong):
		c.fail(wrong.At.String(), "%s", wrong.Text)
	case errors.As(err, &syntax):
		c.fail(at, "not JSON: %v", err)
	default:
		c.fail(at, "%v", err)
	}
	return false
}

// draftRule is the rule of the pass after which a schema is of 2020-12, and can be validated.
const draftRule = "draft"

// invalidSchema is the error for a schema that violates the meta-schema.
type invalidSchema []Note

func (v invalidSchema) Error() string { return fmt.Sprintf("%d violations of JSON Schema", len(v)) }

// rewritten is a schema after the passes.
type rewritten struct {
	*rewrite.Schema
	bytes json.RawMessage
}

// schema takes a schema through passes. One that they do not change keeps its bytes.
func (c *conversion) schema(member string, raw json.RawMessage, passes []rewrite.Pass) (*rewritten, error) {
	at := tree.At(member)
	r, err := rewrite.New(raw, at, c.dialect.Name)
	if err != nil {
		return nil, err
	}
	if !r.Root.Is(tree.Object) && !r.Root.Is(tree.Bool) {
		return nil, &rewrite.Error{At: at, Text: "expected a JSON Schema, an object, got " + r.Root.Kind.String()}
	}
	before := r.Root.JSON()
	for i := range passes {
		if err := r.Apply(passes[i : i+1]); err != nil {
			return nil, err
		}
		if c.to.needsValidSchema && passes[i].Rule == draftRule {
			if violations := check.CheckSchema(r.Root.JSON(), at); len(violations) > 0 {
				return nil, invalidSchema(violations)
			}
		}
	}
	after := r.Root.JSON()
	if string(after) == string(before) {
		after = compact(raw)
	}
	return &rewritten{r, after}, nil
}
