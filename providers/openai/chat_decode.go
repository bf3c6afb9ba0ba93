package openai

import (
	"bytes"
	"cmp"
	"io"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A chatDecoder makes a turn of a stream of chat.completion.chunk, or of a chat.completion,
// which it reads as a chunk with the message as its delta.
type chatDecoder struct {
	reading

	message  rawjson.Node // without its calls
	calls    []*chatCall  // in the order in which they began
	deltas   int          // the number of deltas so far
	verbatim []byte       // the message of a response that is not streamed
	finish   string       // finish_reason
	native   string       // native_finish_reason, of the vendor behind OpenRouter
	chosen   bool         // a choice was read
	streamed bool
}

func newChatDecoder(a *api, req *providers.Request) *chatDecoder {
	return &chatDecoder{reading: newReading(a, req, toolformat.FormatOpenAI), streamed: true}
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
		case rawjson.IsNull(value):
		case name == "error", name == "object" && string(value) == `"error"`: // the latter is vLLM's
			return streamError(chunk)
		case name == "model":
			d.model = cmp.Or(rawjson.TextOf(value), d.model)
		case name == "usage":
			d.usage = chatUsage(value)
		case name == "x_groq": // Groq's older place for it
			if usage := wire.Lookup(value, "usage"); usage != nil {
				d.usage = chatUsage(usage)
			}
		case name == "choices": // empty beside the usage, and in Azure's first chunk
			for choice := range wire.Elements(value) {
				if err := d.choice(choice); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// choice reads a piece of the first choice. More are never requested.
func (d *chatDecoder) choice(choice []byte) error {
	var delta, failure []byte
	var finish, native string
	for name, value := range wire.Members(choice) {
		switch {
		case rawjson.IsNull(value):
		case name == "index" && string(value) != "0":
			return nil
		case name == "delta", name == "message":
			delta = value
		case name == "finish_reason":
			finish = rawjson.TextOf(value)
		case name == "native_finish_reason":
			native = rawjson.TextOf(value)
		case name == "error": // of OpenRouter, if the vendor behind it fails
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
		case "function_call": // the older form, of a single call
			if !rawjson.IsNull(value) {
				d.piece(append(rawjson.Raw([]byte("{"), "function", value), '}'))
			}
			continue
		case "content":
			d.content(value)
			continue
		case "refusal":
			d.emitText(providers.EventTextDelta, rawjson.TextOf(value))
		case "reasoning_content", "reasoning": // of DeepSeek and of OpenRouter; some send both
			if text := rawjson.TextOf(value); text != "" && !thought {
				thought = true
				d.emitText(providers.EventThinkingDelta, text)
			}
		}
		d.message.Child(name).Merge(value)
	}
}

// content adds a piece of the content: text, or Mistral's array of thinking and text, which
// text can follow.
func (d *chatDecoder) content(value []byte) {
	d.emitText(providers.EventTextDelta, rawjson.TextOf(value))
	d.emitParts(contentParts(value))
	content := d.message.Child("content")
	if value[0] != '"' || !content.AppendText(value) {
		content.Merge(value)
	}
}

// contentParts returns the parts of a content that is an array.
func contentParts(content []byte) []providers.Part {
	var parts []providers.Part
	for element := range wire.Elements(content) {
		part := providers.Part{Type: providers.PartText, Text: rawjson.TextAt(element, "text")}
		if thinking := wire.Lookup(element, "thinking"); thinking != nil {
			part = providers.Part{Type: providers.PartThinking, Text: rawjson.TextOf(thinking)}
			for inner := range wire.Elements(thinking) {
				part.Text += rawjson.TextAt(inner, "text")
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

// end implements decoder. Streams without a finish_reason (Snowflake) end with [DONE].
func (d *chatDecoder) end(done bool) error {
	switch {
	case !d.streamed && !d.chosen:
		return &providers.APIError{Status: 200, Message: "the response has no choices"}
	case d.streamed && !done && d.finish == "":
		return io.ErrUnexpectedEOF
	}
	return nil
}

// stop maps finish_reason.
func (d *chatDecoder) stop(calls, refused bool) providers.Stop {
	finish := strings.ToLower(d.finish)
	// Gemini's own endpoint sends "function_call_filter: MALFORMED_FUNCTION_CALL".
	malformed := "malformed_function_call"
	switch {
	case strings.HasSuffix(finish, malformed), finish == "error" && strings.ToLower(d.native) == malformed:
		return providers.StopMalformed
	case refused:
		return providers.StopRefused
	}
	switch finish {
	case "stop", "tool_calls", "function_call", "", "null", "eos", "eos_token", "stop_sequence", "end_turn", "tool_use":
		if calls { // whatever the reason: DeepSeek sends stop
			return providers.StopCalls
		}
		return providers.StopEnd
	case "length", "max_tokens":
		return providers.StopLength
	case "model_length", "model_context_window_exceeded": // Mistral, Z.ai
		return providers.StopWindow
	case "content_filter", "sensitive", "refusal": // the second is of Z.ai
		return providers.StopRefused
	case "abort", "network_error", "insufficient_system_resource": // vLLM, Z.ai, DeepSeek
		return providers.StopCut
	}
	return providers.StopOther
}

// chatUsage reads the usage. Some servers (xAI) count reasoning outside of completion_tokens,
// and some of those (Vercel's gateway) outside of total_tokens too.
func chatUsage(usage []byte) providers.Usage {
	u := providers.Usage{
		Input:      rawjson.NumberAt(usage, "prompt_tokens"),
		Output:     rawjson.NumberAt(usage, "completion_tokens"),
		Cached:     cmp.Or(rawjson.NumberAt(usage, "prompt_tokens_details", "cached_tokens"), rawjson.NumberAt(usage, "prompt_cache_hit_tokens")), // the latter is of DeepSeek
		CacheWrite: rawjson.NumberAt(usage, "prompt_tokens_details", "cache_write_tokens"),
		Reasoning:  rawjson.NumberAt(usage, "completion_tokens_details", "reasoning_tokens"),
	}
	u.Output = max(u.Output, rawjson.NumberAt(usage, "total_tokens")-u.Input)
	if u.Reasoning > u.Output {
		u.Output += u.Reasoning
	}
	return u
}
