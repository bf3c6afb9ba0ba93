package openai

import (
	"cmp"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
)

// Turn is what has come.
func (d *chatDecoder) Turn() *providers.Turn {
	calls, changed := d.settled()
	parts, refused := d.said()
	for _, c := range calls {
		call := d.call(c.id, c.name, c.arguments())
		parts = append(parts, providers.Part{Type: providers.PartCall, Call: call})
		if !isObject(call.Arguments) {
			c.child("function").child("arguments").setText(argumentsText(call.Arguments))
			changed = true
		}
	}
	raw := d.verbatim
	if changed || !d.replayable(calls) {
		raw = d.raw(calls)
	}
	return &providers.Turn{
		Message: providers.Message{
			Role:  providers.RoleAssistant,
			Parts: parts,
			Raw:   &providers.Raw{Provider: d.api.name, Model: d.req.Model, Items: raw},
		},
		Stop:  d.stop(len(calls) > 0, refused),
		Usage: d.usage,
		Model: d.model,
	}
}

// settled are the calls as they are to be run and sent back, and whether they differ from
// what came.
func (d *chatDecoder) settled() (calls []*chatCall, changed bool) {
	for _, c := range d.calls {
		if c.name == "" && c.given == "" && c.arguments() == "" {
			changed = true // a place that a server has left empty
			continue
		}
		changed = c.settle(d.streamed) || changed
		if all := d.unwrap(c.name, c.arguments()); all != nil {
			changed = true
			calls = append(calls, d.become(c, all)...)
		} else {
			calls = append(calls, c)
		}
	}
	return calls, changed
}

// replayable reports whether the message can go back as it came: whole, with a content or
// calls, and those in their own place.
func (d *chatDecoder) replayable(calls []*chatCall) bool {
	if len(calls) > 0 {
		return wire.Lookup(d.verbatim, "tool_calls") != nil
	}
	return !isNull(wire.Lookup(d.verbatim, "content")) && wire.Lookup(d.verbatim, "tool_calls") == nil
}

// said is what the message says besides its calls.
func (d *chatDecoder) said() (parts []providers.Part, refused bool) {
	add := func(kind providers.PartType, text string) {
		if text != "" {
			parts = append(parts, providers.Part{Type: kind, Text: text})
		}
	}
	add(providers.PartThinking, cmp.Or(d.message.get("reasoning_content").text(), d.message.get("reasoning").text()))
	content, refusal := d.message.get("content"), d.message.get("refusal").text()
	add(providers.PartText, content.text())
	parts = append(parts, contentParts(content.json())...)
	add(providers.PartText, refusal)
	return parts, refusal != ""
}

// raw is the message as the API would have sent it whole, and takes it back: with a role,
// and with a content where there is nothing else.
func (d *chatDecoder) raw(calls []*chatCall) []byte {
	b := []byte("{")
	if d.message.get("role") == nil {
		b = textMember(b, "role", "assistant")
	}
	empty := len(calls) == 0 && isNull(d.message.get("content").json()) && d.message.get("refusal").text() == ""
	for _, kid := range d.message.kids {
		if kid.key != "content" || !empty {
			b = kid.append(member(b, kid.key))
		}
	}
	if empty {
		b = textMember(b, "content", "")
	}
	if len(calls) > 0 {
		b = rawMember(b, "tool_calls", "[")
		for _, c := range calls {
			b = c.append(element(b))
		}
		b = append(b, ']')
	}
	return append(b, '}')
}
