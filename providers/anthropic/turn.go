package anthropic

import (
	"strconv"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
)

func (d *decoder) stopReason() string {
	reason, _ := wire.Text(wire.Lookup(d.message, "stop_reason"))
	return reason
}

// Turn is the turn that has come so far.
func (d *decoder) Turn() *providers.Turn {
	t := &providers.Turn{Stop: stop(d.stopReason()), Usage: usage(wire.Lookup(d.message, "usage"))}
	t.Message.Role = providers.RoleAssistant
	t.Model, _ = wire.Text(wire.Lookup(d.message, "model"))
	refused := -1 // the last fallback: what stands before it is of models that refused
	raw := make([][]byte, len(d.blocks))
	for i, b := range d.blocks {
		if raw[i] = b.json(); b.kind == typeFallback {
			refused = i
			if model, ok := wire.Text(wire.Lookup(raw[i], "to", "model")); ok {
				t.Model = model
			}
		}
	}
	for i, b := range d.blocks {
		switch b.kind {
		case typeText:
			t.Message.Parts = appendText(t.Message.Parts, providers.PartText, b.text("text"))
		case typeThinking:
			t.Message.Parts = appendText(t.Message.Parts, providers.PartThinking, b.text("thinking"))
		case typeToolUse:
			if i > refused {
				call := *b.call // the other one is with those who were told of it
				call.Arguments = b.arguments()
				t.Message.Parts = append(t.Message.Parts, providers.Part{Type: providers.PartCall, Call: &call})
			}
		}
	}
	if d.message != nil {
		t.Message.Raw = &providers.Raw{Provider: name, Model: d.req.Model, Items: wire.SetMember(d.message, "content", array(raw))}
	}
	return t
}

func appendText(parts []providers.Part, kind providers.PartType, text string) []providers.Part {
	if text == "" {
		return parts
	}
	return append(parts, providers.Part{Type: kind, Text: text})
}

// stop places the API's word for why it stops.
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
	case "pause_turn", "compaction": // the server's tools take long; the window was made smaller
		return providers.StopPaused
	}
	return providers.StopOther
}

// usage adds up what the API counts apart: input_tokens leaves out what the cache took in
// and gave.
func usage(raw []byte) providers.Usage {
	count := func(path ...string) int {
		n, _ := strconv.Atoi(string(wire.Lookup(raw, path...)))
		return max(n, 0)
	}
	cached := count("cache_read_input_tokens")
	return providers.Usage{
		Input:     count("input_tokens") + count("cache_creation_input_tokens") + cached,
		Output:    count("output_tokens"),
		Cached:    cached,
		Reasoning: count("output_tokens_details", "thinking_tokens"),
	}
}
