package openai

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
)

// TestLoopback: a turn over a connection is told while it comes, after a refusal that its
// provider may be asked again.
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
		if turn.Message.Text() != "Hello" || tries != 2 || kinds[0] != providers.Retry || kinds[1] != providers.TextDelta {
			t.Errorf("%+v, %v", turn, kinds)
		}
	})
}

// TestSideBySide: one provider, many turns at once.
func TestSideBySide(t *testing.T) {
	both(t, func(t *testing.T, provider func(Options) providers.Provider) {
		const turns = 20
		exchanges := make([]providertest.Exchange, 2*turns) // Responses asks twice
		for i := range exchanges {
			exchanges[i] = providertest.Exchange{Status: 400, Resp: []byte(`{"error":{"message":"Encrypted content is not supported with this model."}}`)}
		}
		p, req := provider(Options{Client: providers.Client{BaseURL: providertest.NewServer(t, exchanges...).URL}}), question()
		var all sync.WaitGroup
		for range turns {
			all.Go(func() {
				if turn, err := p.Turn(t.Context(), req, nil); err == nil {
					t.Errorf("%+v", turn)
				}
			})
		}
		all.Wait()
	})
}
