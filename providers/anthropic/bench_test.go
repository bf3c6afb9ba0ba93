package anthropic

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
				eachEvent(b, s.body, func(data []byte) {
					_ = d.event("", data)
				})
				if d.turn().Message.Raw == nil {
					b.Fatal("no message")
				}
				ours = append(ours, time.Since(begin))
				begin = time.Now()
				eachEvent(b, s.body, func(data []byte) {
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
	events := []string{start, blockStart(0, `{"type":"text","text":""}`)}
	for i := range 200 {
		events = append(events, blockDelta(0, fmt.Sprintf(`{"type":"text_delta","text":"word %d of \"it\"\n"}`, i)))
	}
	events = append(events, blockStart(1, `{"type":"tool_use","id":"toolu_1","name":"get_weather","input":{}}`))
	for range 200 {
		events = append(events, input(1, `{\"city\": \"Paris\"} `))
	}
	all := []benchStream{{"made", []byte(stream(append(events, toolUse, finish)...))}}
	if os.Getenv("MCPBRIDGE_CORPUS") == "" {
		return all
	}
	seen := map[int]bool{}
	for _, conversation := range providertest.Corpus(b, "anthropic") {
		for i := range conversation {
			body := conversation[i].Body()
			size := len(body) / (4 << 10)
			if conversation[i].SSE && !seen[size] {
				seen[size] = true
				all = append(all, benchStream{fmt.Sprintf("recorded-%d", len(body)), body})
			}
		}
	}
	return all
}

func eachEvent(b *testing.B, body []byte, read func(data []byte)) {
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
