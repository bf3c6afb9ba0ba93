package mcpserver

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// newShared returns a server with two principals, ann and bob, whose tokens are a and b.
func newShared(t *testing.T, opts Options, do made) *parked {
	opts.Access.Tokens = map[string]string{"ann": "a", "bob": "b"}
	return newMade(t, opts, do)
}

// by posts a message of the legacy era with a token.
func (p *parked) by(token, session string, msg io.Reader) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "http://127.0.0.1/mcp", msg)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	if session != "" {
		r.Header.Set(mcp.HeaderSessionID, session)
	}
	w := httptest.NewRecorder()
	p.Handler().ServeHTTP(w, r)
	return w
}

// begin begins a session and returns its id, "" when it is refused.
func (p *parked) begin(token string) string {
	w := p.by(token, "", strings.NewReader(fmt.Sprintf(hello, "{}")))
	if w.Code != http.StatusOK && w.Code != http.StatusServiceUnavailable {
		p.Errorf("initialize: HTTP %d", w.Code)
	}
	return w.Header().Get(mcp.HeaderSessionID)
}

// A principal that takes all the sessions it can get leaves room for another, and its refusals do
// not flood the log. Of its own sessions the one unused longest makes room.
func TestSessionShares(t *testing.T) {
	var log bytes.Buffer
	p := newShared(t, Options{Sessions: 10, Log: slog.New(slog.NewTextHandler(&log, nil))}, okay)
	first := p.begin("a")
	for i := range 200 {
		if got, want := p.begin("a") != "", i < 4; got != want {
			t.Fatalf("session %d of ann's is open: %v", i+1, got)
		}
	}
	if n := strings.Count(log.String(), "\n"); n > 2*p.Server.log.Burst {
		t.Errorf("%d lines in the log", n)
	}
	for i := range 5 {
		if p.begin("b") == "" {
			t.Errorf("session %d of bob's is refused", i)
		}
	}
	idle := p.sessions.sessions[first]
	idle.used.Add(-int64(2 * idleEnough))
	ann := p.opts().accounts.of(bridge.Principal{Name: "ann"})
	if p.begin("a") != "" {
		t.Error("all sessions are looked at again and again")
	}
	ann.vain[openSessions].Store(0) // some time later
	if p.begin("a") == "" || p.sessions.find(first, idle.sender) != nil {
		t.Error("the session unused longest makes no room")
	}
}

// A principal with many tickets leaves room for another. The oldest of its own make room.
func TestTicketShares(t *testing.T) {
	p := newShared(t, Options{}, okay)
	ann, bob := identity{principal: bridge.Principal{Name: "ann"}}, identity{principal: bridge.Principal{Name: "bob"}}
	issue := func(holder identity) string {
		id := newID()
		if !p.tickets.issue(id, holder, time.Time{}, p.opts().accounts.of(holder.principal)) {
			return ""
		}
		return id
	}
	kept := issue(bob)
	var last string
	for range 3 * maxTickets {
		if last = issue(ann); last == "" {
			t.Fatal("a ticket of ann's is refused")
		}
	}
	if n := len(p.tickets.issued); n > maxTickets {
		t.Errorf("%d tickets", n)
	}
	for _, id := range []string{kept, last, issue(bob)} {
		if _, _, ok := p.tickets.redeem(id); !ok {
			t.Errorf("the ticket %q is not valid", id)
		}
	}
	for id := range p.tickets.issued {
		p.tickets.redeem(id)
	}
}

// A principal's pending requests, in any number of sessions, leave room for another's.
func TestCallShares(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	p := newShared(t, Options{CallsPerSession: 2}, func(ctx context.Context, req *bridge.Request) bridge.Reply {
		if req.Method == "tools/call" {
			begun <- struct{}{}
			<-release
		}
		return bridge.Result([]byte("{}"), nil)
	})
	const share = 2 * callsBySession / 2
	call := func(token, session string, id int) string {
		msg := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t"}}`, id)
		return p.by(token, session, strings.NewReader(msg)).Body.String()
	}
	answers, spare := make(chan string, 2*share), p.begin("a")
	for range share / 2 {
		session := p.begin("a")
		for id := range 2 {
			go func() { answers <- call("a", session, id) }()
			<-begun
		}
	}
	if got := call("a", spare, 1); !strings.Contains(got, `"unavailable"`) {
		t.Errorf("one more: %s", got)
	}
	go func() { answers <- call("b", p.begin("b"), 1) }()
	<-begun
	close(release)
	for range share + 1 {
		if got := <-answers; !strings.Contains(got, `"result"`) {
			t.Error(got)
		}
	}
}

