package ollama

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// encode returns the exchange of a request, without its decoder.
//
// truncate and shift are false, since the server else silently drops the oldest messages.
// With them it refuses a conversation that is too long ("the input length exceeds the
// context length").
func (p *Provider) encode(req *providers.Request) providers.Exchange {
	e := encoder{req: req}
	messages := e.messages(p)
	e.out = rawjson.Text([]byte("{"), "model", req.Model)
	if req.Tools.Len() > 0 && req.Choice != providers.ChoiceNone {
		e.out = rawjson.Raw(e.out, "tools", req.Tools.Encoded(format).JSON())
		if req.Choice != providers.ChoiceAuto {
			e.note("ollama cannot require a tool call (choice %s): the model decides", req.Choice)
		}
	}
	e.out = append(e.out, `,"stream":true,"truncate":false,"shift":false`...)
	e.settings(&req.Settings)
	return providers.Exchange{Path: path, Body: append(e.out, '}'), Member: "messages", Messages: [][]byte{messages}, Notes: e.notes}
}

// An encoder writes one request.
type encoder struct {
	req   *providers.Request
	out   []byte
	notes []string
}

// messages returns the conversation, an array without its end.
func (e *encoder) messages(p *Provider) []byte {
	c, rest := providers.Encoded(e.req, p, func() *history {
		e.out = []byte("[")
		if e.req.System != "" {
			e.begin("system", e.req.System)
			e.out = append(e.out, '}')
		}
		return &history{e.out}
	})
	e.out = c.json
	for i := range rest {
		e.message(&rest[i])
	}
	c.json = e.out
	return c.json
}

// A history is the messages of requests: an array without its end.
type history struct{ json []byte }

func (e *encoder) note(text string, args ...any) {
	e.notes = append(e.notes, fmt.Sprintf(text, args...))
}

// begin begins a message.
func (e *encoder) begin(role, content string) {
	e.out = rawjson.Text(append(rawjson.Element(e.out), '{'), "role", role)
	e.out = rawjson.Text(e.out, "content", content)
}

func (e *encoder) message(m *providers.Message) {
	switch m.Role {
	case providers.RoleUser:
		e.user(m)
	case providers.RoleAssistant:
		e.assistant(m)
	case providers.RoleTool:
		for i := range m.Parts {
			if r := m.Parts[i].Result; r != nil {
				e.result(r)
			}
		}
	}
}

func (e *encoder) user(m *providers.Message) {
	var text strings.Builder
	var images [][]byte
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Type {
		case providers.PartText:
			text.WriteString(p.Text)
		case providers.PartImage:
			images = append(images, wire.AppendString(nil, base64.StdEncoding.EncodeToString(p.Data)))
		case providers.PartFile:
			if strings.HasPrefix(p.MimeType, "text/") && utf8.Valid(p.Data) {
				fmt.Fprintf(&text, "[file %s]\n%s\n", p.Name, p.Data)
				continue
			}
			e.note("ollama takes no files: %s (%s) is left out", p.Name, p.MimeType)
			fmt.Fprintf(&text, "[file %s: %s]", p.Name, p.MimeType)
		}
	}
	e.begin("user", text.String())
	e.end(images)
}

// end ends a message with its images, base64 strings.
func (e *encoder) end(images [][]byte) {
	if images != nil {
		e.out = rawjson.Raw(e.out, "images", rawjson.Array(images))
	}
	e.out = append(e.out, '}')
}

func (e *encoder) assistant(m *providers.Message) {
	if raw := m.Raw.Of(name); raw != nil {
		e.out = append(rawjson.Element(e.out), raw...)
		return
	}
	e.begin("assistant", m.Text())
	var calls [][]byte
	for _, c := range m.Calls() {
		b := rawjson.Raw(rawjson.Text([]byte("{"), "id", c.ID), "function", "{")
		b = rawjson.Text(b, "name", e.req.Tools.WireName(format, c.Name))
		calls = append(calls, append(rawjson.Raw(b, "arguments", c.Object()), "}}"...))
	}
	if calls != nil {
		e.out = rawjson.Raw(e.out, "tool_calls", rawjson.Array(calls))
	}
	e.out = append(e.out, '}')
}

// result writes a result, a message of its own. The API has no flag for a failed one.
func (e *encoder) result(r *providers.Result) {
	text, media := r.TextAndMedia(true)
	e.begin("tool", text)
	e.out = rawjson.Text(e.out, "tool_name", e.req.Tools.WireName(format, r.Name))
	e.out = rawjson.Text(e.out, "tool_call_id", r.ID)
	var images [][]byte
	for i := range media {
		if media[i].Type == toolformat.ImageContent {
			images = append(images, wire.AppendString(nil, media[i].Data))
		}
	}
	e.end(images)
}

// options are the settings that the server passes to the model.
type options struct {
	NumPredict       int      `json:"num_predict,omitempty"`
	Temperature      *float64 `json:"temperature,omitempty"`
	TopP             *float64 `json:"top_p,omitempty"`
	Stop             []string `json:"stop,omitempty"`
	Seed             *int64   `json:"seed,omitempty"`
	PresencePenalty  *float64 `json:"presence_penalty,omitempty"`
	FrequencyPenalty *float64 `json:"frequency_penalty,omitempty"`
}

// settings writes the settings of a request.
func (e *encoder) settings(s *providers.Settings) {
	switch {
	case s.Answer == nil:
	case s.Answer.Schema == nil:
		e.out = rawjson.Text(e.out, "format", "json")
	default:
		e.out = rawjson.Raw(e.out, "format", s.Answer.Schema)
	}
	switch effort := cmp.Or(s.Effort, s.Thinking.Effort()); effort { // the server takes these levels, true and false
	case "":
		if s.Thinking == providers.ThinkingOn {
			e.out = rawjson.Raw(e.out, "think", "true")
		}
	case "none":
		e.out = rawjson.Raw(e.out, "think", "false")
	case "minimal":
		e.out = rawjson.Text(e.out, "think", "low")
	case "xhigh", "max":
		e.out = rawjson.Text(e.out, "think", "high")
	default:
		e.out = rawjson.Text(e.out, "think", effort)
	}
	b, err := json.Marshal(options{s.MaxTokens, s.Temperature, s.TopP, s.Stop, s.Seed, s.PresencePenalty, s.FrequencyPenalty})
	if err != nil { // not a number
		e.note("ollama: the settings are left out: %v", err)
		return
	}
	if string(b) != "{}" {
		e.out = rawjson.Raw(e.out, "options", b)
	}
}
