package gemini

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
)

// typedEvent is an event as a program would declare it that decodes with encoding/json.
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

// BenchmarkDecode makes a turn of a stream, beside unmarshalling each of its events with
// encoding/json and nothing more: x is how many times as long it takes, by the medians.
func BenchmarkDecode(b *testing.B) {
	for _, s := range benchStreams(b) {
		b.Run(s.name, func(b *testing.B) {
			b.SetBytes(int64(len(s.body)))
			b.ReportAllocs()
			req := testRequest()
			var ours, theirs []time.Duration
			for b.Loop() {
				begin := time.Now()
				d := newDecoder(req, func(providers.Event) {})
				eachEvent(s.body, func(data []byte) {
					if err := d.event("", data); err != nil {
						b.Fatal(err)
					}
				})
				if d.turn().Message.Raw == nil {
					b.Fatal("no candidate")
				}
				ours = append(ours, time.Since(begin))
				begin = time.Now()
				eachEvent(s.body, func(data []byte) {
					var e typedEvent
					if err := json.Unmarshal(data, &e); err != nil {
						b.Fatal(err)
					}
				})
				theirs = append(theirs, time.Since(begin))
			}
			b.ReportMetric(float64(median(ours))/float64(median(theirs)), "x")
		})
	}
}

type benchStream struct {
	name string
	body []byte
}

// benchStreams are one that is made here, and with MCPBRIDGE_CORPUS a recorded one of each
// size.
func benchStreams(b *testing.B) []benchStream {
	var events []string
	for i := range 100 {
		events = append(events, `{"candidates": [{"content": {"parts": [{"text": "`+fmt.Sprint("some words of the answer ", i)+`"}],"role": "model"},"index": 0}],"usageMetadata": {"promptTokenCount": 211,"candidatesTokenCount": 18,"totalTokenCount": 249,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 211}],"thoughtsTokenCount": 20},"modelVersion": "gemini-3.1-pro-preview","responseId": "VgCzafjWBa_Qz7IP1KnJoQk"}`)
	}
	events = append(events, last(`{"functionCall":{"name":"get_weather","args":{"city":"Paris"}},"thoughtSignature":"c2ln"}`, "STOP"))
	all := []benchStream{{"made", []byte(stream(events...))}}
	if os.Getenv("MCPBRIDGE_CORPUS") == "" {
		return all
	}
	seen := map[int]bool{}
	for _, conversation := range providertest.Corpus(b, "gemini") {
		for i := range conversation {
			body := conversation[i].Body()
			size := len(body) / 1500
			if conversation[i].SSE && !seen[size] {
				seen[size] = true
				all = append(all, benchStream{fmt.Sprintf("recorded-%d", len(body)), body})
			}
		}
	}
	return all
}

func eachEvent(body []byte, read func(data []byte)) {
	events := wire.NewEventReader(bytes.NewReader(body), 1<<20)
	for {
		e, err := events.Next()
		if err != nil {
			return
		}
		if e.Data != nil {
			read(e.Data.B)
			e.Data.Free()
		}
	}
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
