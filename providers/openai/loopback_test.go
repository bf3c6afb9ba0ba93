package openai

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/providers"
)

// TestLoopback: a turn over a connection is emitted as it arrives, after a retry.
func TestLoopback(t *testing.T) {
	both(t, func(t *testing.T, provider func(Options) providers.Provider) {
		told := make(chan struct{})
		tries := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if tries++; tries == 1 {
				w.Header().Set("retry-after-ms", "1")
				http.Error(w, `{"error":{"message":"slow down"}}`, http.StatusTooManyRequests)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			first, rest := delta(`{"content":"Hel"}`), delta(`{"content":"lo"}`)+"\n\ndata: "+callsEnd
			if r.URL.Path == "/v1/responses" {
				first, rest = `{"type":"response.output_text.delta","output_index":0,"delta":"Hel"}`, done("0", messageItem)+"\n\ndata: "+completed(`[]`)
			}
			fmt.Fprintf(w, "data: %s\n\n", first)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-told:
			case <-time.After(10 * time.Second):
			}
			fmt.Fprintf(w, "data: %s\n\n", rest)
		}))
		defer server.Close()
		var kinds []providers.EventType
		turn := mustTurn(t, provider(Options{Client: providers.Client{BaseURL: server.URL + "/v1"}}), question(), func(e providers.Event) {
			if kinds = append(kinds, e.Type); len(kinds) == 2 {
				close(told)
			}
		})
		if turn.Message.Text() != "Hello" || tries != 2 || kinds[0] != providers.EventRetry || kinds[1] != providers.EventTextDelta {
			t.Errorf("%+v, %v", turn, kinds)
		}
	})
}

// TestPlainAtOnce: parallel turns find out that a model does not encrypt its reasoning.
func TestPlainAtOnce(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":{"message":"Encrypted content is not supported with this model."}}`, http.StatusBadRequest)
	}))
	defer server.Close()
	p, req := NewResponses(Options{Client: providers.Client{BaseURL: server.URL}}), question()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if turn, err := p.Turn(t.Context(), req, nil); err == nil {
				t.Errorf("%+v", turn)
			}
		})
	}
	all.Wait()
	if _, plain := p.plain.Load(req.Model); !plain {
		t.Error("nobody has learned it")
	}
}

// A request for embeddings goes to the server as it is, and so does the answer.
func TestEmbed(t *testing.T) {
	const body, answer = `{"model":"m","input":["a","b"]}`, `{"data":[{"embedding":[0.1,1e-7],"index":0}]}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/v1/embeddings" || string(got) != body || r.Header.Get("Authorization") != "Bearer key" {
			t.Errorf("%s %s %v", r.URL.Path, got, r.Header)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	p := NewChat(Options{Client: providers.Client{BaseURL: server.URL}, APIKey: "key"})
	if got, err := p.Embed(t.Context(), []byte(body)); err != nil || string(got) != answer {
		t.Errorf("%s %v", got, err)
	}
}
