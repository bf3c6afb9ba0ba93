package openai

import (
	"bytes"
	"cmp"
	"io"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A chatDecoder makes a turn of a stream of chat.completion.chunk, or of one
// chat.completion, which is a chunk to it whose delta is the message.
type chatDecoder struct {
	api  *api
	req  *providers.Request
	emit func(providers.Event)
	caller

	message  node        // but for its calls
	calls    []*chatCall // in the order in which they began
	deltas   int
	verbatim []byte // the message of a response that is not streamed, as it came
	usage    providers.Usage
	model    string
	finish   string // finish_reason
	native   string // the same in the words of the vendor behind OpenRouter
	chosen   bool   // whether there was a choice
	streamed bool
}

func newChatDecoder(a *api, req *providers.Request) *chatDecoder {
	return &chatDecoder{api: a, req: req, caller: newCaller(req, toolformat.FormatOpenAI), streamed: true}
}

// Read implements providers.Decoder.
func (d *chatDecoder) Read(resp *providers.Response, emit func(providers.Event)) error {
	d.emit = emit
	return read(resp, d)
}

func (d *chatDecoder) whole(body []byte) error {
	d.streamed = false
	return d.event("", body)
}

func (d *chatDecoder) event(kind string, data []byte) error {
	chunk, err := valid(data)
	switch {
	case err != nil || len(chunk) == 0:
		return err
	case kind == "error":
		return streamError(chunk)
	}
	for name, value := range wire.Members(chunk) {
		switch {
		case isNull(value):
		case name == "error", name == "object" && string(value) == `"error"`: // the latter is vLLM's
			return streamError(chunk)
		case name == "model":
			d.model = cmp.Or(textOf(value), d.model)
		case name == "usage":
			d.usage = chatUsage(value)
		case name == "x_groq": // Groq's older place for it
			if usage := wire.Lookup(value, "usage"); usage != nil {
				d.usage = chatUsage(usage)
			}
		case name == "choices": // none beside the usage, and in Azure's first chunk
			for choice := range wire.Elements(value) {
				if err := d.choice(choice); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// choice takes a piece of the first choice; more are never asked for.
func (d *chatDecoder) choice(choice []byte) error {
	var delta, failure []byte
	var finish, native string
	for name, value := range wire.Members(choice) {
		switch {
		case isNull(value):
		case name == "index" && string(value) != "0":
			return nil
		case name == "delta", name == "message":
			delta = value
		case name == "finish_reason":
			finish = textOf(value)
		case name == "native_finish_reason":
			native = textOf(value)
		case name == "error": // OpenRouter's, when the vendor behind it fails
			failure = choice
		}
	}
	d.chosen = true
	d.finish, d.native = cmp.Or(finish, d.finish), cmp.Or(native, d.native)
	if failure != nil {
		return streamError(failure)
	}
	if !d.streamed {
		d.verbatim = bytes.Clone(delta)
	}
	d.delta(delta)
	return nil
}

// delta adds a piece of the message.
func (d *chatDecoder) delta(delta []byte) {
	d.deltas++
	thought := false
	for name, value := range wire.Members(delta) {
		switch name {
		case "tool_calls":
			for call := range wire.Elements(value) {
				d.piece(call)
			}
			continue
		case "function_call": // what calls were before there could be several
			if !isNull(value) {
				d.piece(append(rawMember([]byte("{"), "function", value), '}'))
			}
			continue
		case "content":
			d.content(value)
			continue
		case "refusal":
			d.tell(providers.EventTextDelta, textOf(value))
		case "reasoning_content", "reasoning": // DeepSeek's name for it and OpenRouter's; some send both
			if text := textOf(value); text != "" && !thought {
				thought = true
				d.tell(providers.EventThinkingDelta, text)
			}
		}
		d.message.child(name).merge(value)
	}
}

// content adds a piece of the content: text, or Mistral's array of thinking and text, which
// goes on as text.
func (d *chatDecoder) content(value []byte) {
	d.tell(providers.EventTextDelta, textOf(value))
	for _, part := range contentParts(value) {
		if part.Type == providers.PartThinking {
			d.tell(providers.EventThinkingDelta, part.Text)
		} else {
			d.tell(providers.EventTextDelta, part.Text)
		}
	}
	content := d.message.child("content")
	if content.kind != '[' || value[0] != '"' {
		content.merge(value)
		return
	}
	content.split()
	if n := len(content.kids); n == 0 || content.kids[n-1].get("type").text() != "text" {
		content.add("").merge([]byte(`{"type":"text"}`))
	}
	content.kids[len(content.kids)-1].child("text").merge(value)
}

// contentParts are those of a content that is an array.
func contentParts(content []byte) []providers.Part {
	var parts []providers.Part
	for element := range wire.Elements(content) {
		part := providers.Part{Type: providers.PartText, Text: textAt(element, "text")}
		if thinking := wire.Lookup(element, "thinking"); thinking != nil {
			part = providers.Part{Type: providers.PartThinking, Text: textOf(thinking)}
			for inner := range wire.Elements(thinking) {
				part.Text += textAt(inner, "text")
			}
		}
		if n := len(parts); n > 0 && parts[n-1].Type == part.Type {
			parts[n-1].Text += part.Text
		} else if part.Text != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

func (d *chatDecoder) tell(kind providers.EventType, text string) {
	if text != "" {
		d.emit(providers.Event{Type: kind, Text: text})
	}
}

// end: streams of servers that give no finish_reason (Snowflake) end with [DONE].
func (d *chatDecoder) end(done bool) error {
	switch {
	case !d.streamed && !d.chosen:
		return &providers.APIError{Status: 200, Message: "the response has no choice in it"}
	case d.streamed && !done && d.finish == "":
		return io.ErrUnexpectedEOF
	}
	return nil
}

// stop is why the turn has ended.
func (d *chatDecoder) stop(calls, refused bool) providers.Stop {
	finish := strings.ToLower(d.finish)
	malformed := "malformed_function_call" // Gemini's, whose own endpoint sends "function_call_filter: MALFORMED_FUNCTION_CALL"
	switch {
	case strings.HasSuffix(finish, malformed), finish == "error" && strings.ToLower(d.native) == malformed:
		return providers.StopMalformed
	case refused:
		return providers.StopRefused
	}
	switch finish {
	case "stop", "tool_calls", "function_call", "", "null", "eos", "eos_token", "stop_sequence", "end_turn", "tool_use":
		if calls { // whatever the word is: DeepSeek says stop
			return providers.StopCalls
		}
		return providers.StopEnd
	case "length", "max_tokens":
		return providers.StopLength
	case "model_length", "model_context_window_exceeded": // Mistral, Z.ai
		return providers.StopWindow
	case "content_filter", "sensitive", "refusal": // the second is Z.ai's
		return providers.StopRefused
	case "abort", "network_error", "insufficient_system_resource": // vLLM, Z.ai, DeepSeek
		return providers.StopCut
	}
	return providers.StopOther
}

// chatUsage reads what a turn cost. Some servers (xAI) leave reasoning out of
// completion_tokens, and some of those out of total_tokens too (Vercel's gateway).
func chatUsage(usage []byte) providers.Usage {
	u := providers.Usage{
		Input:     numberAt(usage, "prompt_tokens"),
		Output:    numberAt(usage, "completion_tokens"),
		Cached:    cmp.Or(numberAt(usage, "prompt_tokens_details", "cached_tokens"), numberAt(usage, "prompt_cache_hit_tokens")), // the latter is DeepSeek's
		Reasoning: numberAt(usage, "completion_tokens_details", "reasoning_tokens"),
	}
	u.Output = max(u.Output, numberAt(usage, "total_tokens")-u.Input)
	if u.Reasoning > u.Output {
		u.Output += u.Reasoning
	}
	return u
}
