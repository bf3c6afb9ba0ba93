package gemini

import (
	"bytes"
	"io"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
)

// A decoder puts a candidate together from its stream, of which each event is a response
// itself.
type decoder struct {
	req  *providers.Request
	emit func(providers.Event)
	ids  *providers.CallIDs

	begun     bool // an event has come
	usage     usage
	feedback  []byte // on the prompt
	model     string
	reason    string // why it finishes; "" before that
	candidate []byte // the last that was said on each of its members, but its content as it began; nil before that
	parts     []part // of its content
	edited    bool   // the parts are not those that it began with
}

func newDecoder(req *providers.Request) *decoder {
	return &decoder{req: req, ids: providers.NewCallIDs(req)}
}

// Read reads a response to its end.
func (d *decoder) Read(resp *providers.Response, emit func(providers.Event)) error {
	d.emit = emit
	var err error
	if resp.Streamed() {
		err = resp.Events(d.event)
	} else {
		err = d.whole(io.ReadAll(resp))
	}
	switch {
	case err != nil:
		return err
	case !d.begun:
		return providers.Unreadable("it holds no event, and its Content-Type is %q", resp.Header.Get("Content-Type"))
	case d.reason == "" && d.blockReason() == "":
		return io.ErrUnexpectedEOF
	}
	if why := d.explanation(); why != "" {
		emit(providers.Event{Type: providers.EventNote, Text: name + ": " + why})
	}
	return nil
}

// whole reads a response that is not streamed, or a stream that came as an array.
func (d *decoder) whole(body []byte, err error) error {
	if err != nil {
		return err
	}
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
			if isObject(value) {
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
			d.model, _ = wire.Text(value)
		}
	}
	return nil
}

// answer takes what an event has of the first candidate; others are there when the body
// asked for them.
func (d *decoder) answer(candidate []byte) error {
	var content []byte
	more := false // than each event has
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
	case !isObject(candidate):
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

// change takes what an event says of the candidate beside its content.
func (d *decoder) change(candidate []byte) {
	for key, value := range wire.Members(candidate) {
		if key != "content" {
			d.candidate = wire.SetMember(d.candidate, key, value)
		}
	}
}

// content takes the parts that an event has.
func (d *decoder) content(content []byte) error {
	goesOn := len(d.parts) > 0
	for key, value := range wire.Members(content) {
		if key != "parts" {
			continue
		}
		for raw := range wire.Elements(value) {
			if !isObject(raw) {
				return providers.Unreadable("a part of its content is no object")
			}
			if err := d.add(raw, goesOn); err != nil {
				return err
			}
			goesOn = false
		}
	}
	return nil
}

// add takes a part. goesOn says that it may go on with the text of the event before.
func (d *decoder) add(raw []byte, goesOn bool) error {
	p := newPart(raw)
	switch {
	case p.called != nil:
		if wire.Lookup(p.called, "willContinue") != nil || wire.Lookup(p.called, "partialArgs") != nil {
			return providers.Unreadable("the arguments of a call come in pieces: take streamFunctionCallArguments out of the body")
		}
		own := p.word("id")
		p.call = &providers.Call{ID: d.ids.Next(own), Name: d.req.Tools.OwnName(format, p.word("name")), Arguments: p.arguments()}
		d.edited = d.edited || own != "" && own != p.call.ID
		d.emit(providers.Event{Type: providers.EventArgumentsDelta, Call: p.call, Text: string(p.call.Arguments)})
	case p.text != "" && p.thought:
		d.emit(providers.Event{Type: providers.EventThinkingDelta, Text: p.text})
	case p.text != "":
		d.emit(providers.Event{Type: providers.EventTextDelta, Text: p.text})
	case p.plain: // an empty text, which the API would not take back
		d.edited = true
		return nil
	}
	if last := len(d.parts) - 1; goesOn && d.parts[last].takes(&p) {
		d.parts[last].add(&p)
		return nil
	}
	d.parts = append(d.parts, p)
	return nil
}
