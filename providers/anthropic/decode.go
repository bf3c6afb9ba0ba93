package anthropic

import (
	"bytes"
	"errors"
	"io"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
)

// A decoder puts a message together from its stream.
type decoder struct {
	req  *providers.Request
	emit func(providers.Event)

	ids     *providers.CallIDs
	message []byte // all but its content; nil before it has begun
	blocks  []*block
	at      map[string]*block // by the index that deltas name
}

func newDecoder(req *providers.Request) *decoder {
	return &decoder{req: req, ids: providers.NewCallIDs(req), at: map[string]*block{}}
}

// Read reads a response to the end of its message.
func (d *decoder) Read(resp *providers.Response, emit func(providers.Event)) error {
	d.emit = emit
	var err error
	if resp.Streamed() {
		err = resp.Events(d.event)
	} else {
		err = d.whole(io.ReadAll(resp))
	}
	stopped := errors.Is(err, errStopped)
	switch {
	case err != nil && !stopped:
		return err
	case d.message == nil && d.blocks == nil:
		return providers.Unreadable("it holds no message, and its Content-Type is %q", resp.Header.Get("Content-Type"))
	case !stopped && d.stopReason() == "": // some endpoints never send message_stop
		return io.ErrUnexpectedEOF
	}
	if why, _ := wire.Text(wire.Lookup(d.message, "stop_details", "explanation")); why != "" {
		emit(providers.Event{Type: providers.EventNote, Text: name + ": " + why})
	}
	return nil
}

// errStopped ends the reading of a stream behind message_stop.
var errStopped = errors.New("the message has ended")

// whole reads a message that is not streamed.
func (d *decoder) whole(body []byte, err error) error {
	if err != nil {
		return err
	}
	if err := wire.Valid(body); err != nil {
		return providers.Unreadable("%v", err)
	}
	if isObject(wire.Lookup(body, "error")) {
		return streamError(body)
	}
	d.begin(bytes.TrimSpace(body))
	return errStopped
}

// event reads one event of a stream. Those of an unknown type are passed over, as the
// documentation asks.
func (d *decoder) event(kind string, data []byte) error {
	if err := wire.Valid(data); err != nil {
		return providers.Unreadable("%v", err)
	}
	var index, part []byte
	for key, value := range wire.Members(data) {
		switch key {
		case "type":
			kind, _ = wire.Text(value)
		case "index":
			index = value
		case "message", "content_block", "delta":
			part = value
		}
	}
	switch kind {
	case "message_start":
		d.begin(part)
	case "content_block_start":
		if !isObject(part) {
			return providers.Unreadable("block %.20q of its message is no object", index)
		}
		d.at[string(index)] = d.add(part)
	case "content_block_delta":
		return d.delta(index, part)
	case "message_delta":
		d.change(data)
	case "message_stop":
		return errStopped
	case "error":
		return streamError(data)
	}
	return nil
}

// begin takes the message as it begins: without content, or with blocks that are whole, as
// it is where a program that the API runs goes on to its next call. A gateway can send it
// twice. Another message in its place is another attempt, and what has come so far belongs
// to one that was given up.
func (d *decoder) begin(message []byte) {
	if !isObject(message) {
		return
	}
	if d.message != nil {
		if string(wire.Lookup(d.message, "id")) == string(wire.Lookup(message, "id")) {
			return
		}
		d.emit(providers.Event{Type: providers.EventNote, Text: "anthropic: the answer begins anew; what has come of it so far does not count"})
		d.ids, d.blocks = providers.NewCallIDs(d.req), nil
		clear(d.at)
	}
	d.message = bytes.Clone(message)
	for raw := range wire.Elements(wire.Lookup(message, "content")) {
		if isObject(raw) {
			d.add(raw)
		}
	}
}

func isObject(raw []byte) bool { return len(raw) > 0 && raw[0] == '{' }

// add begins a block.
func (d *decoder) add(raw []byte) *block {
	b := newBlock(raw)
	if b.kind == typeToolUse {
		b.call = &providers.Call{}
		own, _ := wire.Text(wire.Lookup(raw, "id"))
		if b.call.ID = d.ids.Next(own); b.call.ID != own {
			b.start = wire.SetMember(b.start, "id", wire.AppendString(nil, b.call.ID))
		}
		called, _ := wire.Text(wire.Lookup(raw, "name"))
		b.call.Name = d.req.Tools.OwnName(format, called)
		if input := wire.Lookup(raw, "input"); len(input) > len("{}") {
			d.emit(providers.Event{Type: providers.EventArgumentsDelta, Call: b.call, Text: string(input)})
		}
	}
	d.blocks = append(d.blocks, b)
	d.tell(b, raw)
	return b
}

// delta adds to a block, which another one can have followed already.
func (d *decoder) delta(index, delta []byte) error {
	b := d.at[string(index)]
	if b == nil {
		return providers.Unreadable("it adds to block %.20q of its message, which has not begun", index)
	}
	b.add(delta)
	d.tell(b, delta)
	return nil
}

// tell tells what a block or a delta of it has to show.
func (d *decoder) tell(b *block, raw []byte) {
	for key, value := range wire.Members(raw) {
		e := providers.Event{Call: b.call}
		switch {
		case key == "text" && b.kind == typeText:
			e.Type = providers.EventTextDelta
		case key == "thinking" && b.kind == typeThinking:
			e.Type = providers.EventThinkingDelta
		case key == "partial_json" && b.kind == typeToolUse:
			e.Type = providers.EventArgumentsDelta
		default:
			continue
		}
		if e.Text, _ = wire.Text(value); e.Text != "" {
			d.emit(e)
		}
	}
}

// change takes what message_delta says of the message: why it stops, and its usage so far,
// of which it need not tell all again.
func (d *decoder) change(event []byte) {
	if d.message == nil {
		d.message = []byte(`{"type":"message","role":"assistant"}`)
	}
	for key, value := range wire.Members(event) {
		switch key {
		case "type":
		case "delta":
			d.message = over(d.message, value)
		case "usage":
			usage := wire.Lookup(d.message, "usage")
			if !isObject(usage) {
				usage = []byte("{}")
			}
			d.message = wire.SetMember(d.message, key, over(usage, value))
		default:
			d.message = wire.SetMember(d.message, key, value)
		}
	}
}

// over is an object with the members of another that are not null.
func over(object, members []byte) []byte {
	for key, value := range wire.Members(members) {
		if string(value) != "null" {
			object = wire.SetMember(object, key, value)
		}
	}
	return object
}
