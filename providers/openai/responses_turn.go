package openai

import (
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
)

// Turn is what has come.
func (d *responsesDecoder) Turn() *providers.Turn {
	var parts []providers.Part
	refused, calls := false, 0
	raw := []byte("[")
	for _, it := range d.items {
		item := it.json()
		if len(item) == 0 || item[0] != '{' {
			continue
		}
		if textAt(item, "type") != "function_call" {
			said, no := itemParts(item)
			parts, refused = append(parts, said...), refused || no
			raw = append(element(raw), item...)
			continue
		}
		for _, item := range d.functionCalls(item) {
			call := d.call(textAt(item, "call_id"), textAt(item, "name"), argumentsAt(item))
			parts = append(parts, providers.Part{Type: providers.PartCall, Call: call})
			if !isObject(call.Arguments) {
				item = wire.SetMember(item, "arguments", wire.AppendString(nil, argumentsText(call.Arguments)))
			}
			raw = append(element(raw), item...)
			calls++
		}
	}
	return &providers.Turn{
		Message: providers.Message{
			Role:  providers.RoleAssistant,
			Parts: parts,
			Raw:   &providers.Raw{Provider: d.api.name, Model: d.req.Model, Items: append(raw, ']')},
		},
		Stop:  d.stop(calls > 0, refused),
		Usage: d.usage,
		Model: d.model,
	}
}

// functionCalls are the items of a call that is to be run: itself, with an id that the
// conversation does not have yet and with arguments; or the calls that are wrapped in it,
// the first of which takes its place.
func (d *responsesDecoder) functionCalls(item []byte) [][]byte {
	given := textAt(item, "call_id")
	if id := d.ids.Next(given); id != given {
		item = wire.SetMember(item, "call_id", wire.AppendString(nil, id))
	}
	arguments := argumentsAt(item)
	if arguments == "" {
		item = wire.SetMember(item, "arguments", []byte(`"{}"`))
	}
	all := d.unwrap(textAt(item, "name"), arguments)
	if all == nil {
		return [][]byte{item}
	}
	var items [][]byte
	for i, in := range all {
		if i > 0 {
			item = append(textMember([]byte(`{"type":"function_call"`), "call_id", d.ids.Next("")), '}')
		}
		item = wire.SetMember(item, "arguments", wire.AppendString(nil, in.arguments))
		items = append(items, wire.SetMember(item, "name", wire.AppendString(nil, in.name)))
	}
	return items
}

// argumentsAt is the text of a call's arguments.
func argumentsAt(item []byte) string {
	arguments := wire.Lookup(item, "arguments")
	if len(arguments) > 0 && arguments[0] == '{' { // a server that does not keep to the API
		return string(arguments)
	}
	return textOf(arguments)
}

// itemParts is what an item says, and whether it is a refusal. What a provider's own tools
// do is for the provider alone.
func itemParts(item []byte) (parts []providers.Part, refused bool) {
	switch textAt(item, "type") {
	case "message":
		content := wire.Lookup(item, "content")
		if text := textOf(content); text != "" {
			return []providers.Part{{Type: providers.PartText, Text: text}}, false
		}
		for part := range wire.Elements(content) {
			text := textAt(part, "text")
			if textAt(part, "type") == "refusal" {
				text, refused = textAt(part, "refusal"), true
			}
			if text != "" {
				parts = append(parts, providers.Part{Type: providers.PartText, Text: text})
			}
		}
	case "reasoning":
		var all []string
		for _, member := range []string{"summary", "content"} {
			for part := range wire.Elements(wire.Lookup(item, member)) {
				if text := textAt(part, "text"); text != "" {
					all = append(all, text)
				}
			}
		}
		if all != nil {
			parts = []providers.Part{{Type: providers.PartThinking, Text: strings.Join(all, "\n\n")}}
		}
	}
	return parts, refused
}

// json is the item: as it came when it was done, else what there is of it.
func (it *outputItem) json() []byte {
	if it.done != nil {
		return it.done
	}
	text := wire.AppendString(nil, it.text.String())
	switch it.kind {
	case "function_call":
		began := it.began
		if began == nil {
			began = []byte(`{"type":"function_call"}`)
		}
		return wire.SetMember(began, "arguments", text)
	case "message":
		return append(append([]byte(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":`), text...), "}]}"...)
	case "reasoning":
		return append(append([]byte(`{"type":"reasoning","summary":[{"type":"summary_text","text":`), text...), "}]}"...)
	}
	return it.began
}
