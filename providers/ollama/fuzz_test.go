package ollama

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
)

// FuzzDecode: no answer causes a panic, or a next request that is not JSON.
func FuzzDecode(f *testing.F) {
	for _, c := range decodeCases {
		f.Add([]byte(c.body), false, len(c.body)/2)
		f.Add([]byte(c.body), true, len(c.body)/2)
	}
	f.Fuzz(func(t *testing.T, body []byte, stream bool, cut int) {
		kind := "application/json"
		if stream {
			kind = streamed
		}
		providertest.CheckAnswer(t, provider, kind, body, cut)
	})
}

// typedLine is a line as a program declares it that uses encoding/json.
type typedLine struct {
	Model   string `json:"model"`
	Message struct {
		Role      string            `json:"role"`
		Content   string            `json:"content"`
		Thinking  string            `json:"thinking"`
		ToolCalls []json.RawMessage `json:"tool_calls"`
	} `json:"message"`
	Done            bool   `json:"done"`
	DoneReason      string `json:"done_reason"`
	PromptEvalCount int    `json:"prompt_eval_count"`
	EvalCount       int    `json:"eval_count"`
}

// BenchmarkDecode: see providertest.CompareDecoding.
func BenchmarkDecode(b *testing.B) {
	made := strings.Repeat(line(`{"role":"assistant","content":" word\n"}`), 300) +
		strings.Repeat(line(`{"role":"assistant","content":"","tool_calls":[{"function":{"index":0,"name":"get_weather","arguments":{"city":"Paris","days":[1,2,3]}}}]}`), 4) + last
	providertest.CompareDecoding(b, "application/x-ndjson", made, "", func(req *providers.Request) providers.Decoder { return newDecoder(req) }, func() any { return new(typedLine) })
}
