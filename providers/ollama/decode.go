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
	answer rawjson.Node // the message
	calls  []*providers.Call
	model  string
	reason string // done_reason
	done   bool
	usage  providers.Usage
}

func newDecoder(req *providers.Request) *decoder {
	d := &decoder{req: req, ids: providers.NewCallIDs(req)}
	d.answer.Child("role").SetText("assistant") // in case the server omits it
	return d
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

// message adds the message of a line. Its texts and calls are joined over all lines; of any
// other member the last value counts.
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
			d.answer.Child(key).Set(value)
		}
	}
}

func (d *decoder) text(key string, raw []byte, delta providers.EventType) {
	text, ok := wire.Text(raw)
	if !ok {
		return
	}
	d.answer.Child(key).Merge(raw)
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
	d.answer.Child("tool_calls").AppendElement(raw)
	d.calls = append(d.calls, call)
	d.emit(providers.Event{Type: providers.EventArgumentsDelta, Call: call, Text: string(call.Arguments)})
}

// Turn implements providers.Decoder.
func (d *decoder) Turn() *providers.Turn {
	m := providers.Message{Role: providers.RoleAssistant}
	m.AddText(providers.PartThinking, d.answer.Get("thinking").Text())
	m.AddText(providers.PartText, d.answer.Get("content").Text())
	for _, call := range d.calls {
		m.Parts = append(m.Parts, providers.Part{Type: providers.PartCall, Call: call})
	}
	m.Raw = &providers.Raw{Provider: name, Model: d.req.Model, Items: d.answer.JSON()}
	return &providers.Turn{Message: m, Stop: d.stop(), Usage: d.usage, Model: d.model}
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
