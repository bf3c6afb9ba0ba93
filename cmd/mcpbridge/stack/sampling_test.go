package stack

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

// The config says how many requests of a server for a model are under way at once, and how
// many there may be.
func TestSamplingLimits(t *testing.T) {
	const most = 5 // the default is 4 at once
	var mu sync.Mutex
	waiting, all := 0, make(chan struct{})
	model := sourcetest.NewAPI(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		if waiting++; waiting == most {
			close(all)
		}
		mu.Unlock()
		select {
		case <-all:
		case <-r.Context().Done():
		}
		sourcetest.Answer(http.StatusOK, "application/json", `{"choices":[{"index":0,"message":{"role":"assistant","content":"Yes."},"finish_reason":"stop"}]}`)(w, r)
	})
	cfg, err := config.Loader{}.Parse("", fmt.Appendf(nil, `{
		"mcpServers": {"fake": {"url": "http://127.0.0.1:1"}},
		"limits": {"sampling": %d, "samplingPerMinute": %[1]d},
		"providers": {"double": {"type": "openai", "baseUrl": %q, "model": "m"}}, "loop": {"sampling": ["fake"]}}`, most, model.URL))
	if err != nil {
		t.Fatal(err)
	}
	sys, err := New(cfg, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer sys.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	createMessage := sys.sampling("fake")
	params := []byte(`{"messages":[{"role":"user","content":{"type":"text","text":"Go!"}}],"maxTokens":9}`)
	var asks sync.WaitGroup
	for range most {
		asks.Go(func() {
			if _, failed := createMessage(ctx, params); failed != nil {
				t.Error(failed)
			}
		})
	}
	asks.Wait()
	if _, failed := createMessage(ctx, params); failed == nil || !strings.Contains(failed.Message, "at most 5 a minute") {
		t.Errorf("one more: %v", failed)
	}
}
