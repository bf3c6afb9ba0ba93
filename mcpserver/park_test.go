package mcpserver

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// asker is a source whose every call asks its caller something and returns the answer, after progress if the caller
// wants to know that.
type asker struct {
	begun, ended chan string // targets of calls
	size         int         // bytes that are added to the question
}

func (a *asker) Open(context.Context, *bridge.Caller) (bridge.Session, error) { return a, nil }
func (a *asker) Close() error                                                 { return nil }
func (a *asker) List(_ context.Context, kind bridge.ListKind) (*bridge.List, error) {
	return bridge.NewList(kind, nil), nil
}

func (a *asker) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	a.begun <- req.Target
	defer func() { a.ended <- req.Target }()
	answer, err := req.Back.Ask(ctx, wire.MethodElicit, []byte(`{"message":"x`+strings.Repeat("x", a.size)+`"}`))
	if err != nil {
		return bridge.Failed(err)
	}
	if token := req.Params.Get(wire.MetaProgressToken); token != nil {
		req.Back.Notify(wire.NotificationProgress, []byte(`{"progressToken":`+string(token)+`,"progress":1}`))
	}
	return bridge.Result([]byte(`{"content":[],"answer":`+string(answer)+`}`), nil)
}

// parked is a server of an asker.
type parked struct {
	*testing.T
	*Server
	source *asker

	meta  string // of requests, beside what each has
	token string // with which send sends them; "" for none
}

func newParked(t *testing.T) (p *parked) {
	t.Cleanup(func() { p.CheckLeftover(t) }) // after all goroutines have ended
	sourcetest.NoLeaks(t)
	p = &parked{T: t, source: &asker{begun: make(chan string, 100), ended: make(chan string, 100)}}
	p.Server = New(p.source, Options{Access: Access{Tokens: map[string]string{"ann": "a", "bob": "b"}}})
	t.Cleanup(func() { p.Close() })
	return p
}

// post sends a request of a token's holder with these members in its params.
func (p *parked) post(ctx context.Context, token, tool, members string) (status int, body []byte) {
	msg := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `",` + members +
		`"_meta":{` + p.meta + `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`
	r := httptest.NewRequestWithContext(ctx, "POST", "http://127.0.0.1/mcp", strings.NewReader(msg))
	for k, v := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + token,
		"Mcp-Protocol-Version": wire.ModernRevision, "Mcp-Method": "tools/call", "Mcp-Name": tool,
	} {
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	p.Handler().ServeHTTP(w, r)
	return w.Code, w.Body.Bytes()
}

// park begins a call of ann's and returns its raw requestState.
func (p *parked) park() string {
	p.Helper()
	status, body := p.post(p.Context(), "a", "t", `"arguments":{"x":1},`)
	state := string(wire.Lookup(body, "result", "requestState"))
	if status != http.StatusOK || state == "" {
		p.Fatalf("%d %s", status, body)
	}
	p.came(p.source.begun)
	return state
}

func (p *parked) came(c <-chan string) {
	p.Helper()
	t := time.NewTimer(time.Minute)
	defer t.Stop()
	select {
	case <-c:
	case <-t.C:
		p.Fatal("it does not come")
	}
}

func retry(state string) string {
	return `"arguments":{"x":1},"requestState":` + state + `,"inputResponses":{"input1":{"action":"accept"}},`
}

