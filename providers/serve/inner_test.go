package serve_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// An outer provider describes its tools in words, in OpenAI's format, to the models of another one.
type outer struct{ providers.Provider }

func (outer) Format() toolformat.Format   { return toolformat.FormatOpenAI }
func (o outer) Inner() providers.Provider { return o.Provider }

// An embedder is a provider with embeddings, of which it returns the request.
type embedder struct{ *scripted }

func (embedder) Embed(_ context.Context, body []byte) ([]byte, error) { return body, nil }

// The parameters of a model that has its tools in words are those of its own API. Its price is found by the name that its
// provider has in the config.
func TestInnerProvider(t *testing.T) {
	const hi = `"messages":[{"role":"user","content":"hi"}]}`
	for _, c := range []struct {
		path, body   string
		status       int
		answer, sent string
	}{
		{"chat/completions", `{"model":"m","user":"u","logit_bias":{},` + hi, http.StatusOK, `"content":"ok"`, ""},
		{"chat/completions", `{"model":"m","logit_bias":{"1":2},` + hi, http.StatusBadRequest, "logit_bias: the API of scripted has no such parameter", ""},
		{"messages", `{"model":"m","top_k":3,` + hi, http.StatusOK, `"text":"ok"`, `{"top_k":3}`},
		{"embeddings", `{"model":"m","input":"hi"}`, http.StatusOK, `"input":"hi"`, ""},
	} {
		within := &scripted{turns: []providers.Turn{says("ok")}} // of Anthropic's API
		s := serve.New(serve.Options{
			Toolbox: providers.NewToolbox(nil),
			Loop: providers.Options{Info: func(provider, _ string) *providers.ModelInfo {
				if provider != "here" {
					t.Errorf("the price of a model of %s is asked for, not of here", provider)
				}
				return nil
			}},
			Model: func(string) (providers.Candidate, providers.Settings, error) {
				return providers.Candidate{Name: "here", Provider: outer{embedder{within}}, Model: "m"}, providers.Settings{}, nil
			},
			Caller: func(*http.Request) bridge.Caller { return bridge.Caller{} },
		})
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/"+c.path, strings.NewReader(c.body)))
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.answer) {
			t.Errorf("%s %s: %d %s", c.path, c.body, w.Code, w.Body)
		}
		sent := ""
		for _, r := range within.requests {
			sent += string(r.Settings.Body)
		}
		if sent != c.sent {
			t.Errorf("%s %s: the provider is sent %q, want %q", c.path, c.body, sent, c.sent)
		}
	}
}
