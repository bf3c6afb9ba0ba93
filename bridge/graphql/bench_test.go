package graphql

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkCall is a call of a GraphQL tool, beside the same request with a bare
// http.Client: x is how many times as long it takes, by the medians. The two take turns,
// so that what else the machine does meets both.
func BenchmarkCall(b *testing.B) {
	for _, size := range []int{100, 64 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			body := []byte(`{"data":{"text":"` + strings.Repeat("x", size) + `"}}`)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.Write(body)
			}))
			b.Cleanup(server.Close)
			const query = "query Orders($id: ID!, $limit: Int = 10) { orders(id: $id, limit: $limit) { id total items { name } } }"
			tool := newTool(b, openAPI(b, nil, `{"url":"`+server.URL+`","auth":"x"}`), Spec{Query: query})
			bare := newClient(defaultConnections)
			b.Cleanup(bare.CloseIdleConnections)
			arguments := json.RawMessage(`{"id":"a b","limit":10}`)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			var ours, theirs []time.Duration
			for b.Loop() {
				start := time.Now()
				if _, err := tool.Call(b.Context(), arguments); err != nil {
					b.Fatal(err)
				}
				ours = append(ours, time.Since(start))
				start = time.Now()
				if err := post(bare, server.URL, `{"query":"`+query+`","operationName":"Orders","variables":{"id":"a b","limit":10}}`); err != nil {
					b.Fatal(err)
				}
				theirs = append(theirs, time.Since(start))
			}
			b.ReportMetric(float64(median(ours))/float64(median(theirs)), "x")
			b.ReportMetric(float64(median(theirs)), "bare-ns")
		})
	}
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

func post(client *http.Client, url, body string) error {
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "x")
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = io.ReadAll(res.Body)
	return err
}
