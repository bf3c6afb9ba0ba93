package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/mcpserver"
	"github.com/mcpbridge/mcpbridge/mcpserver/auth"
)

const whoPath = "/console/api/who"

// newVisited returns a host with the path whoPath, which names the caller, and without tokens one that lets in
// everybody.
func newVisited(t *testing.T, tokens map[string]string) (*host, *auth.Operator) {
	operator := &auth.Operator{}
	who := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := mcpserver.CallerOf(r)
		if c.Operator {
			w.Write([]byte("operator "))
		}
		w.Write([]byte(c.Principal.Name))
	})
	return newHost(t, mcpserver.Options{
		Access:    mcpserver.Access{Tokens: tokens, Operator: operator},
		Protected: map[string]http.Handler{whoPath: who},
	}), operator
}

// visit begins a visit from the page of an origin, and returns the status and the header Cookie.
func (h *host) visit(origin string, body string, header ...string) (int, string) {
	h.Helper()
	resp := h.request("POST", "/console/visit", body, append(header, "Origin", origin)...)
	resp.Body.Close()
	cookie := resp.Header.Get("Set-Cookie")
	if cookie != "" && (!strings.Contains(cookie, "; HttpOnly; SameSite=Strict") || resp.Header.Get("Cache-Control") != "no-store") {
		h.Errorf("the cookie is %s", cookie)
	}
	cookie, _, _ = strings.Cut(cookie, ";")
	return resp.StatusCode, cookie
}

// body is request that returns the answer as a text.
func (h *host) body(method, path, body string, header ...string) (int, string) {
	h.Helper()
	resp := h.request(method, path, body, header...)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		h.Error(err)
	}
	return resp.StatusCode, string(text)
}

func TestVisit(t *testing.T) {
	for name, tokens := range map[string]map[string]string{"open": nil, "tokens": {"ann": "a", auth.OperatorName: "o"}} {
		t.Run(name, func(t *testing.T) {
			h, operator := newVisited(t, tokens)
			own := h.web.URL
			ticket := `{"ticket":"` + operator.Ticket() + `"}`
			for _, origin := range []string{"http://localhost:1", strings.Replace(own, "http:", "https:", 1), ""} {
				if status, cookie := h.visit(origin, ticket); status != 403 || cookie != "" {
					t.Errorf("from origin %q: HTTP %d", origin, status)
				}
			}
			status, cookie := h.visit(own, ticket)
			if status != 204 || cookie == "" {
				t.Fatalf("a ticket: HTTP %d, cookie %q", status, cookie)
			}
			stranger := map[bool]int{true: 200, false: 401}[tokens == nil] // without tokens everybody is let in, without a name
			for _, c := range []struct {
				method, header, value string
				want                  string
				status                int
			}{
				{"GET", "X", "", "operator operator", 200},
				{"POST", "Origin", own, "operator operator", 200},
				{"POST", "X", "", "", stranger},
				{"POST", "Origin", "http://localhost:1", "", stranger},
				{"GET", "Origin", "http://localhost:1", "", stranger},
				{"GET", "Sec-Fetch-Site", "same-site", "", 403},
				{"POST", "Sec-Fetch-Site", "same-origin", "", stranger},
			} {
				status, body := h.body(c.method, whoPath, "", "Cookie", cookie, c.header, c.value)
				if status != c.status || status == 200 && body != c.want {
					t.Errorf("%s with %s %s: HTTP %d, %s", c.method, c.header, c.value, status, body)
				}
			}
			if got := h.status("DELETE", "/console/visit", "", "Cookie", cookie, "Origin", own); got != 204 {
				t.Errorf("DELETE: HTTP %d", got)
			}
			if _, body := h.body("GET", whoPath, "", "Cookie", cookie); strings.Contains(body, "operator ") {
				t.Errorf("after its end the visit is %s", body)
			}
			ticket = `{"ticket":"` + operator.Ticket() + `"}`
			_, cookie = h.visit(own, ticket)
			if status, _ := h.visit(own, ticket); status != 401 {
				t.Errorf("a ticket in a second browser: HTTP %d", status)
			}
			if _, body := h.body("GET", whoPath, "", "Cookie", cookie); strings.Contains(body, "operator ") {
				t.Errorf("after that the visit of the first is %s", body)
			}
			ticket = `{"ticket":"` + operator.Ticket() + `"}`
			_, cookie = h.visit(own, ticket)
			if status := h.status("POST", "/console/visit", ticket, "Cookie", cookie, "Origin", own); status != 204 {
				t.Errorf("a ticket again in the same browser: HTTP %d", status)
			}
		})
	}
}

