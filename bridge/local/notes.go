package local

import (
	"fmt"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// The rules of a tool's notes.
const (
	rulePlaceholder = "placeholder" // it is no property, or one that a call need not have
	ruleOption      = "option"      // an argument says which option it is
	ruleUnused      = "unused"      // the command never gets the property
	ruleProgram     = "program"     // there is none of that name yet
)

// notes say what is legal in a definition, and most likely not meant.
func (c *command) notes(definition toolformat.Tool) (notes []toolformat.Note) {
	say := func(path, rule, format string, args ...any) {
		notes = append(notes, toolformat.Note{Tool: definition.Name, Path: path, Rule: rule, Text: fmt.Sprintf(format, args...)})
	}
	if _, err := c.program.Lookup(); err != nil {
		say("/local/command/0", ruleProgram, "%v: calls fail until it is there", err)
	}
	required := map[string]bool{}
	for raw := range wire.Elements(wire.Lookup(definition.InputSchema, "required")) {
		name, _ := wire.Text(raw)
		required[name] = true
	}
	used := map[string]bool{}
	for i, t := range c.args {
		at := fmt.Sprintf("/local/command/%d", i+1)
		for k, p := range t {
			if p.name == "" {
				continue
			}
			schema := wire.Lookup(definition.InputSchema, "properties", p.name)
			switch {
			case used[p.name]:
			case schema == nil:
				say(at, rulePlaceholder, "the placeholder {%s} is no property; text in such braces is {{%s}}", p.name, p.name)
			case t[0].name != "" && !required[p.name] && wire.Lookup(schema, "default") == nil:
				say(at, rulePlaceholder, "%s is not required: a call without it fails, as the element begins with a placeholder", p.name)
			}
			used[p.name] = true
			if k == 1 && i < c.dashes && strings.Trim(t[0].text, "-") == "" && t[0].text != "" {
				say(at, ruleOption, "the argument %s says which option of the program it is", p.name)
			}
		}
	}
	if c.stdin {
		return notes
	}
	for name := range wire.Members(wire.Lookup(definition.InputSchema, "properties")) {
		if !used[name] {
			say("/input_schema/properties/"+name, ruleUnused, "%s is not in the command, which has no standard input either", name)
		}
	}
	return notes
}
