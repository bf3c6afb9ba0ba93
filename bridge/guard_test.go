package bridge_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// stub is a source with tools that answer with the params that they got.
type stub struct {
	mu    sync.Mutex // guards list
	list  *bridge.List
	calls int
	away  error
	told  func(method string, params []byte) // Notify of the last caller
}

func newStub(t testing.TB, definitions ...string) *stub {
	t.Helper()
	s := &stub{}
	s.setTools(t, definitions...)
	return s
}

func (s *stub) setTools(t testing.TB, definitions ...string) {
	t.Helper()
	var items []bridge.Item
	for _, d := range definitions {
		it, err := bridge.NewItem(bridge.Tools, []byte(d))
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, it)
	}
	s.setList(bridge.NewList(bridge.Tools, items))
}

func (s *stub) setList(list *bridge.List) {
	s.mu.Lock()
	s.list = list
	s.mu.Unlock()
	if s.told != nil {
		s.told(wire.NotificationToolsChanged, nil)
	}
}

func (s *stub) Open(_ context.Context, caller *bridge.Caller) (bridge.Session, error) {
	s.told = caller.Notify
	return s, nil
}
func (s *stub) Close() error { return nil }
func (s *stub) List(context.Context, bridge.ListKind) (*bridge.List, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list, s.away
}

func (s *stub) Do(_ context.Context, req *bridge.Request) bridge.Reply {
	s.calls++
	if req.Method != wire.MethodToolsCall {
		return bridge.Result([]byte(`{}`), nil)
	}
	return bridge.Result(toolformat.TextResult(string(req.Params.Append(nil, req.Edits...)), false).JSON, nil)
}

// text is the text of a call's result, or its error.
func text(t *testing.T, reply bridge.Reply) string {
	t.Helper()
	if reply.Err != nil {
		return reply.Err.Error()
	}
	blocks, err := (&toolformat.Result{JSON: reply.Result}).Content()
	if err != nil || len(blocks) != 1 {
		t.Fatalf("%s: %v", reply.Result, err)
	}
	return blocks[0].Text
}

func callTool(t *testing.T, s bridge.Session, params string, edits ...wire.Edit) string {
	t.Helper()
	split, err := wire.SplitParams([]byte(params))
	if err != nil {
		t.Fatal(err)
	}
	name, _ := split.Text(wire.Name)
	return text(t, s.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Params: &split, Target: name, Edits: edits}))
}

const (
	ordersTool = `{"name":"orders","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{"CustomerID":{"$ref":"#/$defs/id"},"limit":{"type":"integer","maximum":10,"default":5}},"required":["CustomerID","limit"],"additionalProperties":false,"$defs":{"id":{"type":"integer"}}}}`
	plainTool  = `{ "name":"plain", "inputSchema":{ "type":"object" } }`
)

// values is a context of one value.
func values(name, raw string) func(string) ([]byte, bool) {
	return func(asked string) ([]byte, bool) { return []byte(raw), raw != "" && strings.EqualFold(asked, name) }
}

