package sourcetest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// Compare measures a tool called through a source, the tool called directly, and bare, the same
// work without a bridge. The metrics ratio and tool-ratio are the medians of the first two
// relative to that of bare. The three take turns, so that other load meets all of them.
func Compare(b *testing.B, tool bridge.Tool, arguments string, bare func() error) {
	serve := Serve(b, tool)
	runs := []func() error{
		func() error {
			if r := serve(b.Context(), tool.Name, arguments); r.Err != nil {
				return r.Err
			}
			return nil
		},
		func() error {
			r, err := tool.Call(b.Context(), []byte(arguments))
			if err == nil && r.Memory != nil {
				r.Memory.Free()
			}
			return err
		},
		bare,
	}
	times := make([][]time.Duration, len(runs))
	for b.Loop() {
		for i, run := range runs {
			begun := time.Now()
			if err := run(); err != nil {
				b.Fatal(err)
			}
			times[i] = append(times[i], time.Since(begun))
		}
	}
	median := func(i int) float64 {
		slices.Sort(times[i])
		return float64(times[i][len(times[i])/2])
	}
	b.ReportMetric(median(0)/median(2), "ratio")
	b.ReportMetric(median(1)/median(2), "tool-ratio")
	b.ReportMetric(median(2), "bare-ns")
	b.ReportMetric(0, "ns/op") // of all three together
}

// CompareHTTP is Compare for tools that send a request, with short and long answers. open makes
// the tool for an API at a URL, format is the answer around the wanted JSON, and request is what
// a bare client sends. That client only reads the answer; in a second comparison it also makes
// the same result with encoding/json, as a program without a bridge does.
func CompareHTTP(b *testing.B, open func(b *testing.B, url string) bridge.Tool, format, arguments string, request func(ctx context.Context, url string) (*http.Request, error)) {
	record := `{"id":12,"name":"Ada","tags":["a","b"],"ok":true,"text":"some words in a row"}`
	for _, c := range []struct{ name, answer string }{
		{"string/100", `"` + strings.Repeat("x", 100) + `"`},
		{"string/64K", `"` + strings.Repeat("x", 64<<10) + `"`},
		{"records/64K", "[" + record + strings.Repeat(","+record, 64<<10/len(record)) + "]"},
	} {
		body := fmt.Sprintf(format, c.answer)
		for name, use := range map[string]func([]byte) error{"read": wants(len(body)), "result": encode} {
			b.Run(c.name+"/"+name, func(b *testing.B) {
				server := httptest.NewServer(Answer(http.StatusOK, "application/json", body))
				b.Cleanup(server.Close)
				client := &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
				b.Cleanup(client.CloseIdleConnections)
				Compare(b, open(b, server.URL), arguments, func() error {
					req, err := request(b.Context(), server.URL)
					if err != nil {
						return err
					}
					res, err := client.Do(req)
					if err != nil {
						return err
					}
					defer res.Body.Close()
					got, err := io.ReadAll(res.Body)
					if err != nil {
						return err
					}
					return use(got)
				})
			})
		}
	}
}

// wants returns a function that checks the length of an answer.
func wants(size int) func([]byte) error {
	return func(answer []byte) error {
		if len(answer) != size {
			return fmt.Errorf("%d bytes came, want %d", len(answer), size)
		}
		return nil
	}
}

// encode makes a result of an answer that is JSON.
func encode(answer []byte) error {
	type text struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	_, err := json.Marshal(struct {
		Content    []text          `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
	}{[]text{{"text", string(answer)}}, answer})
	return err
}
