package gemini

import (
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
)

func (d *decoder) blockReason() string { return rawjson.TextAt(d.feedback, "blockReason") }

// explanation returns why there is no answer, if the API says so.
func (d *decoder) explanation() string {
	if reason := d.blockReason(); reason != "" {
		return "the prompt was refused: " + reason
	}
	if stop(d.reason).Runs() { // the API explains those too
		return ""
	}
	return rawjson.TextAt(d.candidate, "finishMessage")
}

// Turn implements providers.Decoder.
func (d *decoder) Turn() *providers.Turn {
	t := &providers.Turn{Stop: stop(d.reason), Usage: d.usage.sum(), Model: d.model}
	if d.blockReason() != "" {
		t.Stop = providers.StopRefused
	}
	t.Message.Role = providers.RoleAssistant
	for i := range d.parts {
		p := &d.parts[i]
		switch text := p.whole(); {
		case p.call != nil:
			t.Message.Parts = append(t.Message.Parts, providers.Part{Type: providers.PartCall, Call: p.call})
			if t.Stop == providers.StopEnd {
				t.Stop = providers.StopCalls
			}
		case text != "" && p.thought:
			t.Message.Parts = append(t.Message.Parts, providers.Part{Type: providers.PartThinking, Text: text})
		case text != "":
			t.Message.Parts = append(t.Message.Parts, providers.Part{Type: providers.PartText, Text: text})
		}
	}
	if d.candidate != nil {
		t.Message.Raw = &providers.Raw{Provider: name, Model: d.req.Model, Items: d.raw()}
	}
	return t
}

// raw returns the candidate as the API sends it when it is not streamed.
func (d *decoder) raw() []byte {
	if !d.edited {
		return d.candidate
	}
	parts := make([][]byte, len(d.parts))
	for i := range d.parts {
		parts[i] = d.parts[i].json()
	}
	content := wire.SetMember(object(wire.Lookup(d.candidate, "content")), "parts", rawjson.Array(parts))
	return wire.SetMember(d.candidate, "content", content)
}

// stop maps finishReason. It is STOP beside calls too.
func stop(reason string) providers.Stop {
	switch reason {
	case "STOP":
		return providers.StopEnd
	case "MAX_TOKENS":
		return providers.StopLength
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return providers.StopRefused
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL": // the second can have the call beside it
		return providers.StopMalformed
	}
	return providers.StopOther // TOO_MANY_TOOL_CALLS of Google's own tools, NO_IMAGE, OTHER, CONTINUATION, …
}

// usage has the latest of each number. prompt includes cached.
type usage struct{ prompt, tools, candidates, thoughts, cached int }

func (u *usage) add(raw []byte) {
	for key, value := range wire.Members(raw) {
		var at *int
		switch key {
		case "promptTokenCount":
			at = &u.prompt
		case "toolUsePromptTokenCount":
			at = &u.tools
		case "candidatesTokenCount":
			at = &u.candidates
		case "thoughtsTokenCount":
			at = &u.thoughts
		case "cachedContentTokenCount":
			at = &u.cached
		default:
			continue
		}
		if n := rawjson.Index(value); n >= 0 {
			*at = n
		}
	}
}

func (u *usage) sum() providers.Usage {
	return providers.Usage{Input: u.prompt + u.tools, Output: u.candidates + u.thoughts, Cached: u.cached, Reasoning: u.thoughts}
}
