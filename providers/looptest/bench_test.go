package looptest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/ollama"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// BenchmarkLoop measures a prompt with a hundred tools: the model calls one, which returns 64 KiB of
// records, and answers after the second request. The rest of the time is that of the loop and of the
// provider, whose answers come at once.
func BenchmarkLoop(b *testing.B) {
	const record = `{"id":12,"name":"Ada","tags":["a","b"],"ok":true,"text":"some words in a row"}`
	records := `{"data":[` + record + strings.Repeat(","+record, 64<<10/len(record)) + `]}`
	text, err := json.Marshal(records)
	if err != nil {
		b.Fatal(err)
	}
	for name, result := range map[string]string{
		"text":       `{"content":[{"type":"text","text":` + string(text) + `}]}`,
		"structured": `{"content":[{"type":"text","text":` + string(text) + `}],"structuredContent":` + records + `}`,
	} {
		b.Run(name, func(b *testing.B) {
			model := scripted{
				`{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"tool_0","arguments":{"id":1}}}]},"done":true,"done_reason":"stop"}` + "\n",
				`{"model":"m","message":{"role":"assistant","content":"done"},"done":true,"done_reason":"stop"}` + "\n",
			}
			provider := ollama.New(ollama.Options{Client: providers.Client{BaseURL: "http://127.0.0.1:11434", HTTP: &http.Client{Transport: &model}}})
			conv := providers.NewConversation(providers.Candidate{Model: "m", Provider: provider}).Options(providers.Options{Limits: providers.Limits{Output: 1 << 20}})
			for i := range 100 {
				conv = conv.Tool(bridge.Tool{
					Tool: toolformat.Tool{Name: fmt.Sprintf("tool_%d", i), Description: "Returns records.", InputSchema: json.RawMessage(`{"type":"object","properties":{"id":{"type":"integer","description":"an id"}},"required":["id"]}`)},
					Call: func(context.Context, json.RawMessage) (*toolformat.Result, error) {
						return &toolformat.Result{JSON: json.RawMessage(result)}, nil
					},
				})
			}
			defer conv.Close()
			b.ReportAllocs()
			for b.Loop() {
				_, after, err := conv.Prompt(b.Context(), "go")
				if err != nil || len(after.Messages()) != 4 {
					b.Fatal(err, len(after.Messages()))
				}
			}
		})
	}
}

// scripted are the bodies of the answers to requests, one after another and then from the beginning.
type scripted []string

func (s *scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	body := (*s)[0]
	*s = append((*s)[1:], body)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/x-ndjson"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}
