package ollama

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
)

// encode is the body of a request, and what its caller should know about it.
//
// truncate and shift are false since the server else drops the oldest messages without a
// word: so it refuses a conversation that is too long ("the input length exceeds the
// context length").
func encode(req *providers.Request) (body []byte, notes []string) {
	e := encoder{req: req}
	e.out = append(wire.AppendString([]byte(`{"model":`), req.Model), `,"messages":[`...)
	if req.System != "" {
		e.next(`{"role":"system","content":`)
		e.out = append(wire.AppendString(e.out, req.System), '}')
	}
	for i := range req.Messages {
		e.message(&req.Messages[i])
	}
	e.out = append(e.out, ']')
	if req.Tools.Len() > 0 && req.Choice != providers.ChoiceNone {
		e.out = append(append(e.out, `,"tools":`...), req.Tools.Encoded(format).JSON()...)
		if req.Choice != providers.ChoiceAuto {
			e.note("ollama cannot be told to call a tool (choice %s): its model calls one if it likes", req.Choice)
		}
	}
	e.out = append(e.out, `,"stream":true,"truncate":false,"shift":false`...)
	e.settings(&req.Settings)
	return append(e.out, '}'), e.notes
}

// An encoder writes one request.
type encoder struct {
	req   *providers.Request
	out   []byte
	many  bool // a message is there already
	notes []string
}

func (e *encoder) note(text string, args ...any) {
	e.notes = append(e.notes, fmt.Sprintf(text, args...))
}

// next begins a message.
func (e *encoder) next(begin string) {
	if e.many {
		e.out = append(e.out, ',')
	}
	e.many = true
	e.out = append(e.out, begin...)
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
	var images []string
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Type {
		case providers.PartText:
			text.WriteString(p.Text)
		case providers.PartImage:
			images = append(images, base64.StdEncoding.EncodeToString(p.Data))
		case providers.PartFile:
			e.note("ollama takes no files: %s (%s) is left out", p.Name, p.MimeType)
			fmt.Fprintf(&text, "[file %s: %s]", p.Name, p.MimeType)
		}
	}
	e.next(`{"role":"user","content":`)
	e.out = wire.AppendString(e.out, text.String())
	e.images(images)
	e.out = append(e.out, '}')
}

// images adds those of a message, in base64.
func (e *encoder) images(all []string) {
	for i, data := range all {
		if i == 0 {
			e.out = append(e.out, `,"images":[`...)
		} else {
			e.out = append(e.out, ',')
		}
		e.out = wire.AppendString(e.out, data)
	}
	if all != nil {
		e.out = append(e.out, ']')
	}
}

func (e *encoder) assistant(m *providers.Message) {
	if raw := m.Raw.Of(name); raw != nil {
		e.next(string(raw))
		return
	}
	e.next(`{"role":"assistant","content":`)
	e.out = wire.AppendString(e.out, m.Text())
	for i, c := range m.Calls() {
		if i == 0 {
			e.out = append(e.out, `,"tool_calls":[`...)
		} else {
			e.out = append(e.out, ',')
		}
		e.out = wire.AppendString(append(e.out, `{"id":`...), c.ID)
		e.out = wire.AppendString(append(e.out, `,"function":{"name":`...), e.req.Tools.WireName(format, c.Name))
		e.out = append(append(append(e.out, `,"arguments":`...), c.Object()...), "}}"...)
	}
	if m.Calls() != nil {
		e.out = append(e.out, ']')
	}
	e.out = append(e.out, '}')
}

// result is a message of its own. The API has no mark for a result that has failed.
func (e *encoder) result(r *providers.Result) {
	e.next(`{"role":"tool","content":`)
	e.out = wire.AppendString(e.out, r.Text(true))
	e.out = wire.AppendString(append(e.out, `,"tool_name":`...), e.req.Tools.WireName(format, r.Name))
	e.out = wire.AppendString(append(e.out, `,"tool_call_id":`...), r.ID)
	var images []string
	for _, image := range r.Images() {
		images = append(images, image.Data)
	}
	e.images(images)
	e.out = append(e.out, '}')
}

// settings writes the options of the model.
func (e *encoder) settings(s *providers.Settings) {
	var options struct {
		NumPredict  int      `json:"num_predict,omitempty"`
		Temperature *float64 `json:"temperature,omitempty"`
		TopP        *float64 `json:"top_p,omitempty"`
	}
	options.NumPredict, options.Temperature, options.TopP = s.MaxTokens, s.Temperature, s.TopP
	b, err := json.Marshal(options)
	if err != nil { // not a number
		e.note("ollama: the settings are left out: %v", err)
		return
	}
	if string(b) != "{}" {
		e.out = append(append(e.out, `,"options":`...), b...)
	}
}
