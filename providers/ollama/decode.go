package ollama

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
)

// errNotJSON is the error for a line of another program.
var errNotJSON = errors.New("a line is not a JSON object")

// A decoder makes a turn of the lines of a response.
type decoder struct {
	req    *providers.Request
	emit   func(providers.Event)
	ids    *providers.CallIDs
	fields []field // of the message, in the order in which they first appeared
	calls  []*providers.Call
	model  string
	reason string // done_reason
	done   bool
	usage  providers.Usage
}

// A field is a member of the message. The strings of texts and the elements of tool_calls
// are joined over all lines; of any other member the last value counts.
type field struct {
	name  string
	value []byte // without quotes or brackets, if it is joined
}

func newDecoder(req *providers.Request) *decoder {
	role := field{name: "role", value: []byte(`"assistant"`)} // in case the server omits it
	return &decoder{req: req, ids: providers.NewCallIDs(req), fields: []field{role}}
}

// Read implements providers.Decoder.
func (d *decoder) Read(resp *providers.Response, emit func(providers.Event)) error {
	d.emit = emit
	err := resp.Lines(d.line, d.whole)
	if err == nil && !d.done {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// whole reads a body of one object, on any number of lines, or of one object a line.
func (d *decoder) whole(body []byte) error {
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
		return errNotJSON
	}
	for key, value := range wire.Members(data) {
		switch key {
		case "error":
			return streamError(data)
		case "message":
			d.message(value)
		case "model":
			d.model = rawjson.TextOf(value)
		case "done":
			d.done = string(value) == "true"
		case "done_reason":
			d.reason = rawjson.TextOf(value)
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

// field returns the member of a name, and adds it if it is new.
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

// call reads a call, which is always complete. Its index is meaningless: each line with
// calls counts from 0.
func (d *decoder) call(raw []byte) {
	own := rawjson.TextAt(raw, "id")
	call := &providers.Call{
		ID:        d.ids.Next(own),
		Name:      d.req.Tools.OwnName(format, rawjson.TextAt(raw, "function", "name")),
		Arguments: bytes.Clone(wire.Lookup(raw, "function", "arguments")),
	}
	if rawjson.IsNull(call.Arguments) {
		call.Arguments = json.RawMessage("{}")
	}
	if call.ID != own && rawjson.IsObject(raw) {
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

// Turn implements providers.Decoder.
func (d *decoder) Turn() *providers.Turn {
	m := providers.Message{Role: providers.RoleAssistant}
	m.AddText(providers.PartThinking, d.joined("thinking"))
	m.AddText(providers.PartText, d.joined("content"))
	for _, call := range d.calls {
		m.Parts = append(m.Parts, providers.Part{Type: providers.PartCall, Call: call})
	}
	m.Raw = &providers.Raw{Provider: name, Model: d.req.Model, Items: d.items()}
	return &providers.Turn{Message: m, Stop: d.stop(), Usage: d.usage, Model: d.model}
}

// joined returns a text of the message; "" if it has none.
func (d *decoder) joined(name string) string {
	for i := range d.fields {
		if d.fields[i].name == name {
			return rawjson.TextOf(d.fields[i].json())
		}
	}
	return ""
}

// items returns the message.
func (d *decoder) items() []byte {
	b := []byte{'{'}
	for i := range d.fields {
		b = rawjson.Raw(b, d.fields[i].name, d.fields[i].json())
	}
	return append(b, '}')
}

func (f *field) json() []byte {
	switch f.name {
	case "content", "thinking":
		return rawjson.Quote(f.value)
	case "tool_calls":
		return rawjson.Array([][]byte{f.value})
	}
	return f.value
}

// stop maps done_reason. It is stop beside calls too, and older servers omit it.
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
	return providers.StopOther // such as load and unload, for a request without messages
}
