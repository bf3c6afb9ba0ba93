package openai

import (
	"cmp"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
)

// Turn implements providers.Decoder.
func (d *chatDecoder) Turn() *providers.Turn {
	calls, changed := d.finalCalls()
	parts, refused := d.textParts()
	for _, c := range calls {
		call := d.call(c.id, c.name, c.arguments())
		parts = append(parts, providers.Part{Type: providers.PartCall, Call: call})
		if !rawjson.IsObject(call.Arguments) {
			c.child("function").child("arguments").setText(argumentsText(call.Arguments))
			changed = true
		}
	}
	raw := d.verbatim
	if changed || !d.replayable(calls) {
		raw = d.raw(calls)
	}
	return d.turn(parts, raw, d.stop(len(calls) > 0, refused))
}

// finalCalls returns the calls to run and to send back, and whether they differ from those of
// a response that is not streamed.
func (d *chatDecoder) finalCalls() (calls []*chatCall, changed bool) {
	for _, c := range d.calls {
		if c.name == "" && c.given == "" && c.arguments() == "" {
			changed = true // an empty item of a server
			continue
		}
		changed = c.complement(d.streamed) || changed
		if all := d.unwrap(c.name, c.arguments()); all != nil {
			changed = true
			calls = append(calls, d.replace(c, all)...)
		} else {
			calls = append(calls, c)
		}
	}
	return calls, changed
}

// replayable reports whether the message can be sent back verbatim: it was not streamed, and
// has content or tool_calls.
func (d *chatDecoder) replayable(calls []*chatCall) bool {
	if len(calls) > 0 {
		return wire.Lookup(d.verbatim, "tool_calls") != nil
	}
	return !rawjson.IsNull(wire.Lookup(d.verbatim, "content")) && wire.Lookup(d.verbatim, "tool_calls") == nil
}

// textParts returns the thinking and the text of the message.
func (d *chatDecoder) textParts() (parts []providers.Part, refused bool) {
	var m providers.Message
	m.AddText(providers.PartThinking, cmp.Or(d.message.get("reasoning_content").text(), d.message.get("reasoning").text()))
	content, refusal := d.message.get("content"), d.message.get("refusal").text()
	m.AddText(providers.PartText, content.text())
	m.Parts = append(m.Parts, contentParts(content.json())...)
	m.AddText(providers.PartText, refusal)
	return m.Parts, refusal != ""
}

// raw returns the message as the API sends it when it is not streamed, and takes it back: with
// a role, and with a content if it has nothing else.
func (d *chatDecoder) raw(calls []*chatCall) []byte {
	b := []byte("{")
	if d.message.get("role") == nil {
		b = rawjson.Text(b, "role", "assistant")
	}
	empty := len(calls) == 0 && rawjson.IsNull(d.message.get("content").json()) && d.message.get("refusal").text() == ""
	for _, kid := range d.message.kids {
		if kid.key != "content" || !empty {
			b = kid.append(rawjson.Member(b, kid.key))
		}
	}
	if empty {
		b = rawjson.Text(b, "content", "")
	}
	if len(calls) > 0 {
		b = rawjson.Raw(b, "tool_calls", "[")
		for _, c := range calls {
			b = c.append(rawjson.Element(b))
		}
		b = append(b, ']')
	}
	return append(b, '}')
}
