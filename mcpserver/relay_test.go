package mcpserver

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// odd is a source with members that MCP does not have.
type odd struct {
	extra   string // of its lists
	refusal error  // of Open
	caller  *bridge.Caller
	notes   []string
}

func (o *odd) Open(_ context.Context, caller *bridge.Caller) (bridge.Session, error) {
	o.caller = caller
	return o, o.refusal
}
func (o *odd) Close() error { return nil }

func (o *odd) List(_ context.Context, kind bridge.ListKind) (*bridge.List, error) {
	l := bridge.NewList(kind, nil)
	l.Extra = []byte(o.extra)
	return l, nil
}

func (o *odd) Do(_ context.Context, req *bridge.Request) bridge.Reply {
	switch {
	case req.Method == wire.MethodDiscover:
		return bridge.Result([]byte(`{"serverInfo":{"name":"odd"},"vendor":{"x":1.0},"capabilities":{"vendor":1},"_meta":{"a":1}}`), nil)
	case strings.HasPrefix(req.Method, "notifications/"):
		o.notes = append(o.notes, req.Method+string(req.Params.Raw))
		return bridge.Result([]byte("{}"), nil)
	case strings.HasPrefix(req.Method, "vendor/"):
		if o.notes != nil {
			o.notes = append(o.notes, req.Method)
		}
		return bridge.Result(append([]byte(`{"method":`), append(wire.AppendString(nil, req.Method), '}')...), nil)
	}
	return bridge.Failed(toolformat.Errorf(toolformat.Unsupported, "no %s", req.Method))
}

func newOdd(t *testing.T, o *odd) (*parked, *session) {
	sourcetest.NoLeaks(t)
	p := &parked{T: t, Server: New(o, Options{})}
	t.Cleanup(func() { p.Close() })
	d := p.newDuplex(identity{})
	t.Cleanup(func() { d.end(errEnded) })
	return p, d.session
}

// request sends a request of the legacy era and returns its result or error.
func (s *session) request(t *testing.T, method, params string) string {
	m, err := wire.Split([]byte(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`))
	if err != nil {
		t.Fatal(err)
	}
	reply := s.dispatch(t.Context(), &m, nil)
	if reply.Err != nil {
		return reply.Err.Message
	}
	return string(reply.Result)
}

const introduction = `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"editor"}}`

// What a source says of itself, its lists and its methods arrives whole, in each era.
func TestUnknownMembers(t *testing.T) {
	o := &odd{extra: `{"_meta":{"l":1},"ttlMs":1000}`}
	p, s := newOdd(t, o)
	for _, c := range []struct{ method, params, want string }{
		{"initialize", introduction, `{"protocolVersion":"2025-06-18","serverInfo":{"name":"odd"},"vendor":{"x":1.0},"capabilities":{"vendor":1},"_meta":{"a":1}}`},
		{"tools/list", `{}`, `{"tools":[],"_meta":{"l":1},"ttlMs":1000}`},
		{"vendor/thing", `{}`, `{"method":"vendor/thing"}`},
		{"server/discover", `{}`, "method not found: server/discover"},
		{"subscriptions/listen", `{}`, "method not found: subscriptions/listen"},
		{"other", `{}`, "no other"},
	} {
		if got := s.request(t, c.method, c.params); got != c.want {
			t.Errorf("%s: %s, want %s", c.method, got, c.want)
		}
	}
	if string(o.caller.Info) != `{"name":"editor"}` {
		t.Errorf("the source is told of %s", o.caller.Info)
	}
	for _, note := range []string{"notifications/initialized", "notifications/vendor/x", "vendor/thing"} { // without an id
		m, _ := wire.Split([]byte(`{"jsonrpc":"2.0","method":"` + note + `","params":{"a":1.0}}`))
		s.notified(&m)
	}
	if got := strings.Join(o.notes, " "); got != `notifications/vendor/x{"a":1.0}` {
		t.Errorf("the source hears %s", got)
	}
	for _, c := range []struct{ method, want string }{
		{"server/discover", `{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":[`},
		{"server/discover", `"vendor":{"x":1.0},"capabilities":{"vendor":1},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"odd"},"a":1}}`},
		{"tools/list", `{"resultType":"complete","cacheScope":"private","tools":[],"_meta":{"l":1},"ttlMs":1000}`},
		{"vendor/thing", `{"resultType":"complete","method":"vendor/thing"}`},
	} {
		if body := p.send(c.method, "", "", "").Body.String(); !strings.Contains(body, c.want) {
			t.Errorf("%s: %s, want %s", c.method, body, c.want)
		}
	}
	for method := range legacyMethods {
		if w := p.send(method, "", "", ""); w.Code != http.StatusNotFound {
			t.Errorf("%s in the modern era: %d %s", method, w.Code, w.Body)
		}
	}
}

