package openai

import (
	"cmp"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// encode writes a request that leaves nothing with the server: the conversation is sent
// whole, and reasoning comes back encrypted, unless plain.
func (p *Responses) encode(req *providers.Request, plain bool) []byte {
	b := textMember([]byte("{"), "model", req.Model)
	if req.System != "" {
		b = textMember(b, "instructions", req.System)
	}
	b = append(p.input(rawMember(b, "input", "["), req), ']')
	if req.Tools.Len() > 0 {
		b = rawMember(b, "tools", req.Tools.Encoded(toolformat.FormatOpenAIResponses).JSON())
		b = responsesChoice(b, req)
		if req.Settings.Serial {
			b = rawMember(b, "parallel_tool_calls", "false")
		}
	}
	b = settings(b, &req.Settings, "max_output_tokens")
	b = rawMember(b, "store", "false")
	if !plain {
		b = rawMember(b, "include", `["reasoning.encrypted_content"]`)
	}
	return append(rawMember(b, "stream", "true"), '}')
}

func responsesChoice(b []byte, req *providers.Request) []byte {
	switch req.Choice {
	case providers.ChoiceAuto:
		return b
	case providers.ChoiceNone, providers.ChoiceRequired:
		return textMember(b, "tool_choice", string(req.Choice))
	}
	b = rawMember(b, "tool_choice", `{"type":"function"`)
	return append(textMember(b, "name", req.Tools.WireName(toolformat.FormatOpenAIResponses, string(req.Choice))), '}')
}

// input appends the conversation.
func (p *Responses) input(b []byte, req *providers.Request) []byte {
	renamed := map[string]string{} // ids of calls that another provider's model made
	for i := range req.Messages {
		m := &req.Messages[i]
		switch raw := m.Raw.Of(p.name); {
		case m.Role == providers.RoleUser:
			b = userMessage(element(b), m, inputText, inputMedium)
		case m.Role == providers.RoleTool:
			b = responsesResults(b, req, m, renamed)
		case len(raw) > 0 && raw[0] == '[':
			b = rawItems(b, raw)
		default:
			b = responsesAssistant(b, req, m, renamed)
		}
	}
	return b
}

// rawItems appends items as they came. Reasoning that is neither encrypted nor told is left
// out: nothing but its id is there, and the server has not kept what that stands for (404
// "Items are not persisted when `store` is set to false").
func rawItems(b []byte, items []byte) []byte {
	for item := range wire.Elements(items) {
		if textAt(item, "type") == "reasoning" && isNull(wire.Lookup(item, "encrypted_content")) && !hasElements(wire.Lookup(item, "content")) {
			continue
		}
		b = append(element(b), item...)
	}
	return b
}

func hasElements(array []byte) bool {
	for range wire.Elements(array) {
		return true
	}
	return false
}

func inputText(b []byte, text string) []byte {
	return append(textMember(append(element(b), `{"type":"input_text"`...), "text", text), '}')
}

func inputMedium(b []byte, m *medium) []byte {
	b = element(b)
	switch format := m.audioFormat(); {
	case format != "":
		b = textMember(append(b, `{"type":"input_audio","input_audio":{`...), "data", m.data)
		b = append(textMember(b, "format", format), '}')
	case m.isImage():
		b = m.appendURL(append(b, `{"type":"input_image","image_url":`...))
	default:
		b = textMember(append(b, `{"type":"input_file"`...), "filename", m.fileName())
		b = m.appendURL(member(b, "file_data"))
	}
	return append(b, '}')
}

// responsesAssistant appends an assistant's message that did not come from here.
func responsesAssistant(b []byte, req *providers.Request, m *providers.Message, renamed map[string]string) []byte {
	if text := m.Text(); text != "" {
		b = textMember(append(element(b), `{"role":"assistant"`...), "content", text)
		b = append(b, '}')
	}
	for _, c := range m.Calls() {
		renamed[c.ID] = responsesID(c.ID)
		b = textMember(append(element(b), `{"type":"function_call"`...), "call_id", renamed[c.ID])
		b = textMember(b, "name", req.Tools.WireName(toolformat.FormatOpenAIResponses, c.Name))
		b = append(textMember(b, "arguments", argumentsText(c.Arguments)), '}')
	}
	return b
}

// responsesID is the id of another provider's call, of which 64 characters are the most.
func responsesID(id string) string {
	if len(id) <= 64 {
		return id
	}
	return madeID("call_", id, 29)
}

// responsesResults appends the results of a turn, an item each.
func responsesResults(b []byte, req *providers.Request, m *providers.Message, renamed map[string]string) []byte {
	for i := range m.Parts {
		r := m.Parts[i].Result
		if r == nil {
			continue
		}
		b = textMember(append(element(b), `{"type":"function_call_output"`...), "call_id", cmp.Or(renamed[r.ID], r.ID))
		b = append(output(member(b, "output"), req, r), '}')
	}
	return b
}

// output appends what a call came to: text, or an array where there are images or files. A
// tool whose output_schema the API was given answers with JSON of that schema, since that
// is what the member says (openai-go v3.95: "JSON value encoded in string outputs").
func output(b []byte, req *providers.Request, r *providers.Result) []byte {
	blocks := r.Blocks()
	if !slices.ContainsFunc(blocks, func(c toolformat.Content) bool { _, ok := ofBlock(&c); return ok }) {
		return wire.AppendString(b, cmp.Or(structured(req, r), r.Text(true)))
	}
	b = append(b, '[')
	if r.Content.IsError() {
		b = inputText(b, "Error:")
	}
	for i := range blocks {
		if medium, ok := ofBlock(&blocks[i]); ok {
			b = inputMedium(b, &medium)
		} else if blocks[i].Data == "" {
			b = inputText(b, blocks[i].Text)
		} else {
			b = inputText(b, "["+medium.mime+", which cannot be shown]")
		}
	}
	return append(b, ']')
}

// structured is the structured content of a result whose tool was sent with its schema; ""
// when there is none.
func structured(req *providers.Request, r *providers.Result) string {
	f := toolformat.FormatOpenAIResponses
	tool, ok := req.Tools.Encoded(f).Find(req.Tools.WireName(f, r.Name))
	if !ok || r.Content == nil || r.Content.IsError() || wire.Lookup(tool.JSON, "output_schema") == nil {
		return ""
	}
	return string(r.Content.Structured())
}
