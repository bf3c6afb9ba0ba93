package mcpserver

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpserver/auth"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// listed is a source with a list of tools that a test changes. Its tool wait waits until it is
// canceled; any other tool creates the task of its argument id.
type listed struct {
	mu     sync.Mutex // guards the fields below
	list   *bridge.List
	reads  int // of the list
	notify []func(string, []byte)
	open   int

	begun, ended chan string // of wait
}

func newListed(t *testing.T, schema string) *listed {
	s := &listed{begun: make(chan string, 10), ended: make(chan string, 10)}
	s.change(t, schema)
	return s
}

// change gives the tool t another input schema and notifies the callers.
func (s *listed) change(t *testing.T, schema string) {
	it, err := bridge.NewItem(bridge.Tools, []byte(`{"name":"t","inputSchema":`+schema+`}`))
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	s.list = bridge.NewList(bridge.Tools, []bridge.Item{it})
	notify := s.notify
	s.mu.Unlock()
	for _, f := range notify {
		f(wire.NotificationToolsChanged, nil)
	}
}

func (s *listed) Open(_ context.Context, caller *bridge.Caller) (bridge.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notify = append(s.notify, caller.Notify)
	s.open++
	return s, nil
}

func (s *listed) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	return nil
}

func (s *listed) List(context.Context, bridge.ListKind) (*bridge.List, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	return s.list, nil
}

func (s *listed) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	if req.Target == "wait" {
		s.begun <- req.Target
		<-ctx.Done()
		s.ended <- fmt.Sprint(context.Cause(ctx))
		return bridge.Result([]byte(`{}`), nil)
	}
	id, _ := wire.Text(wire.Lookup(req.Params.Get(wire.Arguments), "id"))
	return bridge.Result([]byte(`{"resultType":"task","taskId":"`+id+`"}`), nil)
}

func newViews(t *testing.T, s *listed) *parked {
	sourcetest.NoLeaks(t)
	p := &parked{T: t, Server: New(s, Options{})}
	t.Cleanup(func() { p.Close() })
	return p
}

