package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/mcpserver/auth"
)

// The requests of a connection that is kept alive need a token that is not revoked meanwhile.
func TestRevokedOnConnection(t *testing.T) {
	s := New(sourcetest.NewFake(), Options{Access: Access{Tokens: map[string]string{"ann": "a"}}})
	ask := connect(t, s)
	for range 2 {
		if got := ask(); got != http.StatusOK {
			t.Fatalf("status %d", got)
		}
	}
	s.Update(Options{Access: Access{Tokens: map[string]string{"ann": "another"}}})
	if got := ask(); got != http.StatusUnauthorized {
		t.Errorf("status %d after the token was revoked", got)
	}
}

// issuer accepts any token, until its keys are withdrawn.
type issuer struct{ withdrawn atomic.Bool }

func (i *issuer) Authenticate(context.Context, *auth.Credentials) (*auth.Identity, error) {
	if i.withdrawn.Load() {
		return nil, &auth.Refusal{Reason: "signed with an unknown key"}
	}
	return &auth.Identity{Credential: "token", Expires: time.Now().Add(time.Hour)}, nil
}

func (i *issuer) Admits(string) bool { return true }
func (i *issuer) Several() bool      { return true }

// A token that expires is looked at again on a connection that is kept alive.
func TestWithdrawnOnConnection(t *testing.T) {
	i := &issuer{}
	s := New(sourcetest.NewFake(), Options{Access: Access{Auth: auth.Any{i}}})
	s.recheckTime = 0
	ask := connect(t, s)
	if got := ask(); got != http.StatusOK {
		t.Fatalf("status %d", got)
	}
	i.withdrawn.Store(true)
	if got := ask(); got != http.StatusUnauthorized {
		t.Errorf("status %d after the key was withdrawn", got)
	}
}

// connect serves s, and returns what sends the same request on one connection and returns the status.
func connect(t *testing.T, s *Server) func() int {
	sourcetest.NoLeaks(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(t.Context(), ln) }()
	t.Cleanup(func() { s.Close(); ln.Close(); <-served })
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	in := bufio.NewReader(conn)
	return func() int {
		body := `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
		fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer a\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: server/discover\r\nContent-Length: %d\r\n\r\n%s", ln.Addr(), len(body), body)
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		bufio.NewReader(resp.Body).WriteTo(discard{})
		return resp.StatusCode
	}
}

// A request whose body comes when its token is revoked is not carried out.
func TestRevokedBeforeBody(t *testing.T) {
	p := newMade(t, Options{Access: Access{Tokens: map[string]string{"ann": "a"}}}, func(_ context.Context, req *bridge.Request) bridge.Reply {
		t.Errorf("%s is carried out", req.Method)
		return bridge.Result([]byte("{}"), nil)
	})
	body, client := io.Pipe()
	r := httptest.NewRequestWithContext(t.Context(), "POST", "http://127.0.0.1/mcp", body)
	for k, v := range map[string]string{
		"Content-Type": "application/json", "Authorization": "Bearer a", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "t",
	} {
		r.Header.Set(k, v)
	}
	answered, w := make(chan struct{}), httptest.NewRecorder()
	go func() {
		defer close(answered)
		p.Handler().ServeHTTP(w, r)
	}()
	io.WriteString(client, "{") // is read once the request has been let in
	p.Update(Options{Access: Access{Tokens: map[string]string{"ann": "another"}}})
	io.WriteString(client, `"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
	client.Close()
	<-answered
	if got := w.Body.String(); !strings.Contains(got, errShutOut.Error()) || !strings.Contains(got, `"notRun":true`) {
		t.Errorf("%d %s", w.Code, got)
	}
}

// A WebSocket is closed with the reason for which its session ends.
func TestWebSocketCloseReason(t *testing.T) {
	for _, c := range []struct {
		end  func(*Server)
		code int
		text string
	}{
		{func(s *Server) { s.Update(Options{Access: Access{Tokens: map[string]string{"ann": "another"}}}) },
			websocket.ClosePolicyViolation, "the credentials are not accepted any more"},
		{func(s *Server) { s.Close() }, websocket.CloseGoingAway, "the bridge is shutting down"},
	} {
		s := New(sourcetest.NewFake(), Options{Access: Access{Tokens: map[string]string{"ann": "a"}}})
		front := httptest.NewServer(s.Handler())
		d := websocket.Dialer{Subprotocols: []string{"mcp", "bearer.a"}}
		conn, _, err := d.Dial("ws"+strings.TrimPrefix(front.URL, "http")+"/ws", nil)
		if err != nil {
			t.Fatal(err)
		}
		go c.end(s)
		var closed *websocket.CloseError
		if _, _, err = conn.ReadMessage(); !errors.As(err, &closed) || closed.Code != c.code || closed.Text != c.text {
			t.Errorf("got %v, want %d and %q", err, c.code, c.text)
		}
		conn.Close()
		s.Close()
		front.Close()
	}
}

// A handler of Options.Protected can be a WebSocket, with a token in a subprotocol or a ticket. It ends when
// its token is revoked.
func TestProtectedWebSocket(t *testing.T) {
	ended := make(chan error, 1)
	chat := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := (&websocket.Upgrader{Subprotocols: []string{"chat"}}).Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		conn.WriteMessage(websocket.TextMessage, []byte(CallerOf(r).Principal.Name+" "+CallerOf(r).Profile))
		<-r.Context().Done()
		ended <- context.Cause(r.Context())
	})
	s := New(sourcetest.NewFake(), Options{
		Access:    Access{Tokens: map[string]string{"ann": "a"}},
		Protected: map[string]http.Handler{"/chat": chat, "/chat/p/{profile}": chat},
	})
	front := httptest.NewServer(s.Handler())
	defer func() { s.Close(); front.Close() }()
	dial := func(path string, protocols ...string) (greeting string, err error) {
		d := websocket.Dialer{Subprotocols: append([]string{"chat"}, protocols...)}
		conn, _, err := d.Dial("ws"+strings.TrimPrefix(front.URL, "http")+path, nil)
		if err != nil {
			return "", err
		}
		t.Cleanup(func() { conn.Close() })
		_, text, err := conn.ReadMessage()
		return string(text), err
	}
	for _, path := range []string{"/chat", "/chat?ticket=x"} {
		if _, err := dial(path, "bearer.b"); err == nil {
			t.Errorf("%s let in", path)
		}
	}
	resp := do(t, front.URL+"/ws/ticket", "a")
	var issued struct{ Ticket string }
	if err := json.NewDecoder(resp.Body).Decode(&issued); err != nil {
		t.Fatal(err)
	}
	if got, err := dial("/chat/p/x?ticket=" + issued.Ticket); err != nil || got != "ann x" {
		t.Errorf("by ticket: %q, %v", got, err)
	}
	if got, err := dial("/chat", "bearer.a"); err != nil || got != "ann " {
		t.Errorf("by subprotocol: %q, %v", got, err)
	}
	s.Update(Options{Access: Access{Tokens: map[string]string{"ann": "another"}}})
	for range 2 {
		if err := <-ended; !errors.Is(err, errShutOut) {
			t.Error(err)
		}
	}
}

