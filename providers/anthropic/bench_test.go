package anthropic

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
)

// typedEvent is an event as a program declares it that uses encoding/json.
type typedEvent struct {
	Type         string          `json:"type"`
	Index        int             `json:"index"`
	Message      json.RawMessage `json:"message"`
	ContentBlock json.RawMessage `json:"content_block"`
	Delta        struct {
		Type        string          `json:"type"`
		Text        string          `json:"text"`
		PartialJSON string          `json:"partial_json"`
		Thinking    string          `json:"thinking"`
		Signature   string          `json:"signature"`
		Citation    json.RawMessage `json:"citation"`
		StopReason  string          `json:"stop_reason"`
	} `json:"delta"`
	Usage json.RawMessage `json:"usage"`
}

// BenchmarkDecode: see providertest.CompareDecoding.
func BenchmarkDecode(b *testing.B) {
	events := []string{start, blockStart(0, `{"type":"text","text":""}`)}
	for i := range 200 {
		events = append(events, blockDelta(0, fmt.Sprintf(`{"type":"text_delta","text":"word %d of \"it\"\n"}`, i)))
	}
	events = append(events, blockStart(1, `{"type":"tool_use","id":"toolu_1","name":"get_weather","input":{}}`))
	for range 200 {
		events = append(events, input(1, `{\"city\": \"Paris\"} `))
	}
	made := stream(append(events, toolUse, finish)...)
	providertest.CompareDecoding(b, "text/event-stream", made, "anthropic", func(req *providers.Request) providers.Decoder { return newDecoder(req) }, func() any { return new(typedEvent) })
}