// send sends a request of the modern era over HTTP; an empty param means no Mcp-Param header.
func (p *parked) send(method, name, params, param string) *httptest.ResponseRecorder {
	msg := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`
	r := httptest.NewRequestWithContext(p.Context(), "POST", "http://127.0.0.1/mcp", strings.NewReader(msg))
	for k, v := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": wire.ModernRevision, "Mcp-Method": method, "Mcp-Name": name,
	} {
		r.Header.Set(k, v)
	}
	if param != "" {
		r.Header.Set("Mcp-Param-A", param)
	}
	if p.token != "" {
		r.Header.Set("Authorization", "Bearer "+p.token)
	}
	w := httptest.NewRecorder()
	p.Handler().ServeHTTP(w, r)
	return w
}

// The headers that a call needs follow the list, which is not read for each call.
func TestParamHeadersFollowTheList(t *testing.T) {
	const plain, marked = `{"type":"object"}`, `{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"}}}`
	s := newListed(t, plain)
	p := newViews(t, s)
	call := func(param string) int {
		return p.send(wire.MethodToolsCall, "t", `"name":"t","arguments":{"a":"x"},`, param).Code
	}
	for i, c := range []struct {
		schema, param string
		want          int
	}{
		{"", "", 200}, {"", "y", 200}, {marked, "", 400}, {"", "y", 400}, {"", "x", 200}, {plain, "", 200}, {"", "y", 200}, {marked, "y", 400}, {"", "x", 200},
	} {
		if c.schema != "" {
			s.change(t, c.schema)
		}
		if got := call(c.param); got != c.want {
			t.Errorf("call %d: %d, want %d", i, got, c.want)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reads != 4 {
		t.Errorf("the list was asked for %d times", s.reads)
	}
}

// A header is checked by the rules by which a client makes it (SEP-2243).
func TestParamHeaderRules(t *testing.T) {
	const integer = `{"properties":{"a":{"type":"integer","x-mcp-header":"A"}}}`
	for _, c := range []struct {
		schema, arguments, param string
		want                     int
	}{
		{integer, `{"a":42}`, "42", 200},
		{integer, `{"a":42}`, "42.0", 200},
		{integer, `{"a":42}`, "=?base64?NDI=?=", 200},
		{integer, `{"a":42}`, "0x2A", 400},
		{integer, `{"a":9007199254740993}`, "9007199254740993", 400},
		{integer, `{"a":1.5}`, "1.5", 400},
		{integer, `{"a":null}`, "", 200},
		{integer, `{"a":null}`, "null", 400},
		{integer, `{"a":1,"\u0061":2}`, "2", 400},
		{`{"properties":{"b":{"type":"number","x-mcp-header":"no name"},"a":{"type":"boolean","x-mcp-header":"A"}}}`, `{"a":true}`, "false", 400},
		{`{"items":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}`, `{"a":"x"}`, "", 200},
	} {
		p := newViews(t, newListed(t, c.schema))
		if w := p.send(wire.MethodToolsCall, "t", `"name":"t","arguments":`+c.arguments+`,`, c.param); w.Code != c.want {
			t.Errorf("%s with %q: HTTP %d, want %d: %s", c.arguments, c.param, w.Code, c.want, w.Body)
		}
	}
}

// A list that changes while it is read is not kept.
func TestParamHeadersListRaces(t *testing.T) {
	s := newListed(t, `{"type":"object"}`)
	p := newViews(t, s)
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for range 50 {
				p.send(wire.MethodToolsCall, "t", `"name":"t","arguments":{"a":"x"},`, "x")
			}
		})
	}
	for range 50 {
		s.change(t, `{"type":"object"}`)
	}
	s.change(t, `{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"}}}`)
	work.Wait()
	if w := p.send(wire.MethodToolsCall, "t", `"name":"t","arguments":{"a":"x"},`, "y"); w.Code != http.StatusBadRequest {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A view that is unused ends after its time, which is longer once a task was created in it, and
// its tasks with it.
func TestViewsEnd(t *testing.T) {
	s := newListed(t, `{"type":"object"}`)
	p := newViews(t, s)
	p.send(wire.MethodToolsList, "", "", "")
	var v *view
	for _, views := range p.views.views {
		v = views[0]
	}
	for _, c := range []struct {
		name  string
		unset time.Duration // since the last request
		use   bool
		task  string
		want  int // sessions of the source
	}{
		{"just used", 0, false, "", 1},
		{"in use", 2 * viewIdle, true, "", 1},
		{"with a task", 2 * viewIdle, false, "one", 1},
		{"with a task, for long", 2 * taskIdle, false, "", 0},
	} {
		if c.task != "" {
			p.send(wire.MethodToolsCall, "t", `"name":"t","arguments":{"id":"`+c.task+`"},`, "")
		}
		p.views.mu.Lock()
		v.left = time.Now().Add(-c.unset)
		if c.use {
			v.users++
		}
		p.views.mu.Unlock()
		p.views.expire(v)
		p.views.mu.Lock()
		if c.use {
			v.users--
		}
		tasks := len(p.views.tasks)
		p.views.mu.Unlock()
		s.mu.Lock()
		if s.open != c.want || (c.task != "") != (tasks == 1) {
			t.Errorf("%s: %d sessions and %d tasks", c.name, s.open, tasks)
		}
		s.mu.Unlock()
	}
	if w := p.send(wire.MethodToolsList, "", "", ""); w.Code != http.StatusOK {
		t.Errorf("a new view: %d %s", w.Code, w.Body)
	}
}

// Requests over HTTP end with the server: each with the answer of its source.
func TestPostsEndWithServer(t *testing.T) {
	s := newListed(t, `{"type":"object"}`)
	p := newViews(t, s)
	listen, call := make(chan string, 1), make(chan string, 1)
	go func() {
		listen <- p.send(wire.MethodListen, "", `"notifications":{"toolsListChanged":true},`, "").Body.String()
	}()
	go func() {
		call <- p.send(wire.MethodToolsCall, "wait", `"name":"wait",`, "").Body.String()
	}()
	p.came(s.begun)
	for listening := false; !listening && t.Context().Err() == nil; {
		p.views.mu.Lock()
		for _, views := range p.views.views {
			views[0].subscriptions.mu.Lock()
			listening = len(views[0].subscriptions.listeners) > 0
			views[0].subscriptions.mu.Unlock()
		}
		p.views.mu.Unlock()
	}
	if n := p.Pending(); n != 1 {
		t.Errorf("%d requests are being answered, want the call alone", n)
	}
	p.Close()
	if got := <-listen; !strings.Contains(got, `"resultType":"complete"`) {
		t.Errorf("the listen: %s", got)
	}
	if got := <-call; !strings.Contains(got, `"id":1,"result"`) {
		t.Errorf("the call: %s", got)
	}
	if got := <-s.ended; got != errClosing.Error() {
		t.Errorf("the call was cancelled since %s", got)
	}
	if s.open != 0 || len(p.views.posts) != 0 {
		t.Errorf("%d sessions and %d requests are left", s.open, len(p.views.posts))
	}
}

// One principal's tasks do not push out those of another, and of its own the oldest go first.
func TestTasksOfPrincipals(t *testing.T) {
	sourcetest.NoLeaks(t)
	s := New(newListed(t, `{}`), Options{Access: Access{Tokens: map[string]string{"ann": "a", "bob": "b"}}})
	defer s.Close()
	pool := &s.views
	open := func(name string) *view {
		v, err := pool.claim(t.Context(), viewKey{sender: identity{principal: bridge.Principal{Name: name}}, capabilities: "{}"}, false)
		if err != nil {
			t.Fatal(err)
		}
		pool.release(v, false)
		return v
	}
	ann, bob := open("ann"), open("bob")
	pool.mu.Lock()
	defer pool.mu.Unlock()
	pool.addTask(bob, taskKey{bob.key.sender, "1"})
	for i := range wire.MaxTasks + 1 {
		pool.addTask(ann, taskKey{ann.key.sender, fmt.Sprint(i)})
	}
	pool.addTask(ann, taskKey{ann.key.sender, "1"}) // again
	if pool.tasks[taskKey{bob.key.sender, "1"}] != bob || pool.tasks[taskKey{ann.key.sender, "0"}] != nil || pool.tasks[taskKey{ann.key.sender, "1"}] != ann {
		t.Error("the wrong tasks are forgotten")
	}
	if ann.tasks != wire.MaxTasks || len(pool.order[ann.account]) != wire.MaxTasks {
		t.Errorf("%d tasks, %d ids", ann.tasks, len(pool.order[ann.account]))
	}
	pool.drop(ann)
	if len(pool.tasks) != 1 || len(pool.order[ann.account]) != 0 {
		t.Errorf("%d tasks are left", len(pool.tasks))
	}
}

// The level of a request that was canceled before the source had got it is sent by the next one.
func TestLevelOfCanceledRequest(t *testing.T) {
	sent := 0
	v := &view{source: made(func(ctx context.Context, _ *bridge.Request) bridge.Reply {
		if ctx.Err() != nil {
			return bridge.Failed(toolformat.Errorf(toolformat.Canceled, "canceled"))
		}
		sent++
		return bridge.Result([]byte("{}"), nil)
	})}
	info := wire.ParseLogLevel([]byte(`"info"`))
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	v.lowerLevel(canceled, info)
	v.lowerLevel(t.Context(), info)
	v.lowerLevel(t.Context(), info)
	if sent != 1 {
		t.Errorf("the source has got the level %d times, want once", sent)
	}
}

// forwarder is a source whose calls create the task 1, about which it says with which token it was asked.
type forwarder struct{}

func (forwarder) Open(_ context.Context, caller *bridge.Caller) (bridge.Session, error) {
	return made(func(_ context.Context, req *bridge.Request) bridge.Reply {
		if req.Method == wire.MethodToolsCall {
			return bridge.Result([]byte(`{"resultType":"task","taskId":"1"}`), nil)
		}
		return bridge.Result([]byte(`{"token":"`+caller.Token()+`"}`), nil)
	}), nil
}

// The source gets the token with which a client asks about a task, not that with which it has created it.
func TestTaskOfRefreshedToken(t *testing.T) {
	sourcetest.NoLeaks(t)
	p := &parked{T: t, Server: New(forwarder{}, Options{PassTokens: true, Access: Access{Auth: auth.Any{&issuer{}}}})}
	t.Cleanup(func() { p.Close() })
	p.token = "old"
	p.send(wire.MethodToolsCall, "t", `"name":"t",`, "")
	p.token = "new"
	if w := p.send(wire.MethodTasksGet, "1", `"taskId":"1",`, ""); !strings.Contains(w.Body.String(), `"token":"new"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