// A context field of a server's tools is seen and set by the context alone, and
// what is not guarded keeps its bytes.
func TestGuardContext(t *testing.T) {
	source := newStub(t, ordersTool, plainTool)
	g := bridge.NewGuard(source, bridge.GuardOptions{Hidden: []string{"customerid"}, SharedValue: values("customerid", `"7"`)})
	for _, c := range []struct {
		name, params string
		context      func(string) ([]byte, bool)
		want         string // with the names of members that come first put there
	}{
		{"the caller's", `{"name":"orders","arguments":{"limit":1.0}}`, values("customerid", "42"), `{"name":"orders","arguments":{"limit":1.0,"CustomerID":42}}`},
		{"of all callers, typed by the schema", `{"name":"orders","arguments":{}}`, nil, `{"name":"orders","arguments":{"CustomerID":7}}`},
		{"no arguments", `{"name":"orders"}`, nil, `{"name":"orders","arguments":{"CustomerID":7}}`},
		{"null for arguments", `{"name":"orders","arguments":null}`, nil, `{"name":"orders","arguments":{"CustomerID":7}}`},
		{"set by a model", `{"name":"orders","arguments":{"customerid":1,"\u0043USTOMERID":2,"CustomerID":3,"limit":1},"_meta":{"a":1e400}}`, values("customerid", "42"), `{"name":"orders","arguments":{"limit":1,"CustomerID":42},"_meta":{"a":1e400}}`},
		{"not checked otherwise", `{"name":"orders","arguments":{"limit":"many","x":12345678901234567890}}`, nil, `{"name":"orders","arguments":{"limit":"many","x":12345678901234567890,"CustomerID":7}}`},
		{"one that does not fit is not told", `{"name":"orders","arguments":{}}`, values("customerid", `"secret"`), `Invalid context field: customerid`},
		{"not an object", `{"name":"orders","arguments":"{\"CustomerID\":3}"}`, nil, `invalid arguments for tool orders: expected an object`},
		{"a tool without it", `{"name":"plain","arguments":{ "a" : "\ud800" }}`, nil, `{"name":"plain","arguments":{ "a" : "\ud800" }}`},
		{"a tool without it, sent one", `{"name":"plain","arguments":{"a":1,"CUSTOMERID":3}}`, nil, `{"name":"plain","arguments":{"a":1}}`},
		{"a tool that is not listed", `{"name":"other","arguments":{}}`, nil, `unknown tool: other`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := g.Open(t.Context(), &bridge.Caller{ID: "a", HiddenValue: c.context})
			if err != nil {
				t.Fatal(err)
			}
			if got := callTool(t, s, c.params); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if got := callTool(t, s, `{"name":"orders","arguments":{"customerid":1}}`, wire.Edit{Key: wire.Arguments, Value: []byte(`{"customerid":2}`)}); strings.Contains(got, `"customerid"`) {
				t.Errorf("an edit sets it: %s", got)
			}
		})
	}
	s, _ := g.Open(t.Context(), &bridge.Caller{ID: "a"})
	list, err := s.List(t.Context(), bridge.Tools)
	want := `{"name":"orders","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{"limit":{"type":"integer","maximum":10,"default":5}},"required":["limit"],"additionalProperties":false,"$defs":{"id":{"type":"integer"}}}}`
	if err != nil || string(list.Items[0].Raw) != want || string(list.Items[1].Raw) != plainTool || !list.Items[0].Repeatable {
		t.Errorf("%s\n%s (%v)", list.Items[0].Raw, list.Items[1].Raw, err)
	}
	if again, _ := s.List(t.Context(), bridge.Tools); again != list {
		t.Error("the same list becomes another one each time")
	}
}

// Without a value the server hears nothing.
func TestGuardMissingContext(t *testing.T) {
	source := newStub(t, ordersTool, `{"name":"ids","inputSchema":{"type":"object","properties":{"requestId":{"type":"string"}}}}`)
	g := bridge.NewGuard(source, bridge.GuardOptions{Hidden: []string{"customerid", "requestid"}})
	s, _ := g.Open(t.Context(), &bridge.Caller{ID: "a"})
	if got := callTool(t, s, `{"name":"orders","arguments":{"limit":1}}`); got != "Missing context field: customerid" || source.calls > 0 {
		t.Errorf("%s, %d calls", got, source.calls)
	}
	if got := callTool(t, s, `{"name":"ids","arguments":{"requestid":"mine"}}`); !strings.Contains(got, `{"requestId":"`) || strings.Contains(got, "mine") {
		t.Errorf("the request's id, which is always there: %s", got)
	}
}

