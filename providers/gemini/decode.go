package gemini

import (
	"bytes"
	"io"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
)

// A decoder assembles a candidate from its stream, each event of which is a response.
type decoder struct {
	req  *providers.Request
	emit func(providers.Event)
	ids  *providers.CallIDs

	begun     bool // an event was read
	usage     usage
	feedback  []byte // promptFeedback
	model     string
	reason    string // finishReason; "" before the end
	candidate []byte // the latest members, but the first content; may be nil
	parts     []part // of the content
	open      int    // the index in parts, from 1, of the call whose arguments are streamed; 0 if there is none
	edited    bool   // the parts differ from those in candidate
}

func newDecoder(req *providers.Request) *decoder {
	return &decoder{req: req, ids: providers.NewCallIDs(req)}
}

// Read implements providers.Decoder.
func (d *decoder) Read(resp *providers.Response, emit func(providers.Event)) error {
	d.emit = emit
	err := resp.Events(d.event, d.whole)
	switch {
	case err != nil:
		return err
	case !d.begun:
		return providers.Unreadable("no event; the Content-Type is %q", resp.Header.Get("Content-Type"))
	case d.reason == "" && d.blockReason() == "":
		return io.ErrUnexpectedEOF
	}
	if why := d.explanation(); why != "" {
		emit(providers.Event{Type: providers.EventNote, Text: name + ": " + why})
	}
	return nil
}

// whole reads a response that is not streamed, or an array of the events of a stream.
func (d *decoder) whole(body []byte) error {
	body = bytes.TrimSpace(body)
	if len(body) == 0 || body[0] != '[' {
		return d.event("", body)
	}
	if err := wire.Valid(body); err != nil {
		return providers.Unreadable("%v", err)
	}
	for event := range wire.Elements(body) {
		if err := d.event("", event); err != nil {
			return err
		}
	}
	return nil
}

// event reads one response of a stream.
func (d *decoder) event(_ string, data []byte) error {
	if err := wire.Valid(data); err != nil {
		return providers.Unreadable("%v", err)
	}
	for key, value := range wire.Members(data) {
		d.begun = true
		switch key {
		case "error":
			if rawjson.IsObject(value) {
				return streamError(data)
			}
		case "candidates":
			for candidate := range wire.Elements(value) {
				if err := d.answer(candidate); err != nil {
					return err
				}
			}
		case "usageMetadata":
			d.usage.add(value)
		case "promptFeedback":
			d.feedback = bytes.Clone(value)
		case "modelVersion":
			d.model = rawjson.TextOf(value)
		}
	}
	return nil
}

// answer merges the first candidate of an event. Others exist if the body asked for them.
func (d *decoder) answer(candidate []byte) error {
	var content []byte
	more := false // it has members besides index and content
	for key, value := range wire.Members(candidate) {
		switch key {
		case "index":
			if string(value) != "0" {
				return nil
			}
		case "content":
			content = value
		default:
			more = true
		}
	}
	switch {
	case !rawjson.IsObject(candidate):
		return nil
	case d.candidate == nil:
		d.candidate = bytes.Clone(candidate)
	default:
		if d.edited = true; more {
			d.change(candidate)
		}
	}
	if reason, ok := wire.Text(wire.Lookup(candidate, "finishReason")); ok {
		d.reason = reason
	}
	return d.content(content)
}

// change merges the members of a candidate other than its content.
func (d *decoder) change(candidate []byte) {
	for key, value := range wire.Members(candidate) {
		if key != "content" {
			d.candidate = wire.SetMember(d.candidate, key, value)
		}
	}
}

// content adds the parts of an event.
func (d *decoder) content(content []byte) error {
	continues := len(d.parts) > 0
	for key, value := range wire.Members(content) {
		if key != "parts" {
			continue
		}
		for raw := range wire.Elements(value) {
			if !rawjson.IsObject(raw) {
				return providers.Unreadable("a part of the content is not an object")
			}
			if err := d.add(raw, continues); err != nil {
				return err
			}
			continues = false
		}
	}
	return nil
}

// add adds a part. With continues it may continue the text of the previous event.
func (d *decoder) add(raw []byte, continues bool) error {
	p := newPart(raw)
	switch {
	case p.called != nil && d.open > 0 && rawjson.TextAt(p.called, "name") == "":
		return d.continueCall(&p)
	case p.called != nil:
		d.endCall()
		own := rawjson.TextAt(p.called, "id")
		p.call = &providers.Call{
			ID: d.ids.Next(own), Name: d.req.Tools.OwnName(format, rawjson.TextAt(p.called, "name")), Arguments: p.arguments(),
		}
		d.edited = d.edited || own != "" && own != p.call.ID
		if isStreamed(p.called) {
			return d.beginCall(p)
		}
		d.emit(providers.Event{Type: providers.EventArgumentsDelta, Call: p.call, Text: string(p.call.Arguments)})
	case p.text != "" && p.thought:
		d.emit(providers.Event{Type: providers.EventThinkingDelta, Text: p.text})
	case p.text != "":
		d.emit(providers.Event{Type: providers.EventTextDelta, Text: p.text})
	case p.plain: // an empty text, which the API refuses in a request
		d.edited = true
		return nil
	}
	if last := len(d.parts) - 1; continues && d.parts[last].takes(&p) {
		d.parts[last].add(&p)
		return nil
	}
	d.parts = append(d.parts, p)
	return nil
}
