package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/mcpserver"
)

func TestTokens(t *testing.T) {
	h := newHost(t, mcpserver.Options{Access: mcpserver.Access{Tokens: map[string]string{"ann": "ann's", "bob": "bob's"}}})
	for _, path := range []string{"/mcp", "/sse", "/sse/message", "/ws", "/ws/ticket"} {
		for _, auth := range []string{"", "Bearer", "Bearer wrong", "Basic ann's", "ann's"} {
			method := "POST"
			if path == "/ws" || path == "/sse" {
				method = "GET"
			}
			resp := h.request(method, path, "", "Authorization", auth)
			resp.Body.Close()
			if resp.StatusCode != 401 || !strings.HasPrefix(resp.Header.Get("WWW-Authenticate"), "Bearer") {
				t.Errorf("%s with %q: HTTP %d", path, auth, resp.StatusCode)
			}
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if got := h.status("GET", path, ""); got != 200 {
			t.Errorf("%s: HTTP %d", path, got)
		}
	}
	// A session belongs to its principal; knowing its id does not help another.
	resp := h.request("POST", "/mcp", fmt.Sprintf(initialize, newest), "Authorization", "Bearer ann's")
	resp.Body.Close()
	id := resp.Header.Get("Mcp-Session-Id")
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for auth, want := range map[string]int{"bearer ann's": 200, "Bearer bob's": 404} {
		if got := h.status("POST", "/mcp", ping, "Authorization", auth, "Mcp-Session-Id", id); got != want {
			t.Errorf("a session of ann's, by %s: HTTP %d, want %d", auth, got, want)
		}
	}
	if got := h.status("DELETE", "/mcp", "", "Authorization", "Bearer bob's", "Mcp-Session-Id", id); got != 404 {
		t.Errorf("bob deletes ann's session: HTTP %d", got)
	}
	if got := h.status("POST", "/mcp", ping, "Authorization", "Bearer ann's", "Mcp-Session-Id", id); got != 200 {
		t.Errorf("afterwards: HTTP %d", got)
	}
}

func TestWebSocketTokens(t *testing.T) {
	h := newHost(t, mcpserver.Options{Access: mcpserver.Access{Tokens: map[string]string{"ann": "anns"}}})
	address := "ws" + strings.TrimPrefix(h.web.URL, "http") + "/ws"
	dial := func(query, auth string, protocols ...string) int {
		header := http.Header{}
		if auth != "" {
			header.Set("Authorization", auth)
		}
		d := websocket.Dialer{Subprotocols: protocols}
		conn, resp, err := d.Dial(address+query, header)
		if err != nil && resp == nil {
			t.Fatal(err)
		}
		if err == nil {
			if conn.Subprotocol() != "mcp" {
				t.Errorf("the server chose %q", conn.Subprotocol())
			}
			conn.Close()
		}
		return resp.StatusCode
	}
	ticket := func() string {
		resp := h.request("POST", "/ws/ticket", "", "Authorization", "Bearer anns")
		defer resp.Body.Close()
		var got struct {
			Ticket    string
			ExpiresIn int
		}
		if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || got.Ticket == "" || got.ExpiresIn != 30 {
			t.Fatalf("ticket %+v: %v", got, err)
		}
		return "?ticket=" + got.Ticket
	}
	once := ticket()
	for _, c := range []struct {
		name        string
		query, auth string
		protocols   []string
		want        int
	}{
		{"nothing", "", "", []string{"mcp"}, 401},
		{"header", "", "Bearer anns", []string{"mcp"}, 101},
		{"subprotocol", "", "", []string{"mcp", "bearer.anns"}, 101},
		{"subprotocol, other order", "", "", []string{"bearer.anns", "mcp"}, 101},
		{"wrong subprotocol token", "", "", []string{"mcp", "bearer.x"}, 401},
		{"no mcp beside it", "", "", []string{"bearer.anns"}, 400},
		{"ticket", once, "", []string{"mcp"}, 101},
		{"ticket again", once, "", []string{"mcp"}, 401},
		{"unknown ticket", "?ticket=x", "", []string{"mcp"}, 401},
		{"unknown ticket beside a good token", "?ticket=x", "Bearer anns", []string{"mcp"}, 401},
	} {
		if got := dial(c.query, c.auth, c.protocols...); got != c.want {
			t.Errorf("%s: HTTP %d, want %d", c.name, got, c.want)
		}
	}
}

// A ticket is valid for 30 s.
func TestTicketLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mcpserver.New(nil, mcpserver.Options{Access: mcpserver.Access{Tokens: map[string]string{"ann": "a"}}})
		defer s.Close()
		handler := s.Handler()
		for _, c := range []struct {
			after time.Duration
			want  int
		}{{29 * time.Second, http.StatusUpgradeRequired}, {30 * time.Second, http.StatusUnauthorized}} {
			w := &recorder{header: http.Header{}}
			r, _ := http.NewRequest("POST", "http://localhost/ws/ticket", http.NoBody)
			r.Header.Set("Authorization", "Bearer a")
			handler.ServeHTTP(w, r)
			var got struct{ Ticket string }
			json.Unmarshal([]byte(w.body.String()), &got)
			time.Sleep(c.after) // of the bubble's clock
			w = &recorder{header: http.Header{}}
			r, _ = http.NewRequest("GET", "http://localhost/ws?ticket="+got.Ticket, nil)
			handler.ServeHTTP(w, r)
			if w.status != c.want { // 426: let in, but not an upgrade
				t.Errorf("after %s: HTTP %d, want %d", c.after, w.status, c.want)
			}
		}
	})
}

