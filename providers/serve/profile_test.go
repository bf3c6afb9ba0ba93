package serve_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/profile"
	"github.com/mcpbridge/mcpbridge/mcpserver"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve"
)

// A model is offered the tools of its caller's profile, at /v1 and below /v1/p.
func TestProfiles(t *testing.T) {
	var tools []bridge.Tool
	for _, name := range []string{"one", "two"} {
		tool, err := bridge.Func(name, "Does it.", func(context.Context, struct{}) (string, error) { return "", nil })
		if err != nil {
			t.Fatal(err)
		}
		tools = append(tools, tool)
	}
	native, err := bridge.NewNative(bridge.NativeOptions{}, tools...)
	if err != nil {
		t.Fatal(err)
	}
	defer native.Close()
	source := profile.New(native, profile.Options{Profiles: []profile.Profile{
		{Name: "first", Principals: []string{"ann"}, Tools: profile.Names{Include: []string{"one"}}},
		{Name: "second", Principals: []string{"ann"}, Tools: profile.Names{Include: []string{"two"}}},
	}})
	model := &scripted{turns: []providers.Turn{says("a"), says("b")}}
	chat := serve.New(serve.Options{
		Toolbox: providers.NewToolbox(source), Models: func(context.Context) []string { return []string{"here/m"} }, Caller: mcpserver.CallerOf,
		Model: func(string) (providers.Candidate, providers.Settings, error) {
			return providers.Candidate{Provider: model, Model: "m"}, providers.Settings{}, nil
		},
	})
	front := mcpserver.New(source, mcpserver.Options{
		Access:    mcpserver.Access{Tokens: map[string]string{"ann": "ann", "bob": "bob"}},
		Protected: map[string]http.Handler{"/v1/": chat, "/v1/p/{profile}/": chat},
	})
	defer front.Close()
	web := httptest.NewServer(front.Handler())
	defer web.Close()
	for _, c := range []struct {
		token, path string
		status      int
		want        string
	}{
		{"ann", "/v1/chat/completions", http.StatusOK, "one"},
		{"ann", "/v1/p/second/chat/completions", http.StatusOK, "two"},
		{"ann", "/v1/p/third/chat/completions", http.StatusNotFound, "unknown profile: third"},
		{"bob", "/v1/p/second/chat/completions", http.StatusNotFound, "unknown profile: second"},
		{"bob", "/v1/chat/completions", http.StatusForbidden, "no profile of this bridge is for bob"},
		{"ann", "/v1/p/second/rerank", http.StatusNotFound, "unknown path"},
		{"ann", "/v1/p/second/embeddings", http.StatusBadRequest, "has no embeddings here"},
		{"ann", "/v1/p/third/embeddings", http.StatusNotFound, "unknown profile: third"},
		{"bob", "/v1/embeddings", http.StatusForbidden, "no profile of this bridge is for bob"},
		{"bob", "/v1/p/second/models", http.StatusNotFound, "unknown profile: second"},
		{"bob", "/v1/models", http.StatusForbidden, "no profile of this bridge is for bob"},
		{"bob", "/v1/models/here/m", http.StatusForbidden, "no profile of this bridge is for bob"},
		{"bob", "/v1/responses/resp_1", http.StatusForbidden, "no profile of this bridge is for bob"},
	} {
		method := http.MethodPost
		if strings.Contains(c.path, "/models") || strings.Contains(c.path, "/responses/") {
			method = http.MethodGet
		}
		req, err := http.NewRequest(method, web.URL+c.path, strings.NewReader(`{"model":"here/m","messages":[{"role":"user","content":"hi"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+c.token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		got := string(body)
		if resp.StatusCode == http.StatusOK {
			got = model.requests[len(model.requests)-1].Tools.Tools()[0].Name
		}
		if resp.StatusCode != c.status || !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %d %s, want %d %s", c.token, c.path, resp.StatusCode, got, c.status, c.want)
		}
	}
}
