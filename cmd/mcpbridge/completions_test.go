package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

// serving is a bridge that serves in this process until the test ends.
type serving struct {
	*testing.T
	url string
	dir string   // of the config
	log *lineLog // to be read when it has ended
	end func()
}

// serveConfig serves a config, which stands beside files.
func serveConfig(t *testing.T, text string, files map[string]string) *serving {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, config.FileName)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &serving{T: t, dir: dir, log: &lineLog{found: make(chan string, 1)}}
	ctx, cancel := context.WithCancel(context.Background())
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"serve", "--config", path, "--listen", "127.0.0.1:0"}, streams{in: strings.NewReader(""), out: io.Discard, err: s.log})
	}()
	ended := false
	s.end = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		if got := <-code; got != exitDone {
			t.Errorf("serve ends with %d\n%s", got, s.log.text.String())
		}
	}
	t.Cleanup(s.end)
	select {
	case s.url = <-s.log.found:
	case got := <-code:
		ended = true
		t.Fatalf("serve ends with %d\n%s", got, s.log.text.String())
	case <-time.After(patience):
		t.Fatal("serve does not say where it listens")
	}
	return s
}

// setFolders gives the process folders of its own, in which no other program is found.
func setFolders(t *testing.T) {
	for _, name := range []string{"HOME", "XDG_STATE_HOME", "LOCALAPPDATA", "AppData"} {
		t.Setenv(name, filepath.Join(t.TempDir(), name))
	}
	run, err := os.MkdirTemp("", "run") // the path of a socket is short, and one that does not exist is not used
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(run) })
	t.Setenv("XDG_RUNTIME_DIR", run)
}

// request sends a request of the modern era about an item, with more of its params before _meta.
func (s *serving) request(method, name, params string) (*http.Response, string) {
	s.Helper()
	return s.send(http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
		"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
		"Accept=application/json, text/event-stream", "Mcp-Protocol-Version=2026-07-28", "Mcp-Method="+method, "Mcp-Name="+name)
}

// send sends a request with headers, NAME=VALUE each, and returns the response and its
// body.
func (s *serving) send(method, path, body string, headers ...string) (*http.Response, string) {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, "=")
		if name == "Host" {
			req.Host = value
		}
		req.Header.Add(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
	return resp, string(b)
}

// A config with providers alone is a gateway to them.
func TestGateway(t *testing.T) {
	model := sourcetest.NewAPI(t, sourcetest.Answer(http.StatusOK, "application/json", `{"choices":[{"index":0,"message":{"role":"assistant","content":"Yes."},"finish_reason":"stop"}]}`))
	text := fmt.Sprintf(`{"providers": {"double":{"type":"openai","baseUrl":%q,"model":"m"}}}`, model.URL)
	path := filepath.Join(t.TempDir(), config.FileName)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, stderr strings.Builder
	if code := run(t.Context(), []string{"ask", "hi", "--config", path}, streams{out: &out, err: &stderr}); code != exitDone || out.String() != "Yes.\n" {
		t.Errorf("ask ends with %d: %s%s", code, out.String(), stderr.String())
	}
	s := serveConfig(t, text, nil)
	if resp, body := s.send("POST", "/v1/chat/completions", completion("double/m", "")); resp.StatusCode != http.StatusOK || !strings.Contains(body, `"content":"Yes."`) {
		t.Errorf("%s %s", resp.Status, body)
	}
	initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	if resp, body := s.send("POST", "/mcp", initialize, "Accept=application/json, text/event-stream"); resp.StatusCode != http.StatusOK {
		t.Errorf("MCP: %s %s", resp.Status, body)
	}
}

