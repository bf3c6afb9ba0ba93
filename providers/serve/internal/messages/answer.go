package messages

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"strings"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
)

// An answer writes a message.
type answer struct {
	*endpoint.Writer
	stream bool
	head   outMessage
	blocks []*outBlock
	open   *outBlock // the last block, while more is added to it
}

// outMessage is a message of the assistant.
type outMessage struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Role    string `json:"role"`
	Model   string `json:"model"`
	Content []any  `json:"content"`
	ending
	Usage usage `json:"usage"`
}

// An ending is why a message has ended: both are nil until it has.
type ending struct {
	Stop     *string `json:"stop_reason"`
	Sequence *string `json:"stop_sequence"` // that was met, where the provider tells
}

// endingOf returns the ending of a run, which leaves calls to the client or does not.
func endingOf(run *providers.Run, calls bool) ending {
	stop := stopReason(run.Stop, calls)
	if last := len(run.Messages) - 1; run.Stop == providers.StopEnd && !calls && last >= 0 && run.Messages[last].Raw != nil {
		if met := rawjson.TextAt(run.Messages[last].Raw.Items, "stop_sequence"); met != "" { // Anthropic's own
			stop = "stop_sequence"
			return ending{&stop, &met}
		}
	}
	return ending{Stop: &stop}
}

type usage struct {
	Input   int `json:"input_tokens"` // those read from or written to a cache not included
	Created int `json:"cache_creation_input_tokens"`
	Cached  int `json:"cache_read_input_tokens"`
	Output  int `json:"output_tokens"`
}

func usageOf(u providers.Usage) usage {
	return usage{Input: max(0, u.Input-u.Cached-u.CacheWrite), Created: u.CacheWrite, Cached: u.Cached, Output: u.Output}
}

// An outBlock is a block of the message. Which fields are used depends on its kind.
type outBlock struct {
	kind      string
	text      strings.Builder // of text and thinking
	signature string          // of thinking
	call      *providers.Call
	server    string            // that has the tool of a call that has run here
	result    *providers.Result // of such a call
	whole     json.RawMessage   // of redacted_thinking
}

// The kinds of blocks that are written.
const (
	textBlock     = "text"
	thinkingBlock = "thinking"
	toolUse       = "tool_use"
	redacted      = "redacted_thinking"
	mcpUse        = "mcp_tool_use"
	mcpResult     = "mcp_tool_result"
)

// content returns the block as the API has it; as it begins in a stream, if begins.
func (b *outBlock) content(begins bool) any {
	text := b.text.String()
	if begins {
		text = ""
	}
	switch b.kind {
	case textBlock:
		return struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}{b.kind, text}
	case thinkingBlock:
		return struct {
			Type      string `json:"type"`
			Thinking  string `json:"thinking"`
			Signature string `json:"signature"`
		}{b.kind, text, b.signature}
	case toolUse, mcpUse:
		input := json.RawMessage("{}")
		if !begins {
			input = b.call.Object()
		}
		return struct {
			Type   string          `json:"type"`
			ID     string          `json:"id"`
			Name   string          `json:"name"`
			Server string          `json:"server_name,omitempty"`
			Input  json.RawMessage `json:"input"`
		}{b.kind, b.call.ID, b.call.Name, b.server, input}
	case mcpResult:
		type text struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		return struct {
			Type    string `json:"type"`
			CallID  string `json:"tool_use_id"`
			IsError bool   `json:"is_error"`
			Content []text `json:"content"`
		}{b.kind, b.call.ID, b.result.Content.IsError(), []text{{textBlock, b.result.Text(false)}}}
	}
	return b.whole
}

// begin begins the answer to a request.
func (r *request) begin(w *endpoint.Writer) endpoint.Answer {
	return &answer{Writer: w, stream: r.Stream, head: outMessage{
		ID: "msg_" + rand.Text(), Type: "message", Role: "assistant", Model: r.Model, Content: []any{},
	}}
}

// Event takes the text and the thinking of the model, and the calls of the servers that the client has named. It
// does not see other calls of the bridge's tools: what follows them are more blocks of the same message.
func (a *answer) Event(e providers.Event) {
	switch e.Type {
	case providers.EventNote:
		a.head.Model = cmp.Or(e.Model, a.head.Model)
	case providers.EventTurnStart:
		a.end()
	case providers.EventTextDelta:
		a.add(textBlock, e.Text)
	case providers.EventThinkingDelta:
		a.add(thinkingBlock, e.Text)
	case providers.EventThinkingEnd:
		a.endThinking(e.Raw)
	case providers.EventToolResult:
		if e.Server != "" {
			a.show(&e)
		}
	}
}

// show adds a call that has run here, and its result.
func (a *answer) show(e *providers.Event) {
	call := &providers.Call{ID: "mcptoolu_" + rand.Text(), Name: e.Tool, Arguments: e.Call.Arguments}
	a.sendUse(&outBlock{kind: mcpUse, call: call, server: e.Server})
	a.start(&outBlock{kind: mcpResult, call: call, result: e.Result})
	a.end()
}

// sendUse adds a call.
func (a *answer) sendUse(b *outBlock) {
	a.start(b)
	a.sendDelta("input_json_delta", "partial_json", string(b.call.Object()))
}

// add adds a piece to the block of a kind.
func (a *answer) add(kind, piece string) {
	if piece == "" {
		return
	}
	if a.open == nil || a.open.kind != kind {
		a.start(&outBlock{kind: kind})
	}
	a.open.text.WriteString(piece)
	a.sendDelta(kind+"_delta", kind, piece)
}

// endThinking ends thinking with the signature of its provider, if that is Anthropic's API.
func (a *answer) endThinking(raw json.RawMessage) {
	switch rawjson.TextAt(raw, "type") {
	case redacted:
		a.start(&outBlock{kind: redacted, whole: raw})
	case thinkingBlock:
		if a.open == nil || a.open.kind != thinkingBlock {
			a.start(&outBlock{kind: thinkingBlock})
		}
		a.open.signature = rawjson.TextAt(raw, "signature")
		a.sendDelta("signature_delta", "signature", a.open.signature)
	}
	a.end()
}

// Finish sends the calls of the client's tools, and the end.
func (a *answer) Finish(run *providers.Run, calls []*providers.Call, _ func(map[string]json.RawMessage)) {
	for _, c := range calls {
		a.sendUse(&outBlock{kind: toolUse, call: c})
	}
	a.end()
	end := endingOf(run, len(calls) > 0)
	if a.stream {
		a.sendEnd(end, usageOf(run.Usage))
		return
	}
	for _, b := range a.blocks {
		a.head.Content = append(a.head.Content, b.content(false))
	}
	a.head.ending, a.head.Usage = end, usageOf(run.Usage)
	a.JSON(&a.head)
}

// Fail ends the response with an error.
func (a *answer) Fail(e *endpoint.Error) {
	if a.Begun() {
		a.Send("error", errorOf(e))
		return
	}
	a.Writer.Fail(e, errorOf(e))
}

// stopReason maps the end of a run to the API's stop_reason.
func stopReason(s providers.Stop, calls bool) string {
	if calls {
		return "tool_use"
	}
	switch s {
	case providers.StopRefused:
		return "refusal"
	case providers.StopWindow:
		return "model_context_window_exceeded"
	case providers.StopLength, providers.StopRounds, providers.StopMaxCalls, providers.StopTime, providers.StopTokens, providers.StopRepeats:
		return "max_tokens"
	}
	return "end_turn"
}
