package anthropic

import (
	"bytes"
	"errors"
	"io"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
)

// A decoder assembles a message from its stream.
type decoder struct {
	req  *providers.Request
	emit func(providers.Event)

	ids     *providers.CallIDs
	message []byte // all but its content; nil before it begins
	blocks  []*block
	byIndex map[string]*block // by the index in events
}

func newDecoder(req *providers.Request) *decoder {
	return &decoder{req: req, ids: providers.NewCallIDs(req), byIndex: map[string]*block{}}
}

// Read implements providers.Decoder.
func (d *decoder) Read(resp *providers.Response, emit func(providers.Event)) error {
	d.emit = emit
	err := resp.Events(d.event, d.whole)
	stopped := errors.Is(err, errStopped)
	switch {
	case err != nil && !stopped:
		return err
	case d.message == nil && d.blocks == nil:
		return providers.Unreadable("no message; the Content-Type is %q", resp.Header.Get("Content-Type"))
	case !stopped && d.stopReason() == "": // some endpoints never send message_stop
		return io.ErrUnexpectedEOF
	}
	if why := rawjson.TextAt(d.message, "stop_details", "explanation"); why != "" {
		emit(providers.Event{Type: providers.EventNote, Text: name + ": " + why})
	}
	return nil
}

// errStopped ends the reading of a stream after message_stop.
var errStopped = errors.New("the message has ended")

// whole reads a message that is not streamed.
func (d *decoder) whole(body []byte) error {
	if err := wire.Valid(body); err != nil {
		return providers.Unreadable("%v", err)
	}
	if rawjson.IsObject(wire.Lookup(body, "error")) {
		return streamError(body)
	}
	d.begin(bytes.TrimSpace(body))
	return errStopped
}