// Arguments are checked where that is asked for, against what callers see.
func TestGuardValidate(t *testing.T) {
	source := newStub(t, ordersTool)
	for _, c := range []struct {
		opts         bridge.GuardOptions
		params, want string
	}{
		{bridge.GuardOptions{Validate: true}, `{"name":"orders","arguments":{ "CustomerID":1, "limit":2 }}`, `{"name":"orders","arguments":{ "CustomerID":1, "limit":2 }}`},
		{bridge.GuardOptions{Validate: true}, `{"name":"orders","arguments":{"CustomerID":1,"limit":"2"}}`, `{"name":"orders","arguments":{"CustomerID":1,"limit":2}}`},
		{bridge.GuardOptions{Validate: true}, `{"name":"orders","arguments":{"limit":2}}`, `invalid arguments for tool orders: missing required property "CustomerID"`},
		{bridge.GuardOptions{Validate: true, Hidden: []string{"customerid"}, SharedValue: values("customerid", "7")}, `{"name":"orders","arguments":{"customerid":1,"limit":2}}`, `{"name":"orders","arguments":{"limit":2,"CustomerID":7}}`},
		{bridge.GuardOptions{Validate: true, Hidden: []string{"customerid"}, SharedValue: values("customerid", "7")}, `{"name":"orders","arguments":{"limit":20}}`, `invalid arguments for tool orders: /limit: expected <= 10, got 20`},
	} {
		s, _ := bridge.NewGuard(source, c.opts).Open(t.Context(), &bridge.Caller{ID: "a"})
		if got := callTool(t, s, c.params); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// A tool whose schema cannot be read is left out, since nothing in it can be hidden; a
// name that no tool has is told, since a misspelt one hides nothing.
func TestGuardNotes(t *testing.T) {
	deep := strings.Repeat(`{"properties":{"customerid":`, 5000) + "true" + strings.Repeat("}}", 5000)
	source := newStub(t, `{"name":"deep","inputSchema":`+deep+`}`, plainTool)
	g := bridge.NewGuard(source, bridge.GuardOptions{Hidden: []string{"customerid"}})
	s, _ := g.Open(t.Context(), &bridge.Caller{ID: "a"})
	list, err := s.List(t.Context(), bridge.Tools)
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%v (%v)", list, err)
	}
	notes := g.Problems()
	if len(notes) != 2 || !notes[0].LeftOut || !strings.HasPrefix(notes[0].Text, "tool deep: ") || notes[1].LeftOut || notes[1].Text != "context: no tool has a property customerid" {
		t.Errorf("%v", notes)
	}
	if got := callTool(t, s, `{"name":"deep","arguments":{}}`); got != "unknown tool: deep" {
		t.Errorf("%s", got)
	}
	source.setTools(t, ordersTool)
	if _, err := s.List(t.Context(), bridge.Tools); err != nil || len(g.Problems()) > 0 {
		t.Errorf("%v (%v)", g.Problems(), err)
	}
}

// What is away keeps its list, and says itself why it cannot be called.
func TestGuardOfAwaySource(t *testing.T) {
	source := newStub(t, ordersTool)
	source.away = toolformat.Errorf(toolformat.Unavailable, "away")
	s, _ := bridge.NewGuard(source, bridge.GuardOptions{Hidden: []string{"customerid"}, SharedValue: values("customerid", "7")}).Open(t.Context(), &bridge.Caller{ID: "a"})
	if list, err := s.List(t.Context(), bridge.Tools); err == nil || list == nil || strings.Contains(string(list.Items[0].Raw), "CustomerID") {
		t.Errorf("%v (%v)", list, err)
	}
	if got := callTool(t, s, `{"name":"orders"}`); !strings.Contains(got, `"CustomerID":7`) {
		t.Error(got)
	}
	source.setList(nil)
	params, _ := wire.SplitParams([]byte(`{"name":"orders"}`))
	if reply := s.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Target: "orders", Params: &params}); reply.Err == nil || reply.Err.Message != "away" || !reply.Err.NotRun {
		t.Errorf("%+v", reply)
	}
}

