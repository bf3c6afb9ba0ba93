package openai

import (
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
)

// Turn implements providers.Decoder.
func (d *responsesDecoder) Turn() *providers.Turn {
	var parts []providers.Part
	refused, calls := false, 0
	raw := []byte("[")
	for _, it := range d.items {
		item := it.json()
		if len(item) == 0 || item[0] != '{' {
			continue
		}
		if rawjson.TextAt(item, "type") != "function_call" {
			texts, refusal := itemParts(item)
			parts, refused = append(parts, texts...), refused || refusal
			raw = append(rawjson.Element(raw), item...)
			continue
		}
		for _, item := range d.functionCalls(item) {
			call := d.call(rawjson.TextAt(item, "call_id"), rawjson.TextAt(item, "name"), argumentsAt(item))
			parts = append(parts, providers.Part{Type: providers.PartCall, Call: call})
			if !rawjson.IsObject(call.Arguments) {
				item = wire.SetMember(item, "arguments", wire.AppendString(nil, argumentsText(call.Arguments)))
			}
			raw = append(rawjson.Element(raw), item...)
			calls++
		}
	}
	return d.turn(parts, append(raw, ']'), d.stop(calls > 0, refused))
}

// functionCalls returns the items for a call: the item itself, with a unique id, with a name and
// arguments; or an item for each call that is wrapped in it.
func (d *responsesDecoder) functionCalls(item []byte) [][]byte {
	given := rawjson.TextAt(item, "call_id")
	if id := d.ids.Next(given); id != given {
		item = wire.SetMember(item, "call_id", wire.AppendString(nil, id))
	}
	if rawjson.TextAt(item, "name") == "" {
		item = wire.SetMember(item, "name", wire.AppendString(nil, unnamed))
	}
	arguments := argumentsAt(item)
	if arguments == "" {
		item = wire.SetMember(item, "arguments", []byte(`"{}"`))
	}
	all := d.unwrap(rawjson.TextAt(item, "name"), arguments)
	if all == nil {
		return [][]byte{item}
	}
	var items [][]byte
	for i, in := range all {
		if i > 0 {
			item = append(rawjson.Text([]byte(`{"type":"function_call"`), "call_id", d.ids.Next("")), '}')
		}
		item = wire.SetMember(item, "arguments", wire.AppendString(nil, in.arguments))
		items = append(items, wire.SetMember(item, "name", wire.AppendString(nil, in.name)))
	}
	return items
}

// argumentsAt returns the text of a call's arguments.
func argumentsAt(item []byte) string {
	arguments := wire.Lookup(item, "arguments")
	if len(arguments) > 0 && arguments[0] == '{' { // of a server that deviates from the API
		return string(arguments)
	}
	return rawjson.TextOf(arguments)
}

// itemParts returns the text or thinking of an item, and whether it has a refusal. Items of
// the provider's own tools have no parts.
func itemParts(item []byte) (parts []providers.Part, refused bool) {
	switch rawjson.TextAt(item, "type") {
	case "message":
		content := wire.Lookup(item, "content")
		if text := rawjson.TextOf(content); text != "" {
			return []providers.Part{{Type: providers.PartText, Text: text}}, false
		}
		for part := range wire.Elements(content) {
			text := rawjson.TextAt(part, "text")
			if rawjson.TextAt(part, "type") == "refusal" {
				text, refused = rawjson.TextAt(part, "refusal"), true
			}
			if text != "" {
				parts = append(parts, providers.Part{Type: providers.PartText, Text: text})
			}
		}
	case "reasoning":
		var all []string
		for _, member := range []string{"summary", "content"} {
			for part := range wire.Elements(wire.Lookup(item, member)) {
				if text := rawjson.TextAt(part, "text"); text != "" {
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

// json returns the item: that of output_item.done, else one made of what was streamed.
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