// The bytes that a principal's requests and answers hold are bounded: what exceeds its share gets
// 503, or an error, and another principal is not affected.
func TestByteShares(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	p := newShared(t, Options{}, func(ctx context.Context, req *bridge.Request) bridge.Reply {
		switch {
		case req.Target == "wait":
			begun <- struct{}{}
			<-release
		case req.Target == "large":
			return bridge.Result(append(append([]byte(`{"x":"`), bytes.Repeat([]byte("x"), 13<<20)...), `"}`...), nil)
		}
		return bridge.Result([]byte("{}"), nil)
	})
	own := p.opts().accounts.of(bridge.Principal{Name: "ann"})
	ann, bob := p.begin("a"), p.begin("b")
	post := func(token, session, tool string, id, size int) *httptest.ResponseRecorder {
		msg := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s","arguments":{"x":"`, id, tool)
		return p.by(token, session, io.MultiReader(strings.NewReader(msg), io.LimitReader(xs{}, int64(size)), strings.NewReader(`"}}}`)))
	}
	waiting := make(chan string, 100)
	n := 0
	for ; own.used[heldBytes].Load() < own.most[heldBytes].Load()-(13<<20); n++ {
		go func() { waiting <- post("a", ann, "wait", n, 10<<20).Body.String() }()
		<-begun
	}
	if w := post("a", ann, "t", 100, 13<<20); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("a request beyond the share: HTTP %d %s", w.Code, w.Body)
	}
	if w := post("a", ann, "large", 101, 10); !strings.Contains(w.Body.String(), `"id":101,"error"`) || !strings.Contains(w.Body.String(), `"unavailable"`) {
		t.Errorf("an answer beyond the share: %.300s", w.Body)
	}
	if w := post("a", ann, "t", 102, 10); w.Code != http.StatusOK {
		t.Errorf("a short request: HTTP %d %s", w.Code, w.Body)
	}
	for _, w := range []*httptest.ResponseRecorder{post("b", bob, "t", 1, 12<<20), post("b", bob, "large", 2, 10)} {
		if !strings.Contains(w.Body.String(), `"result"`) {
			t.Errorf("another principal: HTTP %d %.300s", w.Code, w.Body)
		}
	}
	close(release)
	for range n {
		if got := <-waiting; !strings.Contains(got, `"result"`) {
			t.Errorf("a request within the share: %s", got)
		}
	}
}

// A message that is too long for the room that is left is refused before most of it is read.
func TestLongMessageIsRefusedSoon(t *testing.T) {
	p := newMade(t, Options{}, okay)
	own := p.opts().accounts.of(bridge.Principal{})
	used := int(own.most[heldBytes].Load()) - 50<<20
	own.take(heldBytes, used)
	defer own.give(heldBytes, used)
	body := &io.LimitedReader{R: xs{}, N: 60 << 20}
	r := httptest.NewRequest("POST", "http://127.0.0.1/mcp", body)
	r.Header.Set("Content-Type", "application/json")
	r.ContentLength = body.N
	w := httptest.NewRecorder()
	p.Handler().ServeHTTP(w, r)
	if read := 60<<20 - body.N; w.Code != http.StatusServiceUnavailable || read > 2*firstPart {
		t.Errorf("HTTP %d after %d bytes", w.Code, read)
	}
}

// What a client says of itself is counted as long as it is kept.
func TestClientInfoCounts(t *testing.T) {
	p := newMade(t, Options{}, okay)
	used := &p.opts().accounts.of(bridge.Principal{}).used[heldBytes]
	info := `{"name":"` + strings.Repeat("x", 3*heldFree) + `"}`
	p.legacy(t.Context(), "", strings.Replace(fmt.Sprintf(hello, "{}"), `"clientInfo":{}`, `"clientInfo":`+info, 1))
	session := used.Load()
	r := httptest.NewRequest("POST", "http://127.0.0.1/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{
		"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":`+info+`}}}`))
	for k, v := range map[string]string{"Content-Type": "application/json", "Mcp-Protocol-Version": wire.ModernRevision, "Mcp-Method": "server/discover"} {
		r.Header.Set(k, v)
	}
	p.Handler().ServeHTTP(httptest.NewRecorder(), r)
	if view := used.Load() - session; session < int64(len(info)) || view < int64(len(info)) {
		t.Errorf("a session counts %d bytes, a view %d, of %d", session, view, len(info))
	}
}

// xs reads as the letter x without end.
type xs struct{}

func (xs) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

// On standard input a message for which there is no room waits for it.
func TestStdioWaitsForRoom(t *testing.T) { synctest.Test(t, testStdioWaitsForRoom) }

func testStdioWaitsForRoom(t *testing.T) {
	begun, release := make(chan struct{}, 2), make(chan struct{})
	p := newMade(t, Options{}, func(ctx context.Context, req *bridge.Request) bridge.Reply {
		if req.Method == "tools/call" {
			begun <- struct{}{}
			<-release
		}
		return bridge.Result([]byte("{}"), nil)
	})
	p.opts().accounts.of(bridge.Principal{}).most[heldBytes].Store(1 << 20)
	in, client := io.Pipe()
	answers, out := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- p.ServeStdio(t.Context(), in, out)
		out.Close()
	}()
	fmt.Fprintf(client, hello+"\n", "{}")
	go func() {
		for id := 1; id <= 2; id++ {
			fmt.Fprintf(client, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","arguments":{"x":"%s"}}}`+"\n", id, strings.Repeat("x", 600<<10))
		}
	}()
	lines := wire.NewLineReader(answers, 1<<20)
	if _, err := lines.Read(); err != nil {
		t.Fatal(err)
	}
	<-begun
	synctest.Wait()
	if len(begun) > 0 {
		t.Error("the second call has begun")
	}
	release <- struct{}{}
	<-begun
	release <- struct{}{}
	for range 2 {
		if got, err := lines.Read(); err != nil || wire.Lookup(got.B, "result") == nil {
			t.Errorf("%v %v", got, err)
		}
	}
	client.Close()
	<-served
}

