package local

import (
	"fmt"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// The rules of a tool's notes.
const (
	rulePlaceholder = "placeholder" // a placeholder is not a property, or only an optional one
	ruleOption      = "option"      // an argument chooses the option
	ruleUnused      = "unused"      // the command never gets the property
	ruleProgram     = "program"     // the program does not exist yet
)

// notes lists what is legal in a definition and probably a mistake.
func (c *command) notes(definition toolformat.Tool) []toolformat.Note {
	n := native.NewNotes(definition)
	if _, err := c.program.Lookup(); err != nil {
		n.Add("/local/command/0", ruleProgram, "%v: calls fail until it exists", err)
	}
	used := map[string]bool{}
	for i, t := range c.args {
		at := fmt.Sprintf("/local/command/%d", i+1)
		for k, p := range t {
			if p.name == "" {
				continue
			}
			_, known := n.Properties[p.name]
			switch {
			case used[p.name]:
			case !known:
				n.Add(at, rulePlaceholder, "the placeholder {%s} is not a property; literal text in such braces is {{%s}}", p.name, p.name)
			case t[0].name != "" && n.IsOptional(p.name):
				n.Add(at, rulePlaceholder, "%s is not required: a call without it fails, as the element begins with a placeholder", p.name)
			}
			used[p.name] = true
			if k == 1 && i < c.dashes && strings.Trim(t[0].text, "-") == "" && t[0].text != "" {
				n.Add(at, ruleOption, "the argument %s chooses the option of the program", p.name)
			}
		}
	}
	if c.stdin {
		return n.All
	}
	for _, name := range n.Names() {
		if !used[name] {
			n.AddProperty(name, ruleUnused, "%s is not in the command, which gets no arguments on standard input either", name)
		}
	}
	return n.All
}