// Whatever the arguments are, what arrives is the context's alone, and once.
func FuzzGuardContext(f *testing.F) {
	for _, seed := range []string{`{}`, `{"customerid":1}`, `{"CUSTOMERID":1,"a":[{"customerid":2}],"customerid":3}`, `{"\u0063ustomerid":1,"":0}`, `[1]`, `"x"`, `null`, `{"\ud800":1,"CustomerID":"x"}`} {
		f.Add(seed)
	}
	source := newStub(f, ordersTool)
	s, err := bridge.NewGuard(source, bridge.GuardOptions{Hidden: []string{"customerid"}, SharedValue: values("customerid", "7")}).Open(f.Context(), &bridge.Caller{ID: "a"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, arguments string) {
		params, err := wire.SplitParams([]byte(`{"name":"orders","arguments":` + arguments + `}`))
		if err != nil {
			return
		}
		reply := s.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: "orders"})
		if (&toolformat.Result{JSON: reply.Result}).IsError() {
			return
		}
		got := text(t, reply)
		if err := wire.Valid([]byte(got)); err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		found := 0
		for name, value := range wire.Members(wire.Lookup([]byte(got), "arguments")) {
			if strings.EqualFold(name, "customerid") {
				if found++; name != "CustomerID" || string(value) != "7" {
					t.Errorf("%s: %s", arguments, got)
				}
			}
		}
		if found != 1 {
			t.Errorf("%s: %s", arguments, got)
		}
	})
}

// counting is a source that counts how often its list is read.
type counting struct {
	bridge.Source
	lists *atomic.Int64
}

func newCounting(source bridge.Source) counting {
	c := counting{lists: new(atomic.Int64)}
	c.Source = bridge.Wrap(source, func(below bridge.Session, _ *bridge.Caller) (bridge.Session, error) {
		return countingSession{below, c.lists}, nil
	})
	return c
}

type countingSession struct {
	bridge.Session
	lists *atomic.Int64
}

func (s countingSession) List(ctx context.Context, kind bridge.ListKind) (*bridge.List, error) {
	s.lists.Add(1)
	return s.Session.List(ctx, kind)
}

// A guard reads the list when it has changed or lacks a name, not for each call.
func TestGuardReadsListOnce(t *testing.T) {
	fake := sourcetest.NewFake()
	below := newCounting(fake)
	s, err := bridge.NewGuard(below, bridge.GuardOptions{Validate: true}).Open(t.Context(), &bridge.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 3 {
		wantResult(t, call(t.Context(), s, "echo", `{"arguments":{}}`, nil), `{"content":[],"structuredContent":{}}`)
	}
	if n := below.lists.Load(); n != 1 {
		t.Errorf("the list was read %d times for three calls, want 1", n)
	}
	fake.Add(`{"name":"new","inputSchema":{"type":"object","required":["a"]}}`)
	if r := call(t.Context(), s, "new", `{"arguments":{}}`, nil); r.Err != nil || !strings.Contains(string(r.Result), `"isError":true`) {
		t.Errorf("the call of a new tool is not checked: %s %v", r.Result, r.Err)
	}
	if n := below.lists.Load(); n != 2 {
		t.Errorf("the list was read %d times, want 2", n)
	}
}

// Deeply nested arguments, and results, cost one pass.
func TestGuardDeep(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 480) + "[" + strings.Repeat("1,", 4_000_000) + "1]" + strings.Repeat("}", 480)
	g := bridge.NewGuard(newStub(t, plainTool), bridge.GuardOptions{Hidden: []string{"customerid"}, SharedValue: values("customerid", `7`)})
	s, err := g.Open(t.Context(), &bridge.Caller{ID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	params, err := wire.SplitParams([]byte(`{"name":"plain","arguments":` + deep + `}`))
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if reply := s.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: "plain"}); reply.Err != nil {
		t.Error(reply.Err)
	}
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("it took %s", took)
	}
}

// A guard of several servers says what they say of the tools of one that is away.
func TestGuardAway(t *testing.T) {
	sourcetest.RunAway(t, func(source bridge.Source) bridge.Source {
		return bridge.NewGuard(source, bridge.GuardOptions{Validate: true})
	})
}
