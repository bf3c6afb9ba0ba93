package anthropic

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
)

// The types of blocks that are read; those of other types are only kept.
const (
	typeText     = "text"
	typeThinking = "thinking"
	typeRedacted = "redacted_thinking"
	typeToolUse  = "tool_use"
	typeFallback = "fallback"
)

// A block is a block of a message's content while it is streamed.
type block struct {
	kind  string
	start []byte          // the block as it began
	call  *providers.Call // of a tool_use, without its arguments

	texts     []text   // the texts to which deltas have added
	input     []byte   // the input from deltas: JSON, as the inside of a JSON string
	citations [][]byte // from deltas
}

// A text is a member of a block that deltas add to.
type text struct {
	name  string
	inner []byte // what is between its quotes
}

// add adds a delta to the block. Every string of the delta is appended to the block's of the
// same name, so that deltas of unknown types are kept too.
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
			t := b.text(name)
			t.inner = append(t.inner, value[1:len(value)-1]...)
		}
	}
}

// text returns the text of a name, for more to be appended.
func (b *block) text(name string) *text {
	for i := range b.texts {
		if b.texts[i].name == name {
			return &b.texts[i]
		}
	}
	t := text{name: name}
	if value := wire.Lookup(b.start, name); len(value) > 1 && value[0] == '"' {
		t.inner = bytes.Clone(value[1 : len(value)-1])
	}
	b.texts = append(b.texts, t)
	return &b.texts[len(b.texts)-1]
}

// json returns the block as the API sends it when it is not streamed.
func (b *block) json() []byte {
	raw := b.start
	for i := range b.texts {
		raw = wire.SetMember(raw, b.texts[i].name, rawjson.Quote(b.texts[i].inner))
	}
	if len(b.input) > 0 || b.kind == typeToolUse {
		call := providers.Call{Arguments: b.arguments()}
		raw = wire.SetMember(raw, "input", call.Object())
	}
	if b.citations != nil {
		raw = wire.SetMember(raw, "citations", rawjson.Array(b.citations))
	}
	return raw
}

// arguments returns those of a tool_use as the model wrote them. Without deltas, as the API
// streams a call without arguments, they are the input with which the block began.
func (b *block) arguments() json.RawMessage {
	written := strings.TrimSpace(rawjson.TextOf(rawjson.Quote(b.input)))
	if input := wire.Lookup(b.start, "input"); written == "" && input != nil {
		return input
	}
	if written != "" && wire.Valid([]byte(written)) != nil {
		return wire.AppendString(nil, written)
	}
	return providers.Arguments(written)
}
