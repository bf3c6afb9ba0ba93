package gemini

import (
	"strconv"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
)

func (d *decoder) blockReason() string {
	reason, _ := wire.Text(wire.Lookup(d.feedback, "blockReason"))
	return reason
}

// explanation is what the API says about an answer that is none; "" for any other.
func (d *decoder) explanation() string {
	if reason := d.blockReason(); reason != "" {
		return "the prompt was refused: " + reason
	}
	if stop(d.reason).Runs() { // it explains those too
		return ""
	}
	why, _ := wire.Text(wire.Lookup(d.candidate, "finishMessage"))
	return why
}

// Turn is the turn that has come so far.
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

// raw is the candidate as the API would send it whole.
func (d *decoder) raw() []byte {
	if !d.edited {
		return d.candidate
	}
	parts := make([][]byte, len(d.parts))
	for i := range d.parts {
		parts[i] = d.parts[i].json()
	}
	content := wire.SetMember(object(wire.Lookup(d.candidate, "content")), "parts", array(parts))
	return wire.SetMember(d.candidate, "content", content)
}

// stop places the API's word for why it stops. It says STOP beside calls too.
func stop(reason string) providers.Stop {
	switch reason {
	case "STOP":
		return providers.StopEnd
	case "MAX_TOKENS":
		return providers.StopLength
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return providers.StopRefused
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL": // the second can come with the call
		return providers.StopMalformed
	}
	return providers.StopOther // TOO_MANY_TOOL_CALLS of Google's own tools, NO_IMAGE, OTHER, CONTINUATION, …
}

// usage is what the API counts, each number the last that it told. What a cache held is in
// the prompt.
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
		if n, err := strconv.Atoi(string(value)); err == nil && n >= 0 {
			*at = n
		}
	}
}

func (u *usage) sum() providers.Usage {
	return providers.Usage{Input: u.prompt + u.tools, Output: u.candidates + u.thoughts, Cached: u.cached, Reasoning: u.thoughts}
}
