package gemini

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
)

// typedEvent is an event as a program declares it that uses encoding/json.
type typedEvent struct {
	Candidates []struct {
		Content struct {
			Role  string `json:"role"`
			Parts []struct {
				Text             string `json:"text"`
				Thought          bool   `json:"thought"`
				ThoughtSignature string `json:"thoughtSignature"`
				FunctionCall     *struct {
					ID   string          `json:"id"`
					Name string          `json:"name"`
					Args json.RawMessage `json:"args"`
				} `json:"functionCall"`
			} `json:"parts"`
		} `json:"content"`
		FinishReason string `json:"finishReason"`
		Index        int    `json:"index"`
	} `json:"candidates"`
	UsageMetadata struct {
		PromptTokenCount     int `json:"promptTokenCount"`
		CandidatesTokenCount int `json:"candidatesTokenCount"`
		ThoughtsTokenCount   int `json:"thoughtsTokenCount"`
	} `json:"usageMetadata"`
	ModelVersion string `json:"modelVersion"`
	ResponseID   string `json:"responseId"`
}

// BenchmarkDecode: see providertest.CompareDecoding.
func BenchmarkDecode(b *testing.B) {
	var events []string
	for i := range 100 {
		events = append(events, `{"candidates": [{"content": {"parts": [{"text": "`+fmt.Sprint("some words of the answer ", i)+`"}],"role": "model"},"index": 0}],"usageMetadata": {"promptTokenCount": 211,"candidatesTokenCount": 18,"totalTokenCount": 249,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 211}],"thoughtsTokenCount": 20},"modelVersion": "gemini-3.1-pro-preview","responseId": "VgCzafjWBa_Qz7IP1KnJoQk"}`)
	}
	events = append(events, last(`{"functionCall":{"name":"get_weather","args":{"city":"Paris"}},"thoughtSignature":"c2ln"}`, "STOP"))
	providertest.CompareDecoding(b, "text/event-stream", stream(events...), "gemini", func(req *providers.Request) providers.Decoder { return newDecoder(req) }, func() any { return new(typedEvent) })
}
