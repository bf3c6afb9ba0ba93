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

// noArguments is the schema of a tool that says nothing of its arguments.
const noArguments = `{"type":"object","properties":{}}`

// input converts the schema of the arguments; false: the format cannot express it.
func (c *conversion) input(d *definition) bool {
	if isMissing(c.Tool.InputSchema) {
		c.Tool.InputSchema = json.RawMessage(noArguments)
		c.note("/input_schema", ruleNoSchema, "there is none: the tool is taken for one without arguments")
	}
	if len(c.hidden) > 0 {
		r, err := c.schema("input_schema", c.Tool.InputSchema, []rewrite.Pass{{Rule: ruleContext, Run: rewrite.Hide(c.hidden)}})
		if err != nil {
			return c.refuse("input_schema", err)
		}
		c.keep(r)
		c.Tool.InputSchema = r.bytes
	}
	r, err := c.schema("input_schema", c.Tool.InputSchema, c.dialect.Input())
	if err != nil {
		return c.refuse("input_schema", err)
	}
	c.keep(r)
	c.keys, d.input = r.Keys, r.bytes
	if about := r.Root.Get("description"); c.to.mute && about.Is(tree.Text) {
		r.Root.Remove("description")
		d.input = r.Root.JSON()
		d.description = strings.TrimSpace(d.description + "\n\n" + about.Text())
		c.note("/input_schema/description", ruleDescription, "goes to the description of the tool: %s reads none at the root of a schema", c.to.name)
	}
	return true
}

// output converts the schema of the result. It describes and constrains nothing that a
// model sends, so that a tool is not lost for it.
func (c *conversion) output(d *definition) {
	switch {
	case isMissing(c.Tool.OutputSchema):
		return
	case c.to.output == nil:
		c.note("/output_schema", ruleLeftOut, "\"output_schema\" is left out: %s has no place for it", c.to.name)
		return
	}
	r, err := c.schema("output_schema", c.Tool.OutputSchema, c.dialect.Output())
	if err == nil {
		c.keep(r)
		d.output = r.bytes
		return
	}
	c.refuse("output_schema", err)
	for _, n := range c.wrong {
		c.note(n.Path, ruleOutput, "\"output_schema\" is left out, for it cannot be converted: %s", n.Text)
	}
	c.wrong = nil
}

// isMissing reports whether a schema is not there; null is none.
func isMissing(schema json.RawMessage) bool { return len(schema) == 0 || string(schema) == "null" }

// keep takes the notes of a rewritten schema.
func (c *conversion) keep(r *rewritten) {
	for _, n := range r.Notes {
		n.Tool = c.source.Name
		c.Notes = append(c.Notes, n)
	}
}

// refuse says why a schema cannot be converted.
func (c *conversion) refuse(member string, err error) bool {
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

// draftRule is the pass after which a schema is of 2020-12, and can be held against it.
const draftRule = "draft"

// invalidSchema is the violations of a schema that is none.
type invalidSchema []Note

func (v invalidSchema) Error() string { return fmt.Sprintf("%d violations of JSON Schema", len(v)) }

// rewritten is a schema after the passes.
type rewritten struct {
	*rewrite.Schema
	bytes json.RawMessage
}

// schema takes a schema through passes. What none of them changes keeps its bytes.
func (c *conversion) schema(member string, raw json.RawMessage, passes []rewrite.Pass) (*rewritten, error) {
	at := tree.At(member)
	r, err := rewrite.New(raw, at, c.dialect.Name)
	if err != nil {
		return nil, err
	}
	if r.Root.Kind != tree.Object && r.Root.Kind != tree.Bool {
		return nil, &rewrite.Error{At: at, Text: "expected a JSON Schema, an object, got " + r.Root.Kind.String()}
	}
	before := r.Root.JSON()
	for i := range passes {
		if err := r.Apply(passes[i : i+1]); err != nil {
			return nil, err
		}
		if c.to.checked && passes[i].Rule == draftRule {
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