// completion is a request for one.
func completion(model, rest string) string {
	return fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"Go!"}]%s}`, model, rest)
}

// What is kept of conversations outlives a change of the config.
func TestResponsesOutliveReload(t *testing.T) {
	setFolders(t)
	model := sourcetest.NewAPI(t, sourcetest.Answer(http.StatusOK, "application/json", `{"choices":[{"index":0,"message":{"role":"assistant","content":"Yes."},"finish_reason":"stop"}]}`))
	text := fmt.Sprintf(`"providers": {"double":{"type":"openai","baseUrl":%q,"model":"m"}}}`, model.URL)
	s := serveConfig(t, "{"+text, nil)
	_, body := s.send("POST", "/v1/responses", `{"model":"double/m","store":true,"input":"Go!"}`)
	var response struct{ ID string }
	if err := json.Unmarshal([]byte(body), &response); err != nil || response.ID == "" {
		t.Fatal(err, body)
	}
	if err := os.WriteFile(filepath.Join(s.dir, config.FileName), []byte(`{"limits": {"completions": 7}, `+text), 0o600); err != nil {
		t.Fatal(err)
	}
	awaitLog(s, "the config has been loaded again")
	if resp, body := s.send("GET", "/v1/responses/"+response.ID, ""); resp.StatusCode != http.StatusOK {
		t.Errorf("%s %s", resp.Status, body)
	}
	if resp, body := s.send("POST", "/v1/responses", `{"model":"double/m","previous_response_id":"`+response.ID+`","input":"Sure?"}`); resp.StatusCode != http.StatusOK {
		t.Errorf("%s %s", resp.Status, body)
	}
}

// /v1 has the same rules as all paths: tokens, Host, Origin, CORS. A refusal has the shape of
// OpenAI's errors.
func TestCompletionsAccess(t *testing.T) {
	const token = "0123456789abcdef"
	model := sourcetest.NewAPI(t, sourcetest.Answer(http.StatusOK, "application/json", `{"choices":[{"index":0,"message":{"role":"assistant","content":"Yes."},"finish_reason":"stop"}]}`))
	s := serveConfig(t, fmt.Sprintf(`{
		"tools": [{"name":"chart","description":"Draws.","parameters":{"type":"object"}}],
		"context": {"customerid":{"from":"header:X-Customer"}},
		"tokens": {"ann":%q}, "allowedOrigins": ["https://app.example"], "publicHosts": ["bridge.example"],
		"providers": {"double":{"type":"openai","baseUrl":%q,"model":"m"}}}`, token, model.URL), nil)
	ask := completion("double/m", "")
	const bearer = "Authorization=Bearer " + token
	for _, c := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		has                      string   // in the body
		want                     []string // headers, NAME=VALUE each
	}{
		{"no token", "POST", "/v1/chat/completions", ask, nil, 401, `{"error":{"message":"a bearer token is needed (tokens in the config)","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`, []string{`WWW-Authenticate=Bearer realm="mcpbridge"`}},
		{"another token", "POST", "/v1/chat/completions", ask, []string{"Authorization=Bearer 0123456789abcdeg"}, 401, `{"error":{"message":"unknown bearer token"`, nil},
		{"a token", "POST", "/v1/chat/completions", ask, []string{bearer}, 200, `"content":"Yes."`, nil},
		{"the models without a token", "GET", "/v1/models", "", nil, 401, `{"error":{"message":"a bearer`, nil},
		{"the models", "GET", "/v1/models", "", []string{bearer}, 200, `{"id":"double/m"`, nil},
		{"one model", "GET", "/v1/models/double/m", "", []string{bearer}, 200, `{"id":"double/m"`, nil},
		{"another host", "POST", "/v1/chat/completions", ask, []string{bearer, "Host=evil.example"}, 403, `{"error":{"message":"unknown name in the Host header`, nil},
		{"a public host", "POST", "/v1/chat/completions", ask, []string{bearer, "Host=bridge.example"}, 200, "Yes.", nil},
		{"another page", "POST", "/v1/chat/completions", ask, []string{bearer, "Origin=https://evil.example"}, 403, `{"error":{"message":"pages of this origin`, []string{"Access-Control-Allow-Origin="}},
		{"an allowed page", "POST", "/v1/chat/completions", ask, []string{bearer, "Origin=https://app.example"}, 200, "Yes.", []string{"Access-Control-Allow-Origin=https://app.example", "Vary=Origin"}},
		{"a page on loopback", "POST", "/v1/chat/completions", ask, []string{bearer, "Origin=http://localhost:5173"}, 200, "Yes.", []string{"Access-Control-Allow-Origin=http://localhost:5173"}},
		{"an allowed page without a token", "POST", "/v1/chat/completions", ask, []string{"Origin=https://app.example"}, 401, "", []string{"Access-Control-Allow-Origin=https://app.example"}},
		{"an allowed page asks first", "OPTIONS", "/v1/chat/completions", "", []string{"Origin=https://app.example", "Access-Control-Request-Method=POST"}, 204, "", []string{
			"Access-Control-Allow-Origin=https://app.example", "Access-Control-Allow-Methods=GET, POST, DELETE"}},
		{"another page asks first", "OPTIONS", "/v1/chat/completions", "", []string{"Origin=https://evil.example", "Access-Control-Request-Method=POST"}, 403, "", []string{"Access-Control-Allow-Origin="}},
		{"a stream", "POST", "/v1/chat/completions", completion("double", `,"stream":true`), []string{bearer}, 200, "data: [DONE]", []string{"Content-Type=text/event-stream"}},
		{"another model", "POST", "/v1/chat/completions", completion("doubl", ""), []string{bearer}, 404, "unknown model", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			model.Requests()
			resp, body := s.send(c.method, c.path, c.body, c.headers...)
			if resp.StatusCode != c.status || !strings.Contains(body, c.has) {
				t.Errorf("%s\n%s", resp.Status, body)
			}
			for _, want := range c.want {
				if name, value, _ := strings.Cut(want, "="); resp.Header.Get(name) != value {
					t.Errorf("%s: %s, want %s", name, resp.Header.Get(name), value)
				}
			}
			asked := slices.DeleteFunc(model.Requests(), func(r sourcetest.Request) bool { return r.Method == "GET" }) // which models there are
			if n := len(asked); (n == 1) != (c.method == "POST" && c.status == 200) {
				t.Errorf("the model was asked %d times", n)
			}
		})
	}
	resp, _ := s.send("OPTIONS", "/v1/chat/completions", "", "Origin=https://app.example", "Access-Control-Request-Method=POST")
	for _, name := range []string{"Authorization", "Content-Type", "X-Customer"} {
		if allowed := resp.Header.Get("Access-Control-Allow-Headers"); !strings.Contains(allowed, name) {
			t.Errorf("%s is not among the headers that a page may send: %s", name, allowed)
		}
	}
	s.end()
	if log := s.log.text.String(); strings.Contains(log, token) {
		t.Errorf("the log has the token:\n%s", log)
	}
}

