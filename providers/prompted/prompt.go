package prompted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
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
// The first byte of each mark in it is escaped: it cannot contain the end of its
// <tool_response>, and a model that repeats it as it is does not make a call.
func content(text string) []byte {
	raw := []byte(text)
	if t := bytes.TrimSpace(raw); len(t) == 0 || t[0] != '{' && t[0] != '[' || !json.Valid(t) {
		raw = wire.AppendString(nil, text)
	}
	var out []byte
	kept := 0
	for i, c := range raw {
		if strings.IndexByte("<[|`tT", c) >= 0 && isMark(raw[i:]) && !isEscaped(raw[:i]) {
			out = fmt.Appendf(append(out, raw[kept:i]...), `\u%04x`, c)
			kept = i + 1
		}
	}
	return append(out, raw[kept:]...)
}

// isMark reports whether w begins with a mark of a call, a result or thinking.
func isMark(w []byte) bool {
	begins := func(mark string) bool {
		full, _ := hasPrefix(w, mark)
		return full
	}
	for _, t := range thoughts {
		if begins(t.open) || begins(t.end) {
			return true
		}
	}
	for i := range openers {
		if begins(openers[i].text) || slices.ContainsFunc(openers[i].form.ends, begins) {
			return true
		}
	}
	for language, in := range blocks {
		if !in.strict && begins(fenceMark+language) {
			return true
		}
	}
	return slices.ContainsFunc(otherMarks, begins) || slices.ContainsFunc(argumentMarks, begins)
}

// isEscaped reports whether the byte behind w belongs to an escape sequence of JSON.
func isEscaped(w []byte) bool {
	return (len(w)-len(bytes.TrimRight(w, `\`)))%2 == 1
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