// do posts nothing with a token.
func do(t *testing.T, url, token string) *http.Response {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// Wrong credentials cost more and more time, up to a bound, by network; the memory for it is bounded.
func TestGuessesCost(t *testing.T) {
	var g guesses
	now := time.Unix(1_000_000, 0)
	for i := range 200 {
		cost := g.cost(network(netip.MustParseAddr("2001:db8::1%eth0")), now)
		if i < guessBurst && cost > 0 || cost > guessWait || i > 100 && cost < guessWait {
			t.Fatalf("guess %d costs %s", i, cost)
		}
	}
	if cost := g.cost(network(netip.MustParseAddr("2001:db8::2")), now); cost != guessWait {
		t.Errorf("the next address of the network costs %s", cost)
	}
	if cost := g.cost(network(netip.MustParseAddr("192.0.2.1")), now); cost > 0 {
		t.Errorf("another network costs %s", cost)
	}
	if cost := g.cost(network(netip.MustParseAddr("2001:db8::1")), now.Add(time.Minute)); cost > 0 {
		t.Errorf("a minute later one costs %s", cost)
	}
	for i := range 2 * maxAddresses {
		g.cost(netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 32), now.Add(time.Hour))
	}
	if len(g.free) > maxAddresses+1 {
		t.Errorf("%d addresses are kept", len(g.free))
	}
}

// A request without credentials is told which ones are taken.
func TestNeeded(t *testing.T) {
	for want, access := range map[string]Access{
		"a bearer token is needed":  {Tokens: map[string]string{"ann": "0123456789abcdef"}},
		"an access token is needed": {Auth: auth.Any{auth.NewOAuth(auth.OAuthOptions{})}, Resource: &Resource{}},
		"a TLS client certificate":  {Auth: auth.Any{&auth.Certificates{}}},
	} {
		s := New(sourcetest.NewFake(), Options{Access: access})
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader("{}"))
		s.Handler().ServeHTTP(w, r)
		if w.Code != http.StatusUnauthorized || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%d %s, want %s", w.Code, w.Body, want)
		}
		s.Close()
	}
}
