package prompted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
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

// An offer is the tools that a model may call.
type offer struct {
	tools *providers.ToolSet // may be nil
	set   *toolformat.Set
}

func toolsOf(req *providers.Request) offer {
	o := offer{tools: req.Tools}
	if req.Choice == providers.ChoiceNone {
		o.tools = nil
	}
	o.set = o.tools.Encoded(format)
	return o
}

// known returns a tool's own name for the name that a model wrote, its own or the format's.
func (o offer) known(name string) (own string, ok bool) {
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
func (o offer) properties(own string) []string {
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

// request returns the request for the inner provider, without tools.
func (p *Provider) request(req *providers.Request) *providers.Request {
	inner := &providers.Request{Model: req.Model, System: system(req), Settings: req.Settings}
	inner.Settings.Serial = false // OpenAI refuses it without tools
	for i := range req.Messages {
		m := &req.Messages[i]
		switch {
		case m.Role == providers.RoleTool:
			inner.Messages = append(inner.Messages, responses(req, m))
		case m.Role == providers.RoleUser && i > 0 && req.Messages[i-1].Role == providers.RoleTool:
			// Many templates want messages of the user and the assistant in turn.
			last := &inner.Messages[len(inner.Messages)-1]
			last.Parts = slices.Concat(last.Parts, []providers.Part{{Type: providers.PartText, Text: "\n"}}, m.Parts)
		case m.Role == providers.RoleAssistant:
			inner.Messages = append(inner.Messages, assistant(req, m))
		default:
			inner.Messages = append(inner.Messages, *m)
		}
	}
	return inner
}

// assistant returns a message of the assistant with its calls as text, and with the raw items
// of the inner provider.
func assistant(req *providers.Request, m *providers.Message) providers.Message {
	var raw *providers.Raw
	if items := m.Raw.Of(name); items != nil {
		raw = unwrap(items)
	} else if m.Calls() == nil {
		return *m
	}
	out := providers.Message{Role: m.Role, Raw: raw}
	var text []byte
	for _, part := range m.Parts {
		switch part.Type {
		case providers.PartText:
			text = append(text, part.Text...)
		case providers.PartCall:
			text = appendCall(text, req.Tools.WireName(format, part.Call.Name), part.Call.Arguments)
		default:
			out.Parts = append(out.Parts, part)
		}
	}
	if text != nil {
		out.Parts = append(out.Parts, textPart(text))
	}
	return out
}

// appendCall appends a call in the form of the prompt.
func appendCall(text []byte, tool string, arguments json.RawMessage) []byte {
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	if arguments == nil {
		arguments = json.RawMessage("{}")
	}
	text = wire.AppendString(append(text, "<tool_call>\n{\"name\": "...), tool)
	text = append(append(text, `, "arguments": `...), arguments...)
	return append(text, "}\n</tool_call>\n"...)
}

// responses returns results as a message of the user, followed by their images.
func responses(req *providers.Request, m *providers.Message) providers.Message {
	var text []byte
	var images []providers.Part
	for _, part := range m.Parts {
		r := part.Result
		if r == nil {
			continue
		}
		text = wire.AppendString(append(text, "<tool_response>\n{\"name\": "...), req.Tools.WireName(format, r.Name))
		text = append(append(text, `, "content": `...), content(r.Text(true))...)
		text = append(text, "}\n</tool_response>\n"...)
		for _, image := range r.Images() {
			var data []byte
			if json.Unmarshal(wire.AppendString(nil, image.Data), &data) == nil {
				images = append(images, providers.Part{Type: providers.PartImage, Data: data, MimeType: image.MimeType})
			}
		}
	}
	return providers.Message{Role: providers.RoleUser, Parts: append([]providers.Part{textPart(text)}, images...)}
}

func textPart(text []byte) providers.Part {
	return providers.Part{Type: providers.PartText, Text: string(bytes.TrimSuffix(text, []byte{'\n'}))}
}

// content returns a result as JSON: unchanged if it is an object or an array, else a string.
// It cannot contain the end of its <tool_response>.
func content(text string) []byte {
	raw := []byte(text)
	if t := bytes.TrimSpace(raw); len(t) == 0 || t[0] != '{' && t[0] != '[' || !json.Valid(t) {
		raw = wire.AppendString(nil, text)
	}
	return bytes.ReplaceAll(raw, []byte("</tool_response"), []byte(`<\/tool_response`))
}

// wrap returns raw items of this provider with those of the inner one.
func wrap(r *providers.Raw) *providers.Raw {
	if r == nil {
		return nil
	}
	b := wire.AppendString([]byte(`{"provider":`), r.Provider)
	b = wire.AppendString(append(b, `,"model":`...), r.Model)
	b = append(append(append(b, `,"items":`...), r.Items...), '}')
	return &providers.Raw{Provider: name, Model: r.Model, Items: b}
}

// unwrap returns the raw items that wrap wrapped; nil for any others.
func unwrap(items json.RawMessage) *providers.Raw {
	var r providers.Raw
	if json.Unmarshal(items, &r) != nil || r.Items == nil {
		return nil
	}
	return &r
}
