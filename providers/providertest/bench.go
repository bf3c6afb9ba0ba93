package providertest

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/providers"
)

// CompareDecoding measures how long decoders take for streams, relative to encoding/json with
// a struct for each event: the metric x is the ratio of the medians. The streams are made, with
// a Content-Type, and with MCPBRIDGE_CORPUS all recorded ones of a format; "" means that there
// are none.
func CompareDecoding(b *testing.B, kind, made, format string, decoder func(*providers.Request) providers.Decoder, into func() any) {
	b.Run("made", func(b *testing.B) { compareDecoding(b, kind, []string{made}, decoder, into) })
	if format == "" || os.Getenv("MCPBRIDGE_CORPUS") == "" {
		return
	}
	var recorded []string
	for _, conversation := range Corpus(b, format) {
		for i := range conversation {
			if conversation[i].SSE {
				recorded = append(recorded, string(conversation[i].Body()))
			}
		}
	}
	b.Run("recorded", func(b *testing.B) { compareDecoding(b, kind, recorded, decoder, into) })
}

func compareDecoding(b *testing.B, kind string, streams []string, decoder func(*providers.Request) providers.Decoder, into func() any) {
	size := 0
	for _, s := range streams {
		size += len(s)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	req := Request("m", "call_0")
	var ours, theirs []time.Duration
	for b.Loop() {
		ours = append(ours, decodeAll(b, kind, streams, func() providers.Decoder { return decoder(req) }))
		b.StopTimer()
		theirs = append(theirs, decodeAll(b, kind, streams, func() providers.Decoder { return typedDecoder(into) }))
		b.StartTimer()
	}
	b.ReportMetric(float64(median(ours))/float64(median(theirs)), "x")
}

// decodeAll returns how long it takes to decode streams.
func decodeAll(b *testing.B, kind string, streams []string, decoder func() providers.Decoder) time.Duration {
	begin := time.Now()
	for _, s := range streams {
		transport := &Transport{Answers: []Answer{NewAnswer(kind, s)}}
		client := providers.Client{BaseURL: "http://api.invalid", HTTP: transport.Client()}
		if _, err := client.Turn(b.Context(), providers.Exchange{Decoder: decoder()}, nil); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(begin)
}

// A typedDecoder decodes events into values of a type.
type typedDecoder func() any

func (d typedDecoder) Read(resp *providers.Response, _ func(providers.Event)) error {
	if resp.Header.Get("Content-Type") != "text/event-stream" {
		return resp.Lines(func(data []byte) error { return json.Unmarshal(data, d()) }, nil)
	}
	return resp.Events(func(_ string, data []byte) error { return json.Unmarshal(data, d()) }, nil)
}

func (d typedDecoder) Turn() *providers.Turn { return &providers.Turn{} }

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