// A client is asked only by the requests that the specification lets require input: another one's question is refused.
func TestParkedMethods(t *testing.T) {
	p := newParked(t)
	for _, c := range []struct{ method, members, want string }{
		{wire.MethodToolsCall, `"name":"t",`, `"input_required"`},
		{wire.MethodPromptsGet, `"name":"p",`, `"input_required"`},
		{wire.MethodResourcesRead, `"uri":"file:///r",`, `"input_required"`},
		{wire.MethodComplete, `"ref":{"type":"ref/prompt","name":"p"},`, "cannot be asked anything during completion/complete"},
		{"vendor/thing", "", "cannot be asked anything during vendor/thing"},
	} {
		var out bytes.Buffer
		err := p.ServeStdio(t.Context(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"`+c.method+`","params":{`+c.members+
			`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`+"\n"), &out)
		if err != nil || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: %v, %s", c.method, err, &out)
		}
		p.came(p.source.ended)
	}
}

// Only the caller that was asked can answer, with the same request, and once.
func TestParkedIsItsCallersAlone(t *testing.T) {
	p := newParked(t)
	state := p.park()
	right := retry(state)
	for _, c := range []struct{ name, token, tool, members string }{
		{"another principal", "b", "t", right},
		{"another tool", "a", "u", right},
		{"other arguments", "a", "t", strings.Replace(right, `"x":1`, `"x":2`, 1)},
		{"no arguments", "a", "t", strings.Replace(right, `"arguments":{"x":1},`, "", 1)},
		{"one member more", "a", "t", `"more":1,` + right},
		{"a state cut short", "a", "t", strings.Replace(right, state, state[:len(state)-2]+`"`, 1)},
		{"a state made up", "a", "t", retry(`"` + p.parking.mark + `AAAAAAAAAAAAAAAAAAAAAAAAAA"`)},
		{"an empty state of ours", "a", "t", retry(`"` + p.parking.mark + `"`)},
	} {
		status, body := p.post(t.Context(), c.token, c.tool, c.members)
		if status != http.StatusBadRequest || string(wire.Lookup(body, "error", "code")) != "-32602" {
			t.Errorf("%s: %d %s", c.name, status, body)
		}
	}
	if len(p.source.ended) > 0 {
		t.Fatal("the call ended under what others said")
	}
	if _, body := p.post(t.Context(), "a", "t", right); string(wire.Lookup(body, "result", "answer")) != `{"action":"accept"}` {
		t.Errorf("the right retry: %s", body)
	}
	p.came(p.source.ended)
	if status, body := p.post(t.Context(), "a", "t", right); status != http.StatusBadRequest || string(wire.Lookup(body, "error", "code")) != "-32602" {
		t.Errorf("the same retry again: %d %s", status, body)
	}
	if len(p.source.begun) > 0 {
		t.Error("a retry that was refused has begun a call")
	}
}

// A retry may have its members in another order.
func TestParkedRetryInOtherOrder(t *testing.T) {
	p := newParked(t)
	state := p.park()
	_, body := p.post(t.Context(), "a", "t", `"requestState":`+state+`,"inputResponses":{"input1":{"action":"decline"}},"arguments":{"x":1},`)
	if string(wire.Lookup(body, "result", "answer")) != `{"action":"decline"}` {
		t.Errorf("%s", body)
	}
}

// A retry without the answers is asked again, under a new state.
func TestParkedAskedAgain(t *testing.T) {
	p := newParked(t)
	state := p.park()
	_, body := p.post(t.Context(), "a", "t", `"arguments":{"x":1},"requestState":`+state+`,`)
	again := string(wire.Lookup(body, "result", "requestState"))
	if again == "" || again == state || wire.Lookup(body, "result", "inputRequests", "input1") == nil {
		t.Fatalf("%s", body)
	}
	if _, body = p.post(t.Context(), "a", "t", retry(state)); wire.Lookup(body, "error") == nil {
		t.Errorf("the state used up: %s", body)
	}
	if _, body = p.post(t.Context(), "a", "t", retry(again)); wire.Lookup(body, "result", "answer") == nil {
		t.Errorf("%s", body)
	}
}

// A call whose client does not retry is canceled after its time.
func TestParkedExpires(t *testing.T) {
	p := newParked(t)
	p.parking.life = time.Millisecond
	state := p.park()
	p.came(p.source.ended)
	if _, body := p.post(t.Context(), "a", "t", retry(state)); string(wire.Lookup(body, "error", "code")) != "-32602" {
		t.Errorf("%s", body)
	}
}

// A client that disconnects during its retry cancels the call.
func TestParkedClientGoes(t *testing.T) {
	p := newParked(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, body := p.post(ctx, "a", "t", retry(p.park())); wire.Lookup(body, "result", "answer") == nil && len(body) > 0 {
		t.Logf("%s", body) // either may happen first
	}
	p.came(p.source.ended)
}

// What a call sends after its question goes to the retry, with the token of its progress.
func TestParkedProgress(t *testing.T) {
	p := newParked(t)
	for i := range 50 {
		p.meta = `"progressToken":"first",`
		state := p.park()
		p.meta = `"progressToken":2,`
		_, body := p.post(t.Context(), "a", "t", retry(state))
		if !strings.Contains(string(body), `"progressToken":2,`) || strings.Contains(string(body), "first") || !strings.Contains(string(body), `"accept"`) {
			t.Fatalf("%d: %s", i, body)
		}
	}
	p.meta = `"progressToken":"first",`
	state := p.park()
	p.meta = ""
	if _, body := p.post(t.Context(), "a", "t", retry(state)); strings.Contains(string(body), "progress") || !strings.Contains(string(body), `"accept"`) {
		t.Errorf("without a token: %s", body)
	}
}

// At the bound a call that would be parked is refused and ended; those parked stay.
func TestParkedBound(t *testing.T) {
	p := newParked(t)
	p.opts().accounts.of(bridge.Principal{Name: "ann"}).most[parkedCalls].Store(3)
	var states []string
	for range 3 {
		states = append(states, p.park())
	}
	_, body := p.post(t.Context(), "a", "t", `"arguments":{"x":1},`)
	if code, _ := wire.Text(wire.Lookup(body, "error", "data", "code")); code != toolformat.Unavailable.String() {
		t.Errorf("%s", body)
	}
	p.came(p.source.ended)
	for _, state := range states {
		if _, body := p.post(t.Context(), "a", "t", retry(state)); wire.Lookup(body, "result", "answer") == nil {
			t.Errorf("%s", body)
		}
	}
	for id := range 5 { // and there is room again
		if _, body := p.post(t.Context(), "a", "t", retry(p.park())); wire.Lookup(body, "result", "answer") == nil {
			t.Errorf("%d: %s", id, body)
		}
	}
}

// The bytes of the questions of parked calls count for the principal until they are answered.
func TestParkedBytes(t *testing.T) {
	p := newParked(t)
	p.source.size = 1 << 20
	p.opts().accounts.of(bridge.Principal{Name: "ann"}).most[heldBytes].Store(5 << 20)
	state := p.park()
	if got := p.opts().accounts.of(bridge.Principal{Name: "ann"}).used[heldBytes].Load(); got < 2<<20 {
		t.Errorf("%d bytes are counted", got)
	}
	p.source.size = 2 << 20
	_, body := p.post(t.Context(), "a", "t", `"arguments":{"x":1},`)
	if code, _ := wire.Text(wire.Lookup(body, "error", "data", "code")); code != toolformat.Unavailable.String() {
		t.Errorf("%.300s", body)
	}
	if _, body := p.post(t.Context(), "a", "t", retry(state)); wire.Lookup(body, "result", "answer") == nil {
		t.Errorf("%.300s", body)
	}
}

// Close ends parked calls.
func TestParkedClose(t *testing.T) {
	p := newParked(t)
	for range 20 {
		p.park()
	}
	p.Close()
	if got := len(p.source.ended); got != 20 {
		t.Errorf("%d calls have ended, want 20", got)
	}
	if status, body := p.post(t.Context(), "a", "t", `"arguments":{"x":1},`); status == http.StatusOK && wire.Lookup(body, "result") != nil {
		t.Errorf("a call after Close: %s", body)
	}
}

// Calls that park while the server closes are ended too.
func TestParkedCloseRace(t *testing.T) {
	p := newParked(t)
	done := make(chan string, 20)
	for i := range cap(done) {
		go func() {
			_, body := p.post(context.Background(), "a", fmt.Sprint("t", i), "")
			done <- string(body)
		}()
	}
	for range 10 {
		p.came(p.source.begun)
	}
	p.Close()
	for range cap(done) {
		p.came(done)
	}
}
