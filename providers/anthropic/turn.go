package anthropic

import (
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
)

func (d *decoder) stopReason() string { return rawjson.TextAt(d.message, "stop_reason") }

// Turn implements providers.Decoder.
func (d *decoder) Turn() *providers.Turn {
	t := &providers.Turn{Stop: stop(d.stopReason()), Usage: usage(wire.Lookup(d.message, "usage"))}
	t.Message.Role = providers.RoleAssistant
	t.Model = rawjson.TextAt(d.message, "model")
	fallback := -1 // the last one: the blocks before it are of models that refused
	raw := make([][]byte, len(d.blocks))
	for i, b := range d.blocks {
		if raw[i] = b.json(); b.kind == typeFallback {
			fallback = i
			if model, ok := wire.Text(wire.Lookup(raw[i], "to", "model")); ok {
				t.Model = model
			}
		}
	}
	for i, b := range d.blocks {
		switch b.kind {
		case typeText:
			t.Message.Parts = appendText(t.Message.Parts, providers.PartText, rawjson.TextAt(raw[i], "text"))
		case typeThinking:
			t.Message.Parts = appendText(t.Message.Parts, providers.PartThinking, rawjson.TextAt(raw[i], "thinking"))
		case typeToolUse:
			if i > fallback {
				call := *b.call // listeners have the other one
				call.Arguments = b.arguments()
				t.Message.Parts = append(t.Message.Parts, providers.Part{Type: providers.PartCall, Call: &call})
			}
		}
	}
	if d.message != nil {
		t.Message.Raw = &providers.Raw{Provider: name, Model: d.req.Model, Items: wire.SetMember(d.message, "content", rawjson.Array(raw))}
	}
	return t
}

func appendText(parts []providers.Part, kind providers.PartType, text string) []providers.Part {
	if text == "" {
		return parts
	}
	return append(parts, providers.Part{Type: kind, Text: text})
}

// stop maps stop_reason.
func stop(reason string) providers.Stop {
	switch reason {
	case "end_turn", "stop_sequence":
		return providers.StopEnd
	case "tool_use":
		return providers.StopCalls
	case "max_tokens":
		return providers.StopLength
	case "model_context_window_exceeded":
		return providers.StopWindow
	case "refusal":
		return providers.StopRefused
	case "pause_turn", "compaction": // the server's tools take long; the conversation was compacted
		return providers.StopPaused
	}
	return providers.StopOther
}

// usage returns the usage. input_tokens is without the tokens written to or read from a cache.
func usage(raw []byte) providers.Usage {
	cached := rawjson.NumberAt(raw, "cache_read_input_tokens")
	return providers.Usage{
		Input:     rawjson.NumberAt(raw, "input_tokens") + rawjson.NumberAt(raw, "cache_creation_input_tokens") + cached,
		Output:    rawjson.NumberAt(raw, "output_tokens"),
		Cached:    cached,
		Reasoning: rawjson.NumberAt(raw, "output_tokens_details", "thinking_tokens"),
	}
}
