package openai

import (
	"cmp"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// encode returns the body, but for its input, of a request after which the server stores nothing:
// it has the whole conversation, and asks for encrypted reasoning, unless plain.
func (p *Responses) encode(req *providers.Request, plain bool) []byte {
	b := rawjson.Text([]byte("{"), "model", req.Model)
	if req.System != "" {
		b = rawjson.Text(b, "instructions", req.System)
	}
	b = tools(b, req, toolformat.FormatOpenAIResponses, "required")
	b = responsesSettings(settings(b, &req.Settings, "max_output_tokens"), &req.Settings)
	b = rawjson.Raw(b, "store", "false")
	if !plain {
		b = rawjson.Raw(b, "include", `["reasoning.encrypted_content"]`)
	}
	return append(rawjson.Raw(b, "stream", "true"), '}')
}

// responsesSettings appends the settings whose place is not the same in Chat Completions.
func responsesSettings(b []byte, s *providers.Settings) []byte {
	reasoning := []byte("{")
	if effort := cmp.Or(s.Effort, s.Thinking.Effort()); effort != "" {
		reasoning = rawjson.Text(reasoning, "effort", effort)
	}
	if s.Thinking == providers.ThinkingOn || s.Thinking > 0 {
		reasoning = rawjson.Text(reasoning, "summary", "auto")
	}
	if len(reasoning) > 1 {
		b = rawjson.Raw(b, "reasoning", append(reasoning, '}'))
	}
	switch {
	case s.Answer == nil:
	case s.Answer.Schema == nil:
		b = append(rawjson.Raw(rawjson.Raw(b, "text", "{"), "format", jsonObject), '}')
	default:
		format := *s.Answer
		if no := false; format.Strict == nil { // its default for tools is true
			format.Strict = &no
		}
		b = rawjson.Raw(b, "text", `{"format":{"type":"json_schema"`)
		b = append(answerFormat(b, &format), "}}"...)
	}
	return b
}

// input returns the conversation, an array without its end.
func (p *Responses) input(req *providers.Request) []byte {
	c, rest := providers.Encoded(req, p, func() *history { return newHistory([]byte("[")) })
	for i := range rest {
		m := &rest[i]
		switch raw := m.Raw.Of(p.name); {
		case m.Role == providers.RoleUser:
			c.json = userMessage(rawjson.Element(c.json), m, "input_text", inputMedium)
		case m.Role == providers.RoleTool:
			c.json = responsesResults(c.json, req, m, c.renamed)
		case len(raw) > 0 && raw[0] == '[':
			c.json = rawItems(c.json, raw)
		default:
			c.json = responsesAssistant(c.json, req, m, c.renamed)
		}
	}
	return c.json
}

// rawItems appends items verbatim. Reasoning without any content is left out: it is only an
// id, and the server did not store its content (404 "Items are not persisted when `store` is
// set to false"). So is reasoning behind which there is nothing else, with which some turns end
// ("was provided without its required following item").
func rawItems(b []byte, items []byte) []byte {
	var reasoning [][]byte // before the next item of another type
	for item := range wire.Elements(items) {
		if rawjson.TextAt(item, "type") != "reasoning" {
			for _, before := range append(reasoning, item) {
				b = append(rawjson.Element(b), before...)
			}
			reasoning = nil
		} else if !rawjson.IsNull(wire.Lookup(item, "encrypted_content")) || slices.Collect(wire.Elements(wire.Lookup(item, "content"))) != nil {
			reasoning = append(reasoning, item)
		}
	}
	return b
}

func inputMedium(b []byte, m *medium) []byte {
	b = rawjson.Element(b)
	switch format := m.audioFormat(); {
	case format != "":
		b = rawjson.Text(append(b, `{"type":"input_audio","input_audio":{`...), "data", m.data)
		b = append(rawjson.Text(b, "format", format), '}')
	case m.isImage():
		b = m.appendDetail(m.appendURL(append(b, `{"type":"input_image","image_url":`...)))
	default:
		b = rawjson.Text(append(b, `{"type":"input_file"`...), "filename", m.fileName())
		b = m.appendURL(rawjson.Member(b, "file_data"))
	}
	return append(b, '}')
}

// responsesAssistant appends a message of another provider's model.
func responsesAssistant(b []byte, req *providers.Request, m *providers.Message, renamed map[string]string) []byte {
	if text := m.Text(); text != "" {
		b = rawjson.Text(append(rawjson.Element(b), `{"role":"assistant"`...), "content", text)
		b = append(b, '}')
	}
	for _, c := range m.Calls() {
		renamed[c.ID] = responsesID(c.ID)
		b = rawjson.Text(append(rawjson.Element(b), `{"type":"function_call"`...), "call_id", renamed[c.ID])
		b = rawjson.Text(b, "name", req.Tools.WireName(toolformat.FormatOpenAIResponses, c.Name))
		b = append(rawjson.Text(b, "arguments", argumentsText(c.Arguments)), '}')
	}
	return b
}

// responsesID returns the id for a call of another provider's model: at most 64 characters.
func responsesID(id string) string {
	if len(id) <= 64 {
		return id
	}
	return madeID("call_", id, 29)
}

// responsesResults appends the results of a turn, each an item.
func responsesResults(b []byte, req *providers.Request, m *providers.Message, renamed map[string]string) []byte {
	for i := range m.Parts {
		r := m.Parts[i].Result
		if r == nil {
			continue
		}
		b = rawjson.Text(append(rawjson.Element(b), `{"type":"function_call_output"`...), "call_id", cmp.Or(renamed[r.ID], r.ID))
		b = append(output(rawjson.Member(b, "output"), req, r), '}')
	}
	return b
}

// output appends a result: text, or an array if it has images or files. For a tool that was
// sent with an output_schema it is JSON of that schema, as the documentation of that member
// demands (openai-go v3.95: "JSON value encoded in string outputs").
func output(b []byte, req *providers.Request, r *providers.Result) []byte {
	text, media := r.TextAndMedia(true)
	if !slices.ContainsFunc(media, func(c toolformat.Content) bool { _, ok := ofBlock(&c); return ok }) {
		return wire.AppendString(b, cmp.Or(structured(req, r), text))
	}
	blocks := r.Blocks()
	b = append(b, '[')
	if r.Content.IsError() {
		b = appendText(b, "input_text", "Error:")
	}
	for i := range blocks {
		if medium, ok := ofBlock(&blocks[i]); ok {
			b = inputMedium(b, &medium)
		} else if blocks[i].Data == "" {
			b = appendText(b, "input_text", blocks[i].Text)
		} else {
			b = appendText(b, "input_text", "["+medium.mime+", which cannot be shown]")
		}
	}
	return append(b, ']')
}

// structured returns the structured content of a result whose tool was sent with its output
// schema, if any.
func structured(req *providers.Request, r *providers.Result) string {
	f := toolformat.FormatOpenAIResponses
	tool, ok := req.Tools.Encoded(f).Find(req.Tools.WireName(f, r.Name))
	if !ok || r.Content == nil || r.Content.IsError() || wire.Lookup(tool.JSON, "output_schema") == nil {
		return ""
	}
	return string(r.Content.Structured())
}
