package toolformat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/check"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// Encode converts tools to a format. The error is for an unknown format or an option
// that the format does not have.
//
// Of each tool come the name as the format allows it, the description, and the schemas
// as far as the format takes JSON Schema; a schema that nothing has to be changed in
// keeps its bytes, white space aside. A tool that was read in the same format keeps all
// its other members. Whatever else differs stands in the notes; the one thing that is
// dropped without a word is the "title" of a schema, which only forms show.
func Encode(tools []Tool, to Format, opt Options) (*Set, error) {
	f, err := lookup(to)
	if err != nil {
		return nil, err
	}
	e := &encoder{to: f, strict: opt.Strict, dialect: &f.dialect, first: map[string]int{}}
	if opt.Strict {
		if e.dialect = &f.strict; e.dialect.Name == "" {
			return nil, fmt.Errorf("%s has no strict mode (%s have)", to, strictFormats())
		}
	}
	var names []string
	for i := range tools {
		if tools[i].Name != "" {
			names = append(names, tools[i].Name)
		}
	}
	e.names = f.names.spell(names)
	set := &Set{Format: to, Tools: make([]Converted, 0, len(tools)), byName: make(map[string]int, len(tools))}
	for i := range tools {
		c := &conversion{encoder: e, source: &tools[i], Converted: Converted{Tool: tools[i]}}
		if !c.run(i) {
			set.Faults = append(set.Faults, Fault{Index: i, Tool: tools[i].Name, Notes: c.wrong})
			continue
		}
		e.first[tools[i].Name] = i
		set.byName[c.Name] = len(set.Tools)
		set.Tools = append(set.Tools, c.Converted)
	}
	return set, nil
}

// strictFormats lists the formats that have a strict mode, for an error.
func strictFormats() string {
	var names []string
	for i := range formats {
		if formats[i].strict.Name != "" {
			names = append(names, string(formats[i].name))
		}
	}
	return strings.Join(names, " and ")
}

// An encoder converts the tools of one set.
type encoder struct {
	to      *format
	strict  bool
	dialect *rewrite.Dialect
	names   map[string]string // how each name is spelled
	first   map[string]int    // where a name stood that has been converted
}

// A definition is what the formats write, each in its own way.
type definition struct {
	name, description string
	input, output     json.RawMessage
	strict            bool
}

// A conversion is what becomes of one tool.
type conversion struct {
	*encoder
	Converted
	source *Tool
	extra  *tree.Node // the definition that it came in; nil: none
	hidden []string   // arguments that a model never sees
	wrong  []Note     // why the format cannot express it
}

// The rules of the notes that encoding itself writes; each pass has its own.
const (
	ruleName        = "name"
	ruleDescription = "description"
	ruleNoSchema    = "no-schema"
	ruleContext     = "context"
	ruleOutput      = "output"
	ruleInvalid     = "invalid" // why a tool is left out
)

func (c *conversion) note(path, rule, format string, args ...any) {
	c.Notes = append(c.Notes, Note{Tool: c.source.Name, Path: path, Rule: rule, Text: fmt.Sprintf(format, args...)})
}

// fail says why the tool is left out.
func (c *conversion) fail(path, format string, args ...any) bool {
	c.wrong = append(c.wrong, Note{Tool: c.source.Name, Path: path, Rule: ruleInvalid, Text: fmt.Sprintf(format, args...)})
	return false
}

// run converts the tool at a place of the list; false: it is left out.
func (c *conversion) run(place int) bool {
	t := c.source
	if t.Name == "" {
		return c.fail("/name", "the tool has no name")
	}
	if other, again := c.first[t.Name]; again {
		return c.fail("/name", "the name is taken: tools %d and %d of the set are both called %q, and the first is kept", other+1, place+1, t.Name)
	}
	if c.Name = c.names[t.Name]; c.Name == "" {
		return c.fail("/name", "no name for it is free in %s", c.to.name)
	}
	if c.Name != t.Name {
		c.note("/name", ruleName, "is called %s: %s takes names of %s", c.Name, c.to.name, c.to.names.pattern)
	}
	d := definition{name: c.Name, description: t.Description, strict: c.strict}
	if c.to.described && strings.TrimSpace(d.description) == "" {
		d.description = "Tool: " + t.Name // the words of seed fluent-llm
		c.note("/description", ruleDescription, "there is none and %s requires one: it is %q", c.to.name, d.description)
	}
	if t.Extra != nil {
		c.readExtra()
	}
	if !c.leaveOut() || !c.input(&d) {
		return false
	}
	c.output(&d)
	c.JSON = c.write(&d)
	c.check = check.NewLazy(c.Tool.InputSchema)
	return true
}

// readExtra reads the definition that the tool came in. A server can send one that no
// reader can be sure of, with a key that stands twice.
func (c *conversion) readExtra() {
	n, err := tree.Parse(c.source.Extra)
	switch {
	case err != nil:
		c.note("", ruleLeftOut, "all but name, description and schemas is left out, for the definition cannot be read: %v", err)
	case n.Is(tree.Object):
		c.extra = n
	}
}

// format is that of the tool's own definition.
func (c *conversion) format() *format {
	f, err := lookup(c.source.Format)
	if err != nil {
		return &mcpFormat // as Tool.Format says
	}
	return f
}

// leaveOut looks at what else the definition has, for a format that is not its own;
// false: the tool is not for models.
func (c *conversion) leaveOut() bool {
	from := c.format()
	if c.extra == nil || from.name == c.to.name && !c.to.closed {
		return true
	}
	if from.name == FormatAcorn {
		if isAcornInternal(c.source.Name) {
			return c.fail("", "Acorn calls this function itself, to keep the chat; no model is given it")
		}
		c.hidden = contextFields(c.extra)
	}
	if inner := c.extra.Get(from.inner); from.inner != "" && inner.Is(tree.Object) {
		c.leaveOutOf(c.extra, []string{from.inner}, from.idle)
		c.leaveOutOf(inner, from.members(), from.idle)
	} else {
		c.leaveOutOf(c.extra, from.members(), from.idle)
	}
	return true
}

// leaveOutOf notes the members of an object that only its own format has: not the known
// ones, and not those that say nothing.
func (c *conversion) leaveOutOf(n *tree.Node, known []string, idle map[string]string) {
	for _, m := range n.Members {
		value, silent := idle[m.Key]
		if m.Value.Kind == tree.Null || slices.Contains(known, m.Key) || silent && (value == "" || value == string(m.Value.JSON())) {
			continue
		}
		c.note(tree.At(m.Key).String(), ruleLeftOut, "%q is left out: %s has no place for it", m.Key, c.to.name)
	}
}

// members are the four of a definition, in every spelling that the format has.
func (f *format) members() []string {
	return slices.Concat([]string{"name", "description"}, f.input, f.output)
}

// write is the definition as the format has it. One that was read in the same format
// keeps its other members, in their places.
func (c *conversion) write(d *definition) json.RawMessage {
	written := c.to.write(d)
	switch {
	case c.extra == nil || c.to.closed || c.format().name != c.to.name:
	case c.to.inner == "", c.extra.Get(c.to.inner).Is(tree.Object):
		written = written.over(c.extra, c.source.Extra, c.to.members())
	default: // a bare function
		for i, f := range written {
			if f.in != nil {
				written[i].in = f.in.over(c.extra, c.source.Extra, c.to.members())
			}
		}
	}
	return written.append(nil)
}
