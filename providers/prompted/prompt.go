package prompted

import (
	"fmt"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// The text around the tools. The example is valid JSON, since models copy it to the letter.
const (
	beforeTools = "You can use tools. Each line between <tools> and </tools> is one, with the JSON Schema of its arguments:\n<tools>\n"
	afterTools  = `</tools>
To use a tool, write its name and its arguments as a JSON object in <tool_call> tags:
<tool_call>
{"name": "tool-name", "arguments": {"argument-name": "value"}}
</tool_call>
`
	anyCalls   = "For several calls write one such block after another. Then end your reply: "
	oneCall    = "Write one such block at most. Then end your reply: "
	resultNote = "the results come in the next message, in <tool_response> tags. Never write a result yourself."
)

// system returns the system prompt with the offered tools.
func system(req *providers.Request) string {
	t := toolsOf(req)
	if len(t.set.Tools) == 0 {
		return req.System
	}
	var b strings.Builder
	if req.System != "" {
		b.WriteString(req.System + "\n\n")
	}
	b.WriteString(beforeTools)
	for i := range t.set.Tools {
		b.Write(t.set.Tools[i].JSON)
		b.WriteByte('\n')
	}
	b.WriteString(afterTools)
	if req.Settings.Serial {
		b.WriteString(oneCall)
	} else {
		b.WriteString(anyCalls)
	}
	b.WriteString(resultNote)
	switch req.Choice {
	case providers.ChoiceAuto:
		b.WriteString(" When no tool is needed, just answer.")
	case providers.ChoiceRequired:
		b.WriteString(" In your next reply you must use a tool.")
	default:
		fmt.Fprintf(&b, " In your next reply you must use the tool %s.", req.Tools.WireName(format, string(req.Choice)))
	}
	return b.String()
}

// An offered is the tools that a model may call.
type offered struct {
	tools *providers.ToolSet // may be nil
	set   *toolformat.Set
}

func toolsOf(req *providers.Request) offered {
	o := offered{tools: req.Tools}
	if req.Choice == providers.ChoiceNone {
		o.tools = nil
	}
	o.set = o.tools.Encoded(format)
	return o
}

// known returns a tool's own name for the name that a model wrote, its own or the format's.
func (o offered) known(name string) (own string, ok bool) {
	c, ok := o.set.Find(name)
	if !ok && o.tools.Find(name) != nil {
		c, ok = o.set.Find(o.tools.WireName(format, name))
	}
	if !ok {
		return "", false
	}
	return c.Tool.Name, true
}

// properties returns the properties of a tool's arguments, in the order of its schema.
func (o offered) properties(own string) []string {
	c, ok := o.set.Find(o.tools.WireName(format, own))
	if !ok {
		return nil
	}
	var names []string
	for name := range wire.Members(wire.Lookup(c.JSON, "function", "parameters", "properties")) {
		names = append(names, name)
	}
	return names
}