// What a visit has open ends with it, also where everybody is let in: whoever has used the ticket first may be a stranger.
func TestVisitEnds(t *testing.T) {
	for name, tokens := range map[string]map[string]string{"open": nil, "tokens": {"ann": "a"}} {
		t.Run(name, func(t *testing.T) {
			operator, begun, known := &auth.Operator{}, make(chan struct{}), make(chan bool)
			var h *host
			h = newHost(t, mcpserver.Options{
				Access: mcpserver.Access{Tokens: tokens, Operator: operator},
				Protected: map[string]http.Handler{whoPath: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					begun <- struct{}{}
					<-r.Context().Done()
					known <- h.server.Knows(r)
				})},
			})
			own := h.web.URL
			for what, end := range map[string]func(ticket, cookie string) int{
				"DELETE": func(_, cookie string) int {
					return h.status("DELETE", "/console/visit", "", "Cookie", cookie, "Origin", own)
				},
				"a second browser": func(ticket, _ string) int {
					status, _ := h.visit(own, ticket)
					return status
				},
			} {
				ticket := `{"ticket":"` + operator.Ticket() + `"}`
				_, cookie := h.visit(own, ticket)
				conn := h.upgrade("/ws", http.Header{"Cookie": {cookie}, "Origin": {own}})
				defer conn.Close()
				go h.status("GET", whoPath, "", "Cookie", cookie)
				<-begun
				if status := end(ticket, cookie); status != 204 && status != 401 {
					t.Errorf("%s: HTTP %d", what, status)
				}
				select {
				case still := <-known:
					if still {
						t.Errorf("%s: a request of the visit is still let in", what)
					}
				case <-time.After(patience):
					t.Fatalf("%s: a request of the visit goes on", what)
				}
				conn.SetReadDeadline(time.Now().Add(patience))
				if _, _, err := conn.ReadMessage(); !websocket.IsCloseError(err, websocket.ClosePolicyViolation) {
					t.Errorf("%s: the WebSocket of the visit: %v", what, err)
				}
			}
		})
	}
}

// A request of the operator has the values of OperatorValues that its headers lack; those of others have none of them.
func TestOperatorValues(t *testing.T) {
	operator := &auth.Operator{}
	h := newHost(t, mcpserver.Options{
		HiddenHeaders: map[string]string{"customerid": "X-Customer"},
		Access:        mcpserver.Access{Operator: operator, OperatorValues: map[string]json.RawMessage{"customerid": json.RawMessage(`1`), "city": json.RawMessage(`"Rome"`)}},
		Protected: map[string]http.Handler{whoPath: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c := mcpserver.CallerOf(r)
			for _, name := range []string{"CustomerID", "city"} {
				value, _ := c.HiddenValue(name)
				fmt.Fprintf(w, "%s ", value)
			}
		})},
	})
	_, cookie := h.visit(h.web.URL, `{"ticket":"`+operator.Ticket()+`"}`)
	for _, c := range []struct{ cookie, customer, want string }{
		{cookie, "", `1 "Rome" `},
		{cookie, "2", `"2" "Rome" `},
		{"", "", "  "},
		{"", "2", `"2"  `},
	} {
		if _, got := h.body("GET", whoPath, "", "Cookie", c.cookie, "X-Customer", c.customer); got != c.want {
			t.Errorf("with cookie %q and customer %q: %s", c.cookie, c.customer, got)
		}
	}
}

// The token that begins a visit ends it.
func TestVisitByToken(t *testing.T) {
	h, operator := newVisited(t, map[string]string{"ann": "a", auth.OperatorName: "o"})
	own := h.web.URL
	for token, want := range map[string]int{"a": 403, "x": 401} {
		if status, cookie := h.visit(own, "", "Authorization", "Bearer "+token); status != want || cookie != "" {
			t.Errorf("with token %s: HTTP %d", token, status)
		}
	}
	status, cookie := h.visit(own, "", "Authorization", "Bearer o")
	if status != 204 || h.status("GET", whoPath, "", "Cookie", cookie) != 200 {
		t.Fatalf("the operator's token: HTTP %d", status)
	}
	_, other := h.visit(own, `{"ticket":"`+operator.Ticket()+`"}`)
	h.server.Update(mcpserver.Options{Access: mcpserver.Access{Tokens: map[string]string{"ann": "a"}, Operator: operator}})
	if got := h.status("GET", whoPath, "", "Cookie", cookie); got != 401 {
		t.Errorf("without the token: HTTP %d", got)
	}
	if got := h.status("GET", whoPath, "", "Cookie", other); got != 200 {
		t.Errorf("after a ticket: HTTP %d", got)
	}
}
