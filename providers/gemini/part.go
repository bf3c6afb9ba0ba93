package gemini

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
)

// A part is a part of a content while it is streamed.
type part struct {
	raw     []byte // the part as it began
	text    string // in raw
	thought bool
	plain   bool   // text and thought are its only members: it has no signature
	called  []byte // the functionCall in raw; may be nil

	call *providers.Call // made of called
	args *rawjson.Node   // the arguments so far, if they are streamed; else nil

	inner []byte // what is between the quotes of the text, once later events have added to it
}

func newPart(raw []byte) part {
	p := part{raw: bytes.Clone(raw), plain: true}
	for key, value := range wire.Members(p.raw) {
		switch key {
		case "text":
			p.text = rawjson.TextOf(value)
		case "thought":
			p.thought = string(value) == "true"
		case "functionCall":
			if p.plain = false; rawjson.IsObject(value) {
				p.called = value
			}
		default:
			p.plain = false
		}
	}
	return p
}

// takes reports whether the text of the next part continues that of p. A part with a signature
// does not change: it goes back as it is.
func (p *part) takes(next *part) bool {
	return p.plain && next.plain && p.thought == next.thought && p.text != ""
}

// add adds the text of the next part.
func (p *part) add(next *part) {
	if p.inner == nil {
		p.inner = bytes.Clone(inner(p.raw))
	}
	p.inner = append(p.inner, inner(next.raw)...)
}

// inner returns what is between the quotes of the text of a part.
func inner(raw []byte) []byte {
	text := wire.Lookup(raw, "text")
	return text[1 : len(text)-1]
}

// whole returns the text of the part so far.
func (p *part) whole() string {
	if p.inner == nil {
		return p.text
	}
	return rawjson.TextOf(rawjson.Quote(p.inner))
}

// json returns the part as the API sends it when it is not streamed. The second of two calls
// with the same id gets a new one.
func (p *part) json() []byte {
	if p.inner != nil {
		return wire.SetMember(p.raw, "text", rawjson.Quote(p.inner))
	}
	if p.call == nil {
		return p.raw
	}
	called := p.called
	if p.args != nil {
		called = wire.CutMember(wire.CutMember(called, "partialArgs"), "willContinue")
		called = wire.SetMember(called, "args", p.call.Arguments)
	}
	if own := rawjson.TextAt(p.called, "id"); own != "" && own != p.call.ID {
		called = wire.SetMember(called, "id", wire.AppendString(nil, p.call.ID))
	}
	return wire.SetMember(p.raw, "functionCall", called)
}

// arguments returns those of the call. A call without arguments can lack the member.
func (p *part) arguments() json.RawMessage {
	if args := wire.Lookup(p.called, "args"); !rawjson.IsNull(args) {
		return args
	}
	return json.RawMessage("{}")
}

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
	switch {
	case d.blockReason() != "":
		t.Stop = providers.StopRefused
	case d.open > 0 && t.Stop == providers.StopEnd: // a call that is cut
		t.Stop = providers.StopMalformed
	}
	t.Message.Role = providers.RoleAssistant
	if d.open > 0 {
		p := &d.parts[d.open-1]
		p.call.Arguments = p.args.JSON()
	}
	for i := range d.parts {
		p := &d.parts[i]
		switch {
		case p.call != nil:
			t.Message.Parts = append(t.Message.Parts, providers.Part{Type: providers.PartCall, Call: p.call})
			if t.Stop == providers.StopEnd {
				t.Stop = providers.StopCalls
			}
		case p.thought:
			t.Message.AddText(providers.PartThinking, p.whole())
		default:
			t.Message.AddText(providers.PartText, p.whole())
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
	content := wire.SetMember(rawjson.Object(wire.Lookup(d.candidate, "content")), "parts", rawjson.Array(parts))
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

// usageKeys are the members of usageMetadata that are read, usage the latest number of each.
var usageKeys = []string{"promptTokenCount", "toolUsePromptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "cachedContentTokenCount"}

type usage [5]int

func (u *usage) add(raw []byte) {
	for key, value := range wire.Members(raw) {
		if i := slices.Index(usageKeys, key); i >= 0 && rawjson.Index(value) >= 0 {
			u[i] = rawjson.Index(value)
		}
	}
}

// sum returns the usage. The prompt includes what is cached.
func (u *usage) sum() providers.Usage {
	return providers.Usage{Input: u[0] + u[1], Output: u[2] + u[3], Cached: u[4], Reasoning: u[3]}
}