// Whose data a tool reads, the headers of the request say, and nothing else; client
// functions are for callers that have them.
func TestCompletionsCaller(t *testing.T) {
	shop := sourcetest.NewAPI(t, sourcetest.Answer(http.StatusOK, "application/json", `{"orders":[]}`))
	calls := chatCalls("c1", "orders", `{"limit":2,"customerid":9}`)
	model := chatDouble(t, calls, chatSays("None."), calls, chatSays("None."), calls, chatSays("None."), chatCalls("c2", "chart", `{"n":1}`))
	s := serveConfig(t, fmt.Sprintf(`{
		"tools": ["shop.tools.json"], "apis": {"shop":{"type":"rest","url":%q}},
		"context": {"customerid":{"from":"header:X-Customer"}},
		"providers": {"double":{"type":"openai","baseUrl":%q,"model":"m"}, "broken":{"type":"openai","apiKey":"${NO_SUCH_VARIABLE_IS_SET}","model":"m"}}}`, shop.URL, model.URL),
		map[string]string{"shop.tools.json": `[
			{"name":"orders","description":"Orders.","input_schema":{"type":"object","properties":{"customerid":{"type":"integer"},"limit":{"type":"integer"}},"required":["customerid"]},"kind":"rest","api":"shop","rest":{"method":"GET","path":"/orders/{customerid}?limit={limit}"}},
			{"name":"chart","description":"Draws.","parameters":{"type":"object","properties":{"n":{"type":"integer"}}}}]`})
	for _, c := range []struct{ header, request, result string }{
		{"X-Customer=7", "/orders/7?limit=2", `{\"orders\":[]}`},
		{"X-Customer=8", "/orders/8?limit=2", `{\"orders\":[]}`},
		{"X-Other=7", "", "Missing context field: customerid"},
	} {
		resp, body := s.send("POST", "/v1/chat/completions", completion("double", ""), c.header)
		if resp.StatusCode != 200 || !strings.Contains(body, `"content":"None."`) {
			t.Errorf("%s: %s %s", c.header, resp.Status, body)
		}
		seen := ""
		for _, r := range shop.Requests() {
			seen += r.URI
		}
		asked := model.Requests()
		if seen != c.request || len(asked) != 2 || !strings.Contains(asked[1].Body, c.result) {
			t.Errorf("%s: the shop saw %q, want %q; the model was asked %+v", c.header, seen, c.request, asked)
		}
		if first := asked[0].Body; strings.Contains(first, "chart") || strings.Contains(first, "customerid") {
			t.Errorf("the model sees what it should not: %s", first)
		}
	}
	_, body := s.send("POST", "/v1/chat/completions", completion("double", `,"tools":[{"type":"function","function":{"name":"chart","parameters":{"type":"object","properties":{"n":{"type":"integer"}}}}}]`))
	if !strings.Contains(body, `"name":"chart","arguments":"{\"n\":1}"`) || !strings.Contains(body, `"finish_reason":"tool_calls"`) {
		t.Errorf("the caller's own tool: %s", body)
	}
	resp, body := s.send("POST", "/v1/chat/completions", completion("broken/m", ""))
	if resp.StatusCode != 404 || !strings.Contains(body, "provider broken is not available: providers.broken: environment variable NO_SUCH_VARIABLE_IS_SET is not set") {
		t.Errorf("a provider without its key: %s %s", resp.Status, body)
	}
	if _, body = s.send("GET", "/v1/models", ""); !strings.Contains(body, "double/m") || strings.Contains(body, "broken") {
		t.Errorf("the models are %s", body)
	}
	s.end()
	if log := s.log.text.String(); !strings.Contains(log, "a provider is not available") || !strings.Contains(log, "provider=broken") {
		t.Errorf("the log does not say which provider is of no use:\n%s", log)
	}
}

