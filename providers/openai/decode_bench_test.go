package openai

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
)

// chunkOfChat is a chunk as a client declares it that uses encoding/json.
type chunkOfChat struct {
	ID, Object, Model string
	Created           int64
	Choices           []struct {
		Index int
		Delta struct {
			Role, Content, Refusal, Reasoning string
			ReasoningContent                  string            `json:"reasoning_content"`
			ReasoningDetails                  []json.RawMessage `json:"reasoning_details"`
			ToolCalls                         []struct {
				Index    int
				ID, Type string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		FinishReason string `json:"finish_reason"`
	}
	Usage *struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
	}
}

// eventOfResponses is the same for an event of Responses.
type eventOfResponses struct {
	Type, Delta, Arguments string
	ItemID                 string `json:"item_id"`
	OutputIndex            int    `json:"output_index"`
	SummaryIndex           int    `json:"summary_index"`
	SequenceNumber         int    `json:"sequence_number"`
	Item                   *struct {
		ID, Type, Status, Role, Arguments, Name string
		CallID                                  string `json:"call_id"`
		EncryptedContent                        string `json:"encrypted_content"`
		Content, Summary                        []json.RawMessage
	}
	Response *struct {
		Status, Model string
		Output        []json.RawMessage
		Usage         json.RawMessage
	}
}

// BenchmarkDecode: see providertest.CompareDecoding.
func BenchmarkDecode(b *testing.B) {
	b.Run("openai-chat", func(b *testing.B) {
		decoder := func(req *providers.Request) providers.Decoder { return newChatDecoder(&api{}, req) }
		providertest.CompareDecoding(b, "text/event-stream", madeChat(), "openai-chat", decoder, func() any { return new(chunkOfChat) })
	})
	b.Run("openai-responses", func(b *testing.B) {
		decoder := func(req *providers.Request) providers.Decoder { return newResponsesDecoder(&api{}, req) }
		providertest.CompareDecoding(b, "text/event-stream", madeResponses(), "openai-responses", decoder, func() any { return new(eventOfResponses) })
	})
}

// madeChat returns a stream as OpenAI sends it: a text, and a call in pieces.
func madeChat() string {
	var b strings.Builder
	chunk := func(delta, finish string) {
		io.WriteString(&b, `data: {"id":"chatcmpl-CEn3BqQW2s0bGzK1","object":"chat.completion.chunk","created":1757619009,"model":"gpt-5-mini-2025-08-07","service_tier":"default","system_fingerprint":null,"choices":[{"index":0,"delta":`+
			delta+`,"logprobs":null,"finish_reason":`+finish+`}],"usage":null,"obfuscation":"a8Xk0pQ2"}`+"\n\n")
	}
	chunk(`{"role":"assistant","content":"","refusal":null}`, "null")
	for range 300 {
		chunk(`{"content":" words"}`, "null")
	}
	chunk(`{"tool_calls":[{"index":0,"id":"call_abc","type":"function","function":{"name":"weather","arguments":""}}]}`, "null")
	chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":[1"}}]}`, "null")
	for range 100 {
		chunk(`{"tool_calls":[{"index":0,"function":{"arguments":",23"}}]}`, "null")
	}
	chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"]}"}}]}`, "null")
	chunk(`{}`, `"tool_calls"`)
	return b.String() + "data: [DONE]\n\n"
}

// madeResponses is the same for Responses.
func madeResponses() string {
	var b strings.Builder
	event := func(kind, members string) {
		io.WriteString(&b, "event: "+kind+"\ndata: "+`{"type":"`+kind+`","sequence_number":7,`+members+"}\n\n")
	}
	event("response.created", `"response":{"id":"resp_1","status":"in_progress","model":"gpt-5","output":[]}`)
	event("response.output_item.added", `"output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","content":[],"role":"assistant"}`)
	for range 300 {
		event("response.output_text.delta", `"content_index":0,"delta":" words","item_id":"msg_07f7b191c92ba150016a3c117b65c88197","logprobs":[],"obfuscation":"a8Xk0pQ2","output_index":0`)
	}
	event("response.output_item.done", `"output_index":0,"item":`+messageItem)
	event("response.output_item.added", `"output_index":1,"item":{"id":"fc_1","type":"function_call","status":"in_progress","arguments":"","call_id":"a","name":"add"}`)
	for range 100 {
		event("response.function_call_arguments.delta", `"delta":",23","item_id":"fc_07f7b191c92ba150016a3c117b65c88197","obfuscation":"a8Xk0pQ2","output_index":1`)
	}
	event("response.output_item.done", `"output_index":1,"item":`+callItem)
	return b.String() + "event: response.completed\ndata: " + completed(`[`+messageItem+`,`+callItem+`]`) + "\n\n"
}
