package toolformat

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/check"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// Encode converts tools to a format. The error is for an unknown format, or an option that the
// format does not have.
//
// A definition has the name as the format allows it, the description, and the schemas as far as the
// format takes JSON Schema; a schema that need not change keeps its bytes, white space aside. A tool
// that was read in the same format keeps all its other members. Notes tell every other difference
// but one: the "title" of a schema, which only forms show, is dropped without a note.
func Encode(tools []Tool, to Format, opt Options) (*Set, error) {
	f, err := lookup(to)
	if err != nil {
		return nil, err
	}
	e := &encoder{to: f, strict: opt.Strict, dialect: &f.dialect, first: map[string]int{}}
	if opt.Strict {
		if e.dialect = &f.strict; e.dialect.Name == "" {
			return nil, fmt.Errorf("%s has no strict mode (%s and %s have)", to, FormatOpenAI, FormatOpenAIResponses)
		}
	}
	names := make([]string, len(tools))
	for i := range tools {
		names[i] = tools[i].Name
	}
	e.names = f.names.assign(names)
	set := &Set{Format: to, Tools: make([]Converted, 0, len(tools)), byName: make(map[string]int, len(tools))}
	for i := range tools {
		c := &conversion{encoder: e, source: &tools[i], Converted: Converted{Tool: tools[i]}}
		if !c.convert(i) {
			set.Faults = append(set.Faults, Fault{Index: i, Tool: tools[i].Name, Notes: c.violations})
			continue
		}
		e.first[tools[i].Name] = i
		set.byName[c.Name] = len(set.Tools)
		set.Tools = append(set.Tools, c.Converted)
	}
	return set, nil
}

// An encoder converts the tools of one set.
type encoder struct {
	to      *format
	strict  bool
	dialect *rewrite.Dialect
	names   map[string]string // the assigned name of each name
	first   map[string]int    // index of the converted tool of each name
}

// A definition is what the formats write.
type definition struct {
	name, description string
	input, output     json.RawMessage
	strict            bool
}

// A conversion converts one tool.
type conversion struct {
	*encoder
	Converted
	source     *Tool
	extra      *tree.Node // the original definition; nil means that the tool has none
	hidden     []string   // arguments that no model sees
	violations []Note     // why the format cannot express the tool
}

func (c *conversion) note(path, rule, format string, args ...any) {
	c.Notes = append(c.Notes, Note{Tool: c.source.Name, Path: path, Rule: rule, Text: fmt.Sprintf(format, args...)})
}

// fail adds a violation and returns false.
func (c *conversion) fail(path, format string, args ...any) bool {
	c.violations = append(c.violations, Note{Tool: c.source.Name, Path: path, Rule: ruleInvalid, Text: fmt.Sprintf(format, args...)})
	return false
}

// convert converts the tool at an index of the list; false means that it is left out.
func (c *conversion) convert(index int) bool {
	t := c.source
	if t.Name == "" {
		return c.fail("/name", "the tool has no name")
	}
	if other, again := c.first[t.Name]; again {
		return c.fail("/name", "duplicate name: tools %d and %d of the set are both called %q, and the first is kept", other+1, index+1, t.Name)
	}
	if c.Name = c.names[t.Name]; c.Name == "" {
		return c.fail("/name", "every name that it could have in %s is taken", c.to.name)
	}
	if c.Name != t.Name {
		c.note("/name", ruleName, "renamed to %s: %s allows only names matching %s", c.Name, c.to.name, c.to.names.pattern)
	}
	d := definition{name: c.Name, description: t.Description, strict: c.strict}
	if c.to.needsDescription && strings.TrimSpace(d.description) == "" {
		d.description = "Tool: " + t.Name // as fluent-llm words it
		c.note("/description", ruleDescription, "missing, and %s requires a description: set to %q", c.to.name, d.description)
	}
	if t.Extra != nil {
		c.readExtra()
	}
	if !c.checkExtra() || !c.input(&d) {
		return false
	}
	c.output(&d)
	c.JSON = c.write(&d)
	c.check = check.NewLazy(c.Tool.InputSchema)
	return true
}

// readExtra parses the original definition. A server can send one that readers disagree on, with a
// key that occurs twice.
func (c *conversion) readExtra() {
	n, err := tree.Parse(c.source.Extra)
	switch {
	case err != nil:
		c.note("", ruleLeftOut, "all but name, description and schemas left out, since the definition cannot be read: %v", err)
	case n.Is(tree.Object):
		c.extra = n
	}
}

// format returns the format of the original definition.
func (c *conversion) format() *format {
	f, err := lookup(c.source.Format)
	if err != nil {
		return &mcpFormat // the default of Tool.Format
	}
	return f
}

// checkExtra notes what another format has no place for; false means that the tool is not for models.
func (c *conversion) checkExtra() bool {
	from := c.format()
	if c.extra == nil || from.name == c.to.name && !c.to.exact {
		return true
	}
	if from.name == FormatAcorn {
		if isAcornInternal(c.source.Name) {
			return c.fail("", "Acorn itself calls this function, to keep the chat; no model gets it")
		}
		c.hidden = c.extra.Get("context").Texts()
	}
	if inner := c.extra.Get(from.inner); from.inner != "" && inner.Is(tree.Object) {
		c.noteLeftOut(c.extra, []string{from.inner}, from.ignored)
		c.noteLeftOut(inner, from.members(), from.ignored)
	} else {
		c.noteLeftOut(c.extra, from.members(), from.ignored)
	}
	return true
}

// noteLeftOut notes the members of an object that are neither known nor ignored.
func (c *conversion) noteLeftOut(n *tree.Node, known []string, ignored map[string]string) {
	for _, m := range n.Members {
		value, ignore := ignored[m.Key]
		if m.Value.Kind == tree.Null || slices.Contains(known, m.Key) || ignore && (value == "" || value == string(m.Value.JSON())) {
			continue
		}
		c.note(tree.At(m.Key).String(), ruleLeftOut, "%q left out: %s has no place for it", m.Key, c.to.name)
	}
}

// write returns the definition in the format. One that was read in the same format keeps its other
// members in their places.
func (c *conversion) write(d *definition) json.RawMessage {
	written := c.to.definition(d)
	switch {
	case c.extra == nil || c.to.exact || c.format().name != c.to.name:
	case c.to.inner == "", c.extra.Get(c.to.inner).Is(tree.Object):
		written = written.merge(c.extra, c.source.Extra, c.to.members())
	default: // a bare function
		for i, f := range written {
			if f.in != nil {
				written[i].in = f.in.merge(c.extra, c.source.Extra, c.to.members())
			}
		}
	}
	return written.append(nil)
}

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
