package e2etest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/mcpserver"
	"github.com/mcpbridge/mcpbridge/mcpserver/web/console"
	"github.com/mcpbridge/mcpbridge/providers"
	endpoints "github.com/mcpbridge/mcpbridge/providers/serve"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// lawModel is a model that calls every tool that there is, whatever it is offered.
type lawModel struct {
	tools []string // names of all

	mu      sync.Mutex       // guards what follows
	offered []string         // tokens of the tools of the latest request
	told    []providers.Part // results of the latest request
}

func (m *lawModel) Name() string              { return "law" }
func (m *lawModel) Format() toolformat.Format { return toolformat.FormatOpenAI }

func (m *lawModel) Turn(_ context.Context, req *providers.Request, _ func(providers.Event)) (*providers.Turn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := req.Messages[len(req.Messages)-1]
	if last.Role != providers.RoleUser || last.Parts[0].Type == providers.PartResult {
		m.told = last.Parts
		return &providers.Turn{Message: providers.Message{Role: providers.RoleAssistant, Parts: []providers.Part{{Type: providers.PartText, Text: "done"}}}, Stop: providers.StopEnd}, nil
	}
	m.offered, m.told = nil, nil
	for _, tool := range req.Tools.Tools() {
		m.offered = append(m.offered, lawToken().FindAllString(tool.Name+" "+tool.Description, -1)...)
	}
	slices.Sort(m.offered)
	m.offered = slices.Compact(m.offered)
	turn := &providers.Turn{Message: providers.Message{Role: providers.RoleAssistant}, Stop: providers.StopCalls}
	for i, name := range m.tools {
		turn.Message.Parts = append(turn.Message.Parts, providers.Part{Type: providers.PartCall, Call: &providers.Call{ID: fmt.Sprint("call-", i), Name: name, Arguments: json.RawMessage(`{}`)}})
	}
	return turn, nil
}

// serveModel returns the endpoints for models, /v1.
func (w *world) serveModel() map[string]http.Handler {
	for i := range w.servers {
		for n := range 3 {
			w.model.tools = append(w.model.tools, fmt.Sprintf("s%d__tool_s%d_%d", i, i, n))
		}
	}
	chat := endpoints.New(endpoints.Options{
		Toolbox: providers.NewToolbox(w.stack), Models: func(context.Context) []string { return []string{"law/m"} }, Caller: mcpserver.CallerOf,
		Model: func(string) (providers.Candidate, providers.Settings, error) {
			return providers.Candidate{Provider: &w.model, Model: "m"}, providers.Settings{}, nil
		},
	})
	all := func(*http.Request) (any, error) { return w.model.tools, nil }
	return map[string]http.Handler{"/v1/": chat, "/v1/p/{profile}/": chat, console.Path: console.Handler(console.Options{
		Read: map[string]func(*http.Request) (any, error){"all": all}, Do: map[string]func(*http.Request) (any, error){"all": all},
	})}
}

// operate asks the console, which is the operator's, as each principal.
func (w *world) operate(t *testing.T) {
	for _, principal := range slices.Concat(lawPrincipals, slices.Sorted(maps.Keys(lawClaimed))) {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			resp, err := peer.Do(t.Context(), http.DefaultClient, method, w.web.URL+console.Path+"all", nil, bearer(lawSecret(principal)))
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != http.StatusUnauthorized || lawToken().Match(body) {
				t.Errorf("%s uses the console: %s %s", principal, resp.Status, body)
			}
		}
	}
}

// lawAPIs are requests for a model, by the path behind /v1.
var lawAPIs = map[string]string{
	"/chat/completions": `{"model":"law/m","messages":[{"role":"user","content":"hi"}]}`,
	"/messages":         `{"model":"law/m","max_tokens":100,"messages":[{"role":"user","content":"hi"}]}`,
	"/responses":        `{"model":"law/m","input":"hi"}`,
}

// chat has the model offered, and given, what the profile of a principal has, and nothing else, whatever API the
// client speaks.
func (w *world) chat(t *testing.T, principal, asked string) {
	for api := range lawAPIs {
		w.chatBy(t, api, principal, asked)
	}
}

func (w *world) chatBy(t *testing.T, api, principal, asked string) {
	path, name := "/v1", fmt.Sprintf("%s at %q over %s", principal, asked, api)
	if asked != "" {
		path += "/p/" + asked
	}
	header := bearer(lawSecret(principal))
	if api == "/messages" { // as Anthropic's clients send it
		header = http.Header{"X-Api-Key": {lawSecret(principal)}, "Anthropic-Version": {"2023-06-01"}}
	}
	resp, err := peer.Do(t.Context(), http.DefaultClient, http.MethodPost, w.web.URL+path+api, []byte(lawAPIs[api]), header)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	p := w.profile(principal, asked)
	if p == nil {
		if resp.StatusCode != http.StatusForbidden && resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s %s", name, resp.Status, body)
		}
		return
	}
	w.model.mu.Lock()
	defer w.model.mu.Unlock()
	var want []string
	for _, tool := range w.model.tools {
		if token := lawToken().FindString(tool); p.admits(token) {
			want = append(want, token)
		}
	}
	if token := lentToken(principal); w.lent[principal] && p.admits(token) {
		want = append(want, token)
	}
	slices.Sort(want)
	if resp.StatusCode != http.StatusOK || !slices.Equal(w.model.offered, want) {
		t.Errorf("%s: %s %s, and the model is offered %v, want %v", name, resp.Status, body, w.model.offered, want)
	}
	for _, token := range lawToken().FindAllString(string(body), -1) {
		if !p.admits(token) && !strings.HasPrefix(token, "tool_") { // which the model has called
			t.Errorf("%s: %s in the answer: %s", name, token, body)
		}
	}
	if len(want) > 0 && len(w.model.told) != len(w.model.tools) {
		t.Errorf("%s: the model is told %d results of %d calls", name, len(w.model.told), len(w.model.tools))
	}
	for _, part := range w.model.told {
		called := lawToken().FindString(part.Result.Name)
		text := string(part.Result.Content.JSON)
		for _, token := range lawToken().FindAllString(text, -1) {
			if !p.admits(token) && token != called {
				t.Errorf("%s: the model is told of %s: %s", name, token, text)
			}
		}
		if ran := strings.Contains(text, `"text":"`+called+`"`); ran != p.admits(called) {
			t.Errorf("%s: %s ran: %t: %s", name, called, ran, text)
		}
	}
}