// How long a list of the modern era may be cached is nothing to a client of the legacy era.
func TestModernListForLegacyClient(t *testing.T) {
	p, s := newOdd(t, &odd{extra: `{"resultType":"complete","ttlMs":5,"cacheScope":"public","more":1}`})
	s.request(t, "initialize", introduction)
	if got := s.request(t, "tools/list", `{}`); got != `{"tools":[],"more":1}` {
		t.Errorf("the legacy client gets %s", got)
	}
	if body := p.send("tools/list", "", "", "").Body.String(); !strings.Contains(body, `"result":{"tools":[],"resultType":"complete","ttlMs":5,"cacheScope":"public","more":1}`) {
		t.Errorf("the modern client gets %s", body)
	}
}

// The reason for which a source refuses a caller reaches the client.
func TestSourceRefusesCaller(t *testing.T) {
	p, s := newOdd(t, &odd{refusal: toolformat.Errorf(toolformat.Denied, "a loop of bridges")})
	if got := s.request(t, "initialize", introduction); got != "a loop of bridges" {
		t.Errorf("initialize: %s", got)
	}
	if body := p.send("tools/list", "", "", "").Body.String(); !strings.Contains(body, `"code":-32003,"message":"a loop of bridges"`) {
		t.Errorf("the modern client: %s", body)
	}
}

// A client of the legacy SSE transport that is slow to read can still answer and cancel.
func TestSlowSSEAnswers(t *testing.T) {
	s := New(&odd{}, Options{})
	defer s.Close()
	d := s.newDuplex(identity{})
	d.sse = d
	if err := s.sessions.add(d.session); err != nil {
		t.Fatal(err)
	}
	defer d.close(io.EOF)
	for !d.box.full.Load() {
		d.Notify("notifications/message", bytes.Repeat([]byte(" "), 1<<20))
	}
	answer := make(chan bridge.Reply, 1)
	d.questions.waiting[1] = answer
	for message, want := range map[string]int{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`:     http.StatusServiceUnavailable,
		`{"jsonrpc":"2.0","id":1,"result":{"a":1}}`:    http.StatusAccepted,
		`{"jsonrpc":"2.0","method":"notifications/x"}`: http.StatusAccepted,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`:   http.StatusServiceUnavailable,
	} {
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1"+"/sse/message"+"?sessionId="+d.id, strings.NewReader(message))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s: %d %s", message, w.Code, w.Body)
		}
	}
	select {
	case <-answer:
	default:
		t.Error("the answer has not arrived")
	}
}

// Once a client was too slow, its session takes no request any more, whose answer could not be sent, also while the client reads
// the rest.
func TestEndingSSERefuses(t *testing.T) {
	s := New(&odd{}, Options{})
	defer s.Close()
	d := s.newDuplex(identity{})
	d.sse = d
	if err := s.sessions.add(d.session); err != nil {
		t.Fatal(err)
	}
	defer d.close(io.EOF)
	d.box.end(errSlow)
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/sse/message?sessionId="+d.id, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusNotFound {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// SDKs of the legacy era refuse a result whose structured content is not an object: the text alone reaches them, also from
// tools of the bridge.
func TestLooseStructuredContent(t *testing.T) {
	given := ""
	p := newMade(t, Options{}, func(_ context.Context, req *bridge.Request) bridge.Reply {
		if req.Method != wire.MethodToolsCall {
			return bridge.Result([]byte("{}"), nil)
		}
		reply := bridge.Result([]byte(`{"content":[{"type":"text","text":"\"structuredContent\":{}"}],"structuredContent"`+given+`}`), nil)
		reply.Loose = true
		return reply
	})
	d := p.newDuplex(identity{})
	defer d.end(errEnded)
	d.request(t, wire.MethodInitialize, introduction)
	for value, want := range map[string]string{`:["a"]`: "", ` : 1`: "", `:null`: "", `:"{"`: "", `: {"a":[1]}`: `{"a":[1]}`} {
		given = value
		got := []byte(d.request(t, wire.MethodToolsCall, `{"name":"t"}`))
		if string(wire.Lookup(got, "structuredContent")) != want || wire.Lookup(got, "content") == nil {
			t.Errorf("%s: %s", value, got)
		}
	}
}
