package openai

import (
	"bytes"
	"cmp"
	"io"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A responsesDecoder makes a turn of a response, streamed or not.
type responsesDecoder struct {
	reading

	items   []*outputItem // in the order in which they began
	byIndex map[int]*outputItem
	final   bool   // the last event was read
	status  string // of the response
	reason  string // of incomplete_details
}

// An outputItem is an item of the output, identified by its index: with some servers
// (Copilot) ids change from event to event.
type outputItem struct {
	began []byte          // the item of output_item.added
	done  []byte          // the item of output_item.done, which is kept
	kind  string          // its type, if known
	text  strings.Builder // of its deltas: text, reasoning or arguments
	shown *providers.Call // for events
}

func newResponsesDecoder(a *api, req *providers.Request) *responsesDecoder {
	return &responsesDecoder{reading: newReading(a, req, toolformat.FormatOpenAIResponses), byIndex: map[int]*outputItem{}}
}

// Read implements providers.Decoder.
func (d *responsesDecoder) Read(resp *providers.Response, emit func(providers.Event)) error {
	d.emit = emit
	return read(resp, d)
}

// An outputEvent has the members of an event.
type outputEvent struct {
	kind, delta               string
	index, part               int
	item, response, arguments []byte
}

func readEvent(kind string, data []byte) outputEvent {
	e := outputEvent{kind: kind, index: -1}
	for name, value := range wire.Members(data) {
		switch name {
		case "type":
			e.kind = cmp.Or(rawjson.TextOf(value), e.kind)
		case "delta":
			e.delta = rawjson.TextOf(value)
		case "output_index":
			e.index = rawjson.Index(value)
		case "summary_index":
			e.part = rawjson.Index(value)
		case "item":
			e.item = value
		case "response":
			e.response = value
		case "arguments":
			e.arguments = value
		}
	}
	return e
}

func (d *responsesDecoder) event(kind string, data []byte) error {
	data, err := valid(data)
	if err != nil || len(data) == 0 {
		return err
	}
	e := readEvent(kind, data)
	switch e.kind {
	case "error": // flat, or in an object: ReadError knows both shapes
		return streamError(data)
	case "response.created", "response.in_progress", "response.queued":
		d.model = cmp.Or(rawjson.TextAt(e.response, "model"), d.model)
	case "response.output_item.added":
		it := d.item(&e)
		it.began, it.kind = bytes.Clone(e.item), rawjson.TextAt(e.item, "type")
	case "response.output_item.done":
		it := d.item(&e)
		it.done = bytes.Clone(e.item)
		d.tell(it)
	case "response.output_text.delta", "response.refusal.delta":
		d.piece("message", providers.EventTextDelta, &e)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		d.piece("reasoning", providers.EventThinkingDelta, &e)
	case "response.reasoning_summary_part.added":
		if e.part > 0 {
			e.delta = "\n\n"
			d.piece("reasoning", providers.EventThinkingDelta, &e)
		}
	case "response.function_call_arguments.delta":
		d.piece("function_call", providers.EventArgumentsDelta, &e)
	case "response.function_call_arguments.done":
		it := d.item(&e)
		it.text.Reset()
		it.text.WriteString(rawjson.TextOf(e.arguments))
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		return d.last(e.response)
	}
	return nil
}

// last reads the last event of a stream. Some servers send the items of the output only with it.
func (d *responsesDecoder) last(response []byte) error {
	streamed := len(d.items)
	if err := d.response(response); err != nil || len(d.items) == streamed {
		return err
	}
	for _, it := range d.items {
		if streamed == 0 {
			d.tell(it)
		} else { // what it says has come in pieces
			d.ended(it.done)
		}
	}
	return nil
}

// item returns the item of an event: that of its index, the latest for an event without an
// index, or a new one if that item has begun or ended already.
func (d *responsesDecoder) item(e *outputEvent) *outputItem {
	var it *outputItem
	if e.index >= 0 {
		it = d.byIndex[e.index]
	} else if n := len(d.items); n > 0 {
		it = d.items[n-1]
	}
	begins, ends := e.kind == "response.output_item.added", e.kind == "response.output_item.done"
	if it == nil || begins && it.began != nil || it.done != nil && (begins || ends || e.index < 0) {
		it = &outputItem{}
		d.items = append(d.items, it)
		d.byIndex[e.index] = it
	}
	return it
}

// piece adds a delta to an item and emits it.
func (d *responsesDecoder) piece(itemType string, kind providers.EventType, e *outputEvent) {
	it := d.item(e)
	it.kind = cmp.Or(it.kind, itemType)
	it.text.WriteString(e.delta)
	if e.delta == "" {
		return
	}
	event := providers.Event{Type: kind, Text: e.delta}
	if kind == providers.EventArgumentsDelta {
		if it.shown == nil {
			it.shown = &providers.Call{ID: rawjson.TextAt(it.began, "call_id"), Name: d.toolNamed(rawjson.TextAt(it.began, "name"))}
		}
		event.Call = it.shown
	}
	d.emit(event)
}

// tell tells of a whole item, and what it says, unless that has come in pieces.
func (d *responsesDecoder) tell(it *outputItem) {
	if it.text.Len() == 0 {
		parts, _ := itemParts(it.done)
		d.emitParts(parts)
	}
	d.ended(it.done)
}

// ended tells of a whole item: of reasoning, and by a note of an approval request of the provider's
// own MCP tools, for which no part of a message has a place.
func (d *responsesDecoder) ended(item []byte) {
	switch rawjson.TextAt(item, "type") {
	case "reasoning":
		d.emit(providers.Event{Type: providers.EventThinkingEnd, Raw: item})
	case "mcp_approval_request":
		d.emit(providers.Event{Type: providers.EventNote, Text: "the provider asks whether its own tool " + rawjson.TextAt(item, "name") +
			" of the server " + rawjson.TextAt(item, "server_label") + " may run (approval request " + rawjson.TextAt(item, "id") + ")"})
	}
}

// response reads the final state of a response.
func (d *responsesDecoder) response(response []byte) error {
	d.final = true
	d.status = rawjson.TextAt(response, "status")
	d.reason = rawjson.TextAt(response, "incomplete_details", "reason")
	d.model = cmp.Or(rawjson.TextAt(response, "model"), d.model)
	d.usage = responsesUsage(wire.Lookup(response, "usage"))
	if d.status == "failed" || !rawjson.IsNull(wire.Lookup(response, "error")) {
		return streamError(response)
	}
	var output []*outputItem
	for item := range wire.Elements(wire.Lookup(response, "output")) {
		output = append(output, &outputItem{done: bytes.Clone(item)})
	}
	if len(output) > len(d.items) { // not streamed, or without the events of items
		d.items = output
	}
	for i, it := range d.items[:min(len(d.items), len(output))] {
		if it.done == nil {
			it.done = output[i].done
		}
	}
	return nil
}

func (d *responsesDecoder) whole(body []byte) error {
	body, err := valid(body)
	if err != nil {
		return err
	}
	if err := d.response(body); err != nil {
		return err
	}
	if d.status == "" && len(d.items) == 0 {
		return &providers.APIError{Status: 200, Message: "the response has no output and no status"}
	}
	for _, it := range d.items {
		d.tell(it)
	}
	return nil
}

// end implements decoder. Servers that omit the last event at least send [DONE].
func (d *responsesDecoder) end(done bool) error {
	if d.final || done {
		return nil
	}
	return io.ErrUnexpectedEOF
}

// stop maps the status of the response, and the reason if it is incomplete.
func (d *responsesDecoder) stop(calls, refused bool) providers.Stop {
	switch d.status {
	case "completed", "":
		switch {
		case refused:
			return providers.StopRefused
		case calls:
			return providers.StopCalls
		}
		return providers.StopEnd
	case "incomplete":
		switch d.reason {
		case "max_output_tokens":
			return providers.StopLength
		case "content_filter":
			return providers.StopRefused
		}
		return providers.StopOther // max_messages, steered
	case "cancelled":
		return providers.StopCut
	}
	return providers.StopOther // queued, in_progress: a background response
}

func responsesUsage(usage []byte) providers.Usage {
	return providers.Usage{
		Input:  rawjson.NumberAt(usage, "input_tokens"),
		Output: rawjson.NumberAt(usage, "output_tokens"),
		Cached: rawjson.NumberAt(usage, "input_tokens_details", "cached_tokens"), CacheWrite: rawjson.NumberAt(usage, "input_tokens_details", "cache_write_tokens"),
		Reasoning: rawjson.NumberAt(usage, "output_tokens_details", "reasoning_tokens"),
	}
}
