package gemini

import (
	"bytes"
	"encoding/json"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
)

// A part is a part of a content while it is streamed.
type part struct {
	raw     []byte // the part as it began
	text    string // in raw
	thought bool
	plain   bool   // text and thought are its only members: it has no signature
	called  []byte // the functionCall in raw; may be nil

	call *providers.Call // made of called

	inner []byte // the text for rawjson.Quote, once later events have added to it
}

func newPart(raw []byte) part {
	p := part{raw: bytes.Clone(raw), plain: true}
	for key, value := range wire.Members(p.raw) {
		switch key {
		case "text":
			p.text = rawjson.TextOf(value)
		case "thought":
			p.thought = string(value) == "true"
		case "functionCall":
			if p.plain = false; rawjson.IsObject(value) {
				p.called = value
			}
		default:
			p.plain = false
		}
	}
	return p
}

// takes reports whether the text of the next part continues that of p. A part with a signature
// does not change: it goes back as it is.
func (p *part) takes(next *part) bool {
	return p.plain && next.plain && p.thought == next.thought && p.text != ""
}

// add adds the text of the next part.
func (p *part) add(next *part) {
	if p.inner == nil {
		p.inner = bytes.Clone(inner(p.raw))
	}
	p.inner = append(p.inner, inner(next.raw)...)
}

// inner returns the text of a part for rawjson.Quote.
func inner(raw []byte) []byte {
	text := wire.Lookup(raw, "text")
	return text[1 : len(text)-1]
}

// whole returns the text of the part so far.
func (p *part) whole() string {
	if p.inner == nil {
		return p.text
	}
	return rawjson.TextOf(rawjson.Quote(p.inner))
}

// json returns the part as the API sends it when it is not streamed. The second of two calls
// with the same id gets a new one.
func (p *part) json() []byte {
	if p.inner != nil {
		return wire.SetMember(p.raw, "text", rawjson.Quote(p.inner))
	}
	if p.call == nil {
		return p.raw
	}
	if own := rawjson.TextAt(p.called, "id"); own != "" && own != p.call.ID {
		return wire.SetMember(p.raw, "functionCall", wire.SetMember(p.called, "id", wire.AppendString(nil, p.call.ID)))
	}
	return p.raw
}

// arguments returns those of the call. A call without arguments can lack the member.
func (p *part) arguments() json.RawMessage {
	if args := wire.Lookup(p.called, "args"); !rawjson.IsNull(args) {
		return args
	}
	return json.RawMessage("{}")
}

// object returns an object, or an empty one for any other value.
func object(raw []byte) []byte {
	if !rawjson.IsObject(raw) {
		return []byte("{}")
	}
	return raw
}
