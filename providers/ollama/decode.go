package ollama

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
)

// errNoJSON is a line that another program has put in.
var errNoJSON = errors.New("a line that is no JSON object")

// A decoder makes a turn of the lines of a response.
type decoder struct {
	req    *providers.Request
	emit   func(providers.Event)
	ids    *providers.CallIDs
	fields []field // of the message, in the order in which they came first
	calls  []*providers.Call
	model  string
	reason string // done_reason
	done   bool
	usage  providers.Usage
}

// A field is a member of the message. Texts grow from line to line: what stands between
// the quotes of their JSON strings is joined. tool_calls grow by elements; of everything
// else the last one counts.
type field struct {
	name  string
	value []byte
}

func newDecoder(req *providers.Request) *decoder {
	role := field{name: "role", value: []byte(`"assistant"`)} // should the server not say it
	return &decoder{req: req, ids: providers.NewCallIDs(req), fields: []field{role}}
}

// Read reads a response to its end, a stream or one that is not.
func (d *decoder) Read(resp *providers.Response, emit func(providers.Event)) error {
	d.emit = emit
	var err error
	if resp.Streamed() {
		err = resp.Lines(d.line)
	} else {
		err = d.whole(io.ReadAll(resp))
	}
	if err == nil && !d.done {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// whole reads a body of one object, which may be written over many lines, or of one a
// line.
func (d *decoder) whole(body []byte, err error) error {
	if err != nil {
		return err
	}
	if json.Valid(body) {
		return d.line(body)
	}
	for line := range bytes.Lines(body) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if err := d.line(line); err != nil {
			return err
		}
	}
	return nil
}

// line reads one object of the response.
func (d *decoder) line(data []byte) error {
	if wire.Valid(data) != nil || wire.FirstMember(data) == 0 {
		return errNoJSON
	}
	for key, value := range wire.Members(data) {
		switch key {
		case "error":
			return streamError(data)
		case "message":
			d.message(value)
		case "model":
			d.model, _ = wire.Text(value)
		case "done":
			d.done = string(value) == "true"
		case "done_reason":
			d.reason, _ = wire.Text(value)
		case "prompt_eval_count":
			d.usage.Input, _ = strconv.Atoi(string(value))
		case "eval_count":
			d.usage.Output, _ = strconv.Atoi(string(value))
		}
	}
	return nil
}

func (d *decoder) message(raw []byte) {
	for key, value := range wire.Members(raw) {
		switch key {
		case "content":
			d.text(key, value, providers.EventTextDelta)
		case "thinking":
			d.text(key, value, providers.EventThinkingDelta)
		case "tool_calls":
			for call := range wire.Elements(value) {
				d.call(call)
			}
		default:
			f := d.field(key)
			f.value = append(f.value[:0], value...)
		}
	}
}

// field is the member of a name, added when it is new.
func (d *decoder) field(name string) *field {
	for i := range d.fields {
		if d.fields[i].name == name {
			return &d.fields[i]
		}
	}
	d.fields = append(d.fields, field{name: name})
	return &d.fields[len(d.fields)-1]
}

func (d *decoder) text(key string, raw []byte, delta providers.EventType) {
	text, ok := wire.Text(raw)
	if !ok {
		return
	}
	f := d.field(key)
	f.value = append(f.value, raw[1:len(raw)-1]...)
	if text != "" {
		d.emit(providers.Event{Type: delta, Text: text})
	}
}

// call reads one call, which is always whole. Several lines may have some, each beginning
// with the index 0: it says nothing.
func (d *decoder) call(raw []byte) {
	wireName, _ := wire.Text(wire.Lookup(raw, "function", "name"))
	own, _ := wire.Text(wire.Lookup(raw, "id"))
	call := &providers.Call{
		ID:        d.ids.Next(own),
		Name:      d.req.Tools.OwnName(format, wireName),
		Arguments: bytes.Clone(wire.Lookup(raw, "function", "arguments")),
	}
	if call.Arguments == nil || string(call.Arguments) == "null" {
		call.Arguments = json.RawMessage("{}")
	}
	if call.ID != own && len(raw) > 0 && raw[0] == '{' {
		raw = wire.SetMember(raw, "id", wire.AppendString(nil, call.ID))
	}
	f := d.field("tool_calls")
	if f.value != nil {
		f.value = append(f.value, ',')
	}
	f.value = append(f.value, raw...)
	d.calls = append(d.calls, call)
	d.emit(providers.Event{Type: providers.EventArgumentsDelta, Call: call, Text: string(call.Arguments)})
}

// Turn is what has come so far.
func (d *decoder) Turn() *providers.Turn {
	m := providers.Message{Role: providers.RoleAssistant}
	for _, p := range []providers.Part{
		{Type: providers.PartThinking, Text: d.said("thinking")},
		{Type: providers.PartText, Text: d.said("content")},
	} {
		if p.Text != "" {
			m.Parts = append(m.Parts, p)
		}
	}
	for _, call := range d.calls {
		m.Parts = append(m.Parts, providers.Part{Type: providers.PartCall, Call: call})
	}
	m.Raw = &providers.Raw{Provider: name, Model: d.req.Model, Items: d.items()}
	return &providers.Turn{Message: m, Stop: d.stop(), Usage: d.usage, Model: d.model}
}

// said is a text of the message; "" when it has none.
func (d *decoder) said(name string) string {
	for i := range d.fields {
		if d.fields[i].name == name {
			text, _ := wire.Text(d.fields[i].json())
			return text
		}
	}
	return ""
}

// items is the message.
func (d *decoder) items() []byte {
	b := []byte{'{'}
	for i := range d.fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(wire.AppendString(b, d.fields[i].name), ':')
		b = append(b, d.fields[i].json()...)
	}
	return append(b, '}')
}

func (f *field) json() []byte {
	open, shut := "", ""
	switch f.name {
	case "content", "thinking":
		open, shut = `"`, `"`
	case "tool_calls":
		open, shut = "[", "]"
	}
	return append(append([]byte(open), f.value...), shut...)
}

// stop places done_reason. It is stop beside calls too, and older servers have none.
func (d *decoder) stop() providers.Stop {
	switch d.reason {
	case "stop", "":
		if d.calls != nil {
			return providers.StopCalls
		}
		return providers.StopEnd
	case "length":
		return providers.StopLength
	}
	return providers.StopOther // load and unload: the server was asked for its model alone
}