type recorder struct {
	header http.Header
	status int
	body   strings.Builder
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }
func (r *recorder) WriteHeader(status int)      { r.status = status }

func TestOriginsAndHosts(t *testing.T) {
	h := newHost(t, mcpserver.Options{Access: mcpserver.Access{AllowedOrigins: []string{"https://app.example", "null"}, PublicHosts: []string{"mcp.example", "other.example:8443"}}})
	strict := newHost(t, mcpserver.Options{})
	for _, c := range []struct {
		h            *host
		origin, host string
		want         int
	}{
		{h, "", "", 200},
		{h, "https://app.example", "", 200},
		{h, "HTTPS://APP.EXAMPLE", "", 200},
		{h, "null", "", 200},
		{strict, "null", "", 403},
		{strict, "https://app.example", "", 403},
		{strict, "http://localhost:3000", "", 200},
		{strict, "http://127.0.0.1", "", 200},
		{strict, "http://[::1]:5", "", 200},
		{strict, "http://localhost.evil.example", "", 403},
		{strict, "http://127.0.0.1.evil.example", "", 403},
		{h, "https://app.example.evil", "", 403},
		{h, "https://app.example:444", "", 403},
		{h, "", "mcp.example", 200},
		{h, "", "MCP.example:7", 200},
		{h, "", "other.example:8443", 200},
		{h, "", "other.example", 403},
		{h, "", "evil.example", 403},
		{strict, "", "mcp.example", 403},
		{strict, "", "localhost:1", 200},
		{strict, "", "[::1]:1", 200},
		{strict, "", "localhost:", 200},
		{strict, "", "127.0.0.1:1.evil.example", 403},
		{strict, "", "[::1]:evil.example", 403},
		{h, "", "mcp.example:1.evil.example", 403},
	} {
		for _, path := range []string{"/mcp", "/ws", "/sse", "/healthz"} {
			got := 0
			if path == "/mcp" {
				got = c.h.status("POST", path, fmt.Sprintf(initialize, newest), "Origin", c.origin, "Host", or(c.host, "localhost"))
			} else if got = c.h.status("POST", path, "", "Origin", c.origin, "Host", or(c.host, "localhost")); got != 403 {
				got = 200 // let in, and told to use another method
			}
			if got != c.want {
				t.Errorf("%s with Origin %q, Host %q: HTTP %d, want %d", path, c.origin, c.host, got, c.want)
			}
		}
	}
}

// A request that a page of another site has caused is refused unless it has the Origin of a page that
// may connect: browsers send none with the GET of an image.
func TestOtherSites(t *testing.T) {
	empty := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {})
	framed := map[string]http.Handler{"/frame.html": empty, "/linked/": empty}
	h := newHost(t, mcpserver.Options{Access: mcpserver.Access{AllowedOrigins: []string{"https://app.example"}}, Foreign: framed})
	for _, c := range []struct {
		site, origin string
		want         int
	}{
		{"cross-site", "", 403},
		{"same-site", "", 403},
		{"cross-site", "https://evil.example", 403},
		{"cross-site", "https://app.example", 200},
		{"same-site", "http://localhost:5173", 200},
		{"same-origin", "", 200},
		{"none", "", 200}, // typed by the user
		{"", "", 200},
	} {
		for _, path := range []string{"/", "/sse", "/healthz", "/readyz"} {
			resp := h.request("GET", path, "", "Sec-Fetch-Site", c.site, "Origin", c.origin, "Accept", "*/*")
			resp.Body.Close()
			if resp.StatusCode != c.want {
				t.Errorf("GET %s of %s, Origin %q: HTTP %d, want %d", path, c.site, c.origin, resp.StatusCode, c.want)
			}
		}
		for _, path := range []string{"/frame.html", "/linked/", "/linked/there"} {
			if got := h.status("GET", path, "", "Sec-Fetch-Site", c.site, "Origin", c.origin); got != 200 {
				t.Errorf("GET %s of %s: HTTP %d", path, c.site, got)
			}
		}
		if got := h.status("POST", "/mcp", fmt.Sprintf(initialize, newest), "Sec-Fetch-Site", c.site, "Origin", c.origin); got != c.want {
			t.Errorf("POST of %s, Origin %q: HTTP %d, want %d", c.site, c.origin, got, c.want)
		}
	}
}

