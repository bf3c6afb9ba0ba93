package anthropic

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
)

// The types of blocks that are read here; all others are only kept.
const (
	typeText     = "text"
	typeThinking = "thinking"
	typeToolUse  = "tool_use"
	typeFallback = "fallback"
)

// A block is one of a message's content while its stream comes.
type block struct {
	kind  string
	start []byte          // as it began
	call  *providers.Call // of a tool_use, without its arguments

	grown     []grown  // its texts that deltas have added to
	input     []byte   // what deltas have of its input: JSON, in the escapes of a JSON string
	citations [][]byte // from deltas
}

// grown is a text of a block: what stands between the quotes of its JSON string. JSON
// strings that follow one another are joined so, and nothing is lost of an escape sequence
// that is spread over two deltas.
type grown struct {
	name string
	text []byte
}

// newBlock copies a block as it begins, or as it is.
func newBlock(raw []byte) *block {
	b := &block{start: bytes.Clone(raw)}
	b.kind, _ = wire.Text(wire.Lookup(b.start, "type"))
	return b
}

// add adds a delta to the block. Every text of a delta is added to the block's of the same
// name, so that a kind of delta which is not known here is kept too.
func (b *block) add(delta []byte) {
	for name, value := range wire.Members(delta) {
		isText := len(value) > 1 && value[0] == '"'
		switch {
		case name == "citation":
			b.citations = append(b.citations, bytes.Clone(value))
		case name == "type" || !isText:
		case name == "partial_json":
			b.input = append(b.input, value[1:len(value)-1]...)
		default:
			g := b.grow(name)
			g.text = append(g.text, value[1:len(value)-1]...)
		}
	}
}

func (b *block) grow(name string) *grown {
	for i := range b.grown {
		if b.grown[i].name == name {
			return &b.grown[i]
		}
	}
	g := grown{name: name}
	if value := wire.Lookup(b.start, name); len(value) > 1 && value[0] == '"' {
		g.text = bytes.Clone(value[1 : len(value)-1])
	}
	b.grown = append(b.grown, g)
	return &b.grown[len(b.grown)-1]
}

// text is a text of the block so far.
func (b *block) text(name string) string {
	for i := range b.grown {
		if b.grown[i].name == name {
			text, _ := wire.Text(quoted(b.grown[i].text))
			return text
		}
	}
	text, _ := wire.Text(wire.Lookup(b.start, name))
	return text
}

// json is the block as the API would send it whole.
func (b *block) json() []byte {
	raw := b.start
	for i := range b.grown {
		raw = wire.SetMember(raw, b.grown[i].name, quoted(b.grown[i].text))
	}
	if len(b.input) > 0 || b.kind == typeToolUse {
		call := providers.Call{Arguments: b.arguments()}
		raw = wire.SetMember(raw, "input", call.Object())
	}
	if b.citations != nil {
		raw = wire.SetMember(raw, "citations", array(b.citations))
	}
	return raw
}

// arguments are those of a tool_use as the model wrote them. No text at all, as the API
// streams a call without arguments, leaves what the block began with.
func (b *block) arguments() json.RawMessage {
	written, _ := wire.Text(quoted(b.input))
	text := []byte(strings.TrimSpace(written))
	switch {
	case len(text) == 0:
		if input := wire.Lookup(b.start, "input"); input != nil {
			return input
		}
		return json.RawMessage("{}")
	case wire.Valid(text) == nil:
		return text
	}
	return wire.AppendString(nil, string(text))
}

func quoted(text []byte) []byte {
	q := make([]byte, 0, len(text)+2)
	return append(append(append(q, '"'), text...), '"')
}

// array is a JSON array of raw values.
func array(values [][]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(values, []byte{','})...), ']')
}