// The config says how many completions are under way at once.
func TestCompletionsLimit(t *testing.T) {
	asked, done := make(chan struct{}), make(chan struct{})
	end := sync.OnceFunc(func() { close(done) })
	defer end()
	model := sourcetest.NewAPI(t, func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		<-done
		sourcetest.Answer(http.StatusOK, "application/json", `{"choices":[{"index":0,"message":{"role":"assistant","content":"Yes."},"finish_reason":"stop"}]}`)(w, r)
	})
	s := serveConfig(t, fmt.Sprintf(`{
		"tools": [{"name":"chart","description":"Draws.","parameters":{"type":"object"}}],
		"limits": {"completions": 1},
		"providers": {"double":{"type":"openai","baseUrl":%q,"model":"m"}}}`, model.URL), nil)
	first := make(chan string, 1)
	go func() {
		resp, err := http.Post(s.url+"/v1/chat/completions", "application/json", strings.NewReader(completion("double", "")))
		if err != nil {
			first <- err.Error()
			return
		}
		defer resp.Body.Close()
		first <- resp.Status
	}()
	select {
	case <-asked:
	case status := <-first:
		t.Fatalf("the first has ended: %s", status)
	}
	if resp, body := s.send("POST", "/v1/chat/completions", completion("double", "")); resp.StatusCode != http.StatusTooManyRequests || !strings.Contains(body, "too many chat completions are in progress: at most 1") {
		t.Errorf("%s %s", resp.Status, body)
	}
	end()
	if status := <-first; status != "200 OK" {
		t.Errorf("the first ends with %s", status)
	}
}