func or(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

func TestPreflight(t *testing.T) {
	h := newHost(t, mcpserver.Options{Access: mcpserver.Access{Tokens: map[string]string{"ann": "a"}, AllowedOrigins: []string{"https://app.example"}}})
	for _, path := range []string{"/mcp", "/sse", "/sse/message", "/ws/ticket"} {
		resp := h.request("OPTIONS", path, "", "Origin", "https://app.example", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,mcp-session-id")
		resp.Body.Close()
		if resp.StatusCode != 204 || resp.Header.Get("Access-Control-Allow-Origin") != "https://app.example" ||
			!strings.Contains(resp.Header.Get("Access-Control-Allow-Headers"), "Mcp-Session-Id") || !strings.Contains(resp.Header.Get("Access-Control-Allow-Methods"), "POST") {
			t.Errorf("%s: HTTP %d %v", path, resp.StatusCode, resp.Header)
		}
		resp = h.request("OPTIONS", path, "", "Origin", "https://evil.example", "Access-Control-Request-Method", "POST")
		resp.Body.Close()
		if resp.StatusCode != 403 || resp.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s, a foreign origin: HTTP %d %v", path, resp.StatusCode, resp.Header)
		}
	}
	resp := h.request("POST", "/mcp", "{}", "Origin", "https://app.example") // a page may read why
	resp.Body.Close()
	if resp.StatusCode != 401 || resp.Header.Get("Access-Control-Allow-Origin") != "https://app.example" || !strings.Contains(resp.Header.Get("Vary"), "Origin") {
		t.Errorf("without a token: HTTP %d %v", resp.StatusCode, resp.Header)
	}
}

func TestSessions(t *testing.T) {
	h := newHost(t, mcpserver.Options{})
	resp := h.request("POST", "/mcp", fmt.Sprintf(initialize, newest))
	resp.Body.Close()
	id := resp.Header.Get("Mcp-Session-Id")
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, c := range []struct {
		name, method, session string
		want                  int
	}{
		{"its own", "POST", id, 200},
		{"none", "POST", "", 400},
		{"unknown", "POST", "x", 404},
		{"unknown GET", "GET", "x", 404},
		{"unknown DELETE", "DELETE", "x", 404},
		{"PUT", "PUT", id, 405},
		{"its end", "DELETE", id, 200},
		{"ended", "POST", id, 404},
		{"ended GET", "GET", id, 404},
		{"ended DELETE", "DELETE", id, 404},
	} {
		if got := h.status(c.method, "/mcp", ping, "Mcp-Session-Id", c.session); got != c.want {
			t.Errorf("%s: HTTP %d, want %d", c.name, got, c.want)
		}
	}
	if n := h.fake.Sessions(); n != 0 {
		t.Errorf("%d sessions of the source are open", n)
	}
	for header, want := range map[string]int{"text/plain": 406, "application/json": 200, "*/*": 200, "text/event-stream": 200} {
		if got := h.status("POST", "/mcp", fmt.Sprintf(initialize, newest), "Accept", header); got != want {
			t.Errorf("Accept %s: HTTP %d, want %d", header, got, want)
		}
	}
	if got := h.status("POST", "/mcp", ping, "Content-Type", "text/plain"); got != 415 {
		t.Errorf("text/plain: HTTP %d", got)
	}
	if got := h.status("POST", "/mcp", ping, "Mcp-Protocol-Version", "1999-01-01"); got != 400 {
		t.Errorf("a wrong revision: HTTP %d", got)
	}
}

// A session of the legacy SSE transport cannot be used over streamable HTTP: it has no streams.
func TestSSESessionElsewhere(t *testing.T) {
	h := newHost(t, mcpserver.Options{})
	resp := h.request("GET", "/sse", "")
	defer resp.Body.Close()
	head := make([]byte, 200)
	n, err := resp.Body.Read(head)
	if err != nil && err != io.EOF {
		t.Fatal(err)
	}
	_, id, _ := strings.Cut(string(head[:n]), "sessionId=")
	id = strings.TrimSpace(id)
	post := "/sse/message?sessionId=" + id
	if got := h.status("POST", post, fmt.Sprintf(initialize, newest)); got != 202 {
		t.Fatalf("HTTP %d", got)
	}
	for _, method := range []string{"POST", "GET", "DELETE"} {
		if got := h.status(method, "/mcp", call("1", "progress", `{"n":3}`), "Mcp-Session-Id", id); got != 404 {
			t.Errorf("%s: HTTP %d, want 404", method, got)
		}
	}
}

// A page may send the headers that repeat arguments of a tool of the modern era, and no other
// headers than those listed.
func TestPreflightOfParams(t *testing.T) {
	h := newHost(t, mcpserver.Options{})
	resp := h.request("OPTIONS", "/mcp", "", "Origin", "http://localhost:3000", "Access-Control-Request-Method", "POST",
		"Access-Control-Request-Headers", "content-type, mcp-param-region,Mcp-Param-Tenant, x-other, mcp-param-")
	resp.Body.Close()
	allowed := resp.Header.Get("Access-Control-Allow-Headers")
	for _, want := range []string{", mcp-param-region", ", Mcp-Param-Tenant"} {
		if !strings.Contains(allowed, want) {
			t.Errorf("%s is not allowed: %s", want, allowed)
		}
	}
	if strings.Contains(allowed, "other") || strings.HasSuffix(allowed, "-") {
		t.Errorf("allowed: %s", allowed)
	}
}
