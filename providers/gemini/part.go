package gemini

import (
	"bytes"
	"encoding/json"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
)

// A part is one of a content while its stream comes.
type part struct {
	raw     []byte // as it came
	text    string // "" for none
	thought bool
	plain   bool   // there is nothing in it but the two: no signature
	called  []byte // its functionCall, in raw; nil for none

	call *providers.Call // the same, for the bridge

	grown []byte // the text between its quotes, when the events that followed have added to it
}

func newPart(raw []byte) part {
	p := part{raw: bytes.Clone(raw), plain: true}
	for key, value := range wire.Members(p.raw) {
		switch key {
		case "text":
			p.text, _ = wire.Text(value)
		case "thought":
			p.thought = string(value) == "true"
		case "functionCall":
			if p.plain = false; isObject(value) {
				p.called = value
			}
		default:
			p.plain = false
		}
	}
	return p
}

// takes reports whether the text of the next part is a continuation of this one's. A part
// with a signature stays as it is: it goes back unchanged.
func (p *part) takes(next *part) bool {
	return p.plain && next.plain && p.thought == next.thought && p.text != ""
}

// add adds the text of the next part.
func (p *part) add(next *part) {
	if p.grown == nil {
		p.grown = inner(p.raw)
	}
	p.grown = append(p.grown, inner(next.raw)...)
}

// inner is a copy of what stands between the quotes of a part's text. JSON strings that
// follow one another are joined so.
func inner(raw []byte) []byte {
	text := wire.Lookup(raw, "text")
	return bytes.Clone(text[1 : len(text)-1])
}

// whole is the whole text of the part.
func (p *part) whole() string {
	if p.grown == nil {
		return p.text
	}
	text, _ := wire.Text(quoted(p.grown))
	return text
}

// json is the part as the API would send it whole. Of two calls with the same id the second
// has another one.
func (p *part) json() []byte {
	if p.grown != nil {
		return wire.SetMember(p.raw, "text", quoted(p.grown))
	}
	if p.call == nil {
		return p.raw
	}
	if own := p.word("id"); own != "" && own != p.call.ID {
		return wire.SetMember(p.raw, "functionCall", wire.SetMember(p.called, "id", wire.AppendString(nil, p.call.ID)))
	}
	return p.raw
}

// word is a text of the part's call.
func (p *part) word(key string) string {
	text, _ := wire.Text(wire.Lookup(p.called, key))
	return text
}

// arguments are those of the part's call. A call without any can lack them.
func (p *part) arguments() json.RawMessage {
	if args := wire.Lookup(p.called, "args"); args != nil && string(args) != "null" {
		return args
	}
	return json.RawMessage("{}")
}

func isObject(raw []byte) bool { return len(raw) > 0 && raw[0] == '{' }

// object is an object, or an empty one for what is none.
func object(raw []byte) []byte {
	if !isObject(raw) {
		return []byte("{}")
	}
	return raw
}

func quoted(text []byte) []byte {
	q := make([]byte, 0, len(text)+2)
	return append(append(append(q, '"'), text...), '"')
}

// array is a JSON array of raw values.
func array(values [][]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(values, []byte{','})...), ']')
}