// On standard input an answer and a cancellation are taken without room for them: they end what
// takes it up. A request is refused after a while.
func TestStdioTakesWhatMakesRoom(t *testing.T) { synctest.Test(t, testStdioTakesWhatMakesRoom) }

func testStdioTakesWhatMakesRoom(t *testing.T) {
	p := newMade(t, Options{}, func(ctx context.Context, req *bridge.Request) bridge.Reply {
		switch req.Target {
		case "wait":
			<-ctx.Done()
		case "ask":
			req.Back.Ask(ctx, "sampling/createMessage", []byte("{}"))
		}
		return bridge.Result([]byte("{}"), nil)
	})
	in, client := io.Pipe()
	answers, out := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- p.ServeStdio(t.Context(), in, out)
		out.Close()
	}()
	lines := wire.NewLineReader(answers, 1<<20)
	receive := func(want string) {
		t.Helper()
		if got, err := lines.Read(); err != nil || !strings.HasPrefix(string(got.B), `{"jsonrpc":"2.0",`+want) {
			t.Errorf("%v, %v: expected %s", got, err, want)
		}
	}
	send := func(members string) {
		fmt.Fprintf(client, `{"jsonrpc":"2.0",%s,"x":"%s"}}`+"\n", members, strings.Repeat("x", 2*heldFree))
	}
	fmt.Fprintf(client, hello+"\n", "{}")
	receive(`"id":0,"result"`)
	send(`"id":1,"method":"tools/call","params":{"name":"wait"`)
	send(`"id":2,"method":"tools/call","params":{"name":"ask"`)
	receive(`"id":1,"method":"sampling/createMessage"`)
	own := p.opts().accounts.of(bridge.Principal{})
	takeRest := func() (n int) {
		n = int(own.most[heldBytes].Load() - own.used[heldBytes].Load())
		own.take(heldBytes, n)
		return n
	}
	rest := takeRest()
	send(`"id":3,"method":"tools/call","params":{"name":"t"`)
	receive(`"id":3,"error":{"code":-32000,"message":"too many bytes in flight`)
	send(`"id":1,"result":{"role":"user"`)
	receive(`"id":2,"result"`)
	rest += takeRest()
	send(`"method":"notifications/cancelled","params":{"requestId":1`)
	synctest.Wait()
	if used := own.used[heldBytes].Load(); used == own.most[heldBytes].Load() {
		t.Error("the call goes on after its cancellation")
	}
	own.give(heldBytes, rest)
	client.Close()
	<-served
}

// A principal that ends sessions, or makes them stay, without end leaves the others room where nodes keep that, and for
// what it does not end room of its own.
func TestStayingShares(t *testing.T) { synctest.Test(t, testStayingShares) }

func testStayingShares(t *testing.T) {
	nodes := newFakeNodes()
	p := newShared(t, Options{Nodes: nodes, Adoptable: true}, okay)
	begin := func(token, name string) (session string) {
		w := p.by(token, "", strings.NewReader(fmt.Sprintf(hello, `{"experimental":{"`+name+`":{}}}`)))
		return w.Header().Get(mcp.HeaderSessionID)
	}
	end := func(token, session string, want int) {
		t.Helper()
		r := httptest.NewRequest("DELETE", "http://127.0.0.1/mcp", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set(mcp.HeaderSessionID, session)
		w := httptest.NewRecorder()
		if p.Handler().ServeHTTP(w, r); w.Code != want {
			t.Errorf("DELETE: HTTP %d %s, want %d", w.Code, w.Body, want)
		}
	}
	stay := func(token, session, want string) {
		t.Helper()
		w := p.by(token, session, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}}`))
		if got := w.Body.String(); !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	first, stays, next, bobs := begin("a", "first"), begin("a", "stays"), begin("a", "next"), begin("b", "bobs")
	nodes.set(func() { nodes.away = unavailable("no NATS") }) // so that it is seen who asks for it
	end("a", first, http.StatusServiceUnavailable)
	own := p.opts().accounts.of(bridge.Principal{Name: "ann"})
	own.stayed.Store(maxStaying / 2)
	for i := range 10 {
		end("a", begin("a", fmt.Sprint(i)), http.StatusOK)
	}
	end("a", first, http.StatusServiceUnavailable) // it was counted before
	stay("a", stays, "no NATS")
	own.stayed.Store(maxStaying)
	stay("a", next, "too many sessions")
	stay("b", bobs, "no NATS")
	nodes.set(func() { nodes.away = nil })
	time.Sleep(time.Hour)
	stay("a", begin("a", "later"), `"result"`)
}