// event reads one event of a stream. Events of an unknown type are ignored, as the
// documentation demands.
func (d *decoder) event(kind string, data []byte) error {
	if err := wire.Valid(data); err != nil {
		return providers.Unreadable("%v", err)
	}
	var index, part []byte
	for key, value := range wire.Members(data) {
		switch key {
		case "type":
			kind = rawjson.TextOf(value)
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
		if !rawjson.IsObject(part) {
			return providers.Unreadable("content block %.20q is not an object", index)
		}
		d.byIndex[string(index)] = d.add(part)
	case "content_block_stop":
		d.ended(d.byIndex[string(index)])
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

// begin takes the message as it begins: without content or, while a program that the API runs
// continues to its next call, with complete blocks. A gateway can send it twice. A message of
// another id is a new attempt: the one received so far was abandoned.
func (d *decoder) begin(message []byte) {
	if !rawjson.IsObject(message) {
		return
	}
	if d.message != nil {
		if string(wire.Lookup(d.message, "id")) == string(wire.Lookup(message, "id")) {
			return
		}
		d.emit(providers.Event{Type: providers.EventNote, Text: "anthropic: the answer starts over; disregard its text so far"})
		d.ids, d.blocks = providers.NewCallIDs(d.req), nil
		clear(d.byIndex)
	}
	d.message = bytes.Clone(message)
	for raw := range wire.Elements(wire.Lookup(message, "content")) {
		if rawjson.IsObject(raw) {
			d.ended(d.add(raw))
		}
	}
}

// add begins a block.
func (d *decoder) add(raw []byte) *block {
	b := &block{kind: rawjson.TextAt(raw, "type"), start: bytes.Clone(raw)}
	if b.kind == typeToolUse {
		own := rawjson.TextAt(raw, "id")
		b.call = &providers.Call{ID: d.ids.Next(own), Name: d.req.Tools.OwnName(format, rawjson.TextAt(raw, "name"))}
		if b.call.ID != own {
			b.start = wire.SetMember(b.start, "id", wire.AppendString(nil, b.call.ID))
		}
		if input := wire.Lookup(raw, "input"); len(input) > len("{}") {
			d.emit(providers.Event{Type: providers.EventArgumentsDelta, Call: b.call, Text: string(input)})
		}
	}
	d.blocks = append(d.blocks, b)
	d.emitTexts(b, raw)
	return b
}

// ended tells of a block of thinking that is complete. b may be nil.
func (d *decoder) ended(b *block) {
	if b != nil && (b.kind == typeThinking || b.kind == typeRedacted) {
		d.emit(providers.Event{Type: providers.EventThinkingEnd, Raw: b.json()})
	}
}

// delta adds to a block, which need not be the last one.
func (d *decoder) delta(index, delta []byte) error {
	b := d.byIndex[string(index)]
	if b == nil {
		return providers.Unreadable("a delta for content block %.20q, which has not begun", index)
	}
	b.add(delta)
	d.emitTexts(b, delta)
	return nil
}

// emitTexts emits the texts in a block, or in a delta for it.
func (d *decoder) emitTexts(b *block, raw []byte) {
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
		if e.Text = rawjson.TextOf(value); e.Text != "" {
			d.emit(e)
		}
	}
}

// change merges a message_delta into the message: its stop reason, and its usage so far, of
// which unchanged members can be missing.
func (d *decoder) change(event []byte) {
	if d.message == nil {
		d.message = []byte(`{"type":"message","role":"assistant"}`)
	}
	for key, value := range wire.Members(event) {
		switch key {
		case "type":
		case "delta":
			d.message = rawjson.Override(d.message, value)
		case "usage":
			d.message = wire.SetMember(d.message, key, rawjson.Override(wire.Lookup(d.message, key), value))
		default:
			d.message = wire.SetMember(d.message, key, value)
		}
	}
}

func (d *decoder) stopReason() string { return rawjson.TextAt(d.message, "stop_reason") }

// Turn implements providers.Decoder.
func (d *decoder) Turn() *providers.Turn {
	t := &providers.Turn{Stop: stop(d.stopReason()), Usage: usage(wire.Lookup(d.message, "usage"))}
	t.Message.Role = providers.RoleAssistant
	t.Model = rawjson.TextAt(d.message, "model")
	fallback := -1 // the last one: the blocks before it are of models that refused
	raw := make([][]byte, len(d.blocks))
	for i, b := range d.blocks {
		if raw[i] = b.json(); b.kind == typeFallback {
			fallback = i
			if model, ok := wire.Text(wire.Lookup(raw[i], "to", "model")); ok {
				t.Model = model
			}
		}
	}
	for i, b := range d.blocks {
		switch b.kind {
		case typeText:
			t.Message.AddText(providers.PartText, rawjson.TextAt(raw[i], "text"))
		case typeThinking:
			t.Message.AddText(providers.PartThinking, rawjson.TextAt(raw[i], "thinking"))
		case typeToolUse:
			if i > fallback {
				call := *b.call // listeners have the other one
				call.Arguments = b.arguments()
				t.Message.Parts = append(t.Message.Parts, providers.Part{Type: providers.PartCall, Call: &call})
			}
		}
	}
	if d.message != nil {
		t.Message.Raw = &providers.Raw{Provider: name, Model: d.req.Model, Items: wire.SetMember(d.message, "content", rawjson.Array(raw))}
	}
	return t
}

// stop maps stop_reason.
func stop(reason string) providers.Stop {
	switch reason {
	case "end_turn", "stop_sequence":
		return providers.StopEnd
	case "tool_use":
		return providers.StopCalls
	case "max_tokens":
		return providers.StopLength
	case "model_context_window_exceeded":
		return providers.StopWindow
	case "refusal":
		return providers.StopRefused
	case "pause_turn", "compaction": // the server's tools take long; the conversation was compacted
		return providers.StopPaused
	}
	return providers.StopOther
}

// usage returns the usage. input_tokens is without the tokens written to or read from a cache.
func usage(raw []byte) providers.Usage {
	cached := rawjson.NumberAt(raw, "cache_read_input_tokens")
	written := rawjson.NumberAt(raw, "cache_creation_input_tokens")
	return providers.Usage{
		Input:  rawjson.NumberAt(raw, "input_tokens") + written + cached,
		Output: rawjson.NumberAt(raw, "output_tokens"),
		Cached: cached, CacheWrite: written,
		Reasoning: rawjson.NumberAt(raw, "output_tokens_details", "thinking_tokens"),
	}
}
