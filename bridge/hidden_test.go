package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A hidden argument is seen and set by the caller's hidden values alone.
func TestHiddenContext(t *testing.T) {
	orders := bridge.Tool{
		Tool: toolformat.Tool{Name: "orders", Description: "Orders.", InputSchema: json.RawMessage(
			`{"type":"object","properties":{"CustomerID":{"type":"integer"},"limit":{"type":"integer","default":5}},"required":["CustomerID","limit"],"additionalProperties":false}`)},
		Hidden: []string{"customerid"},
		Call: func(_ context.Context, arguments json.RawMessage) (*toolformat.Result, error) {
			return toolformat.TextResult(string(arguments), false), nil
		},
	}
	n, err := bridge.NewNative(bridge.NativeOptions{SharedValue: func(name string) ([]byte, bool) {
		return []byte(`"7"`), strings.EqualFold(name, "customerid")
	}}, orders)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	value := func(raw string) func(string) ([]byte, bool) {
		return func(string) ([]byte, bool) { return []byte(raw), raw != "" }
	}
	for _, c := range []struct {
		name, arguments string
		context         func(string) ([]byte, bool)
		want            string
	}{
		{"the caller's", `{"limit":1}`, value("42"), `{"limit":1,"CustomerID":42}`},
		{"a default of another argument", `{}`, value("42"), `{"limit":5,"CustomerID":42}`},
		{"set by a model", `{"limit":1,"customerid":1,"CUSTOMERID":2,"CustomerID":3}`, value("42"), `{"limit":1,"CustomerID":42}`},
		{"for all callers, typed by the schema", `{"limit":1}`, nil, `{"limit":1,"CustomerID":7}`},
		{"one that does not fit is not told", `{"limit":1}`, value(`"secret"`), `Invalid context field: customerid`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := callOrders(t, n, c.context, c.arguments)
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	s, _ := n.Open(t.Context(), &bridge.Caller{ID: "a"})
	defer s.Close()
	list, err := s.List(t.Context(), bridge.Tools)
	if err != nil || strings.Contains(strings.ToLower(string(list.Items[0].Raw)), "customerid") {
		t.Errorf("%s (%v)", list.Items[0].Raw, err)
	}
}

// back keeps what a call notifies of.
type back struct{ notified []string }

func (b *back) Notify(_ string, params []byte) { b.notified = append(b.notified, string(params)) }
func (b *back) Ask(context.Context, string, []byte) ([]byte, *toolformat.Error) {
	return nil, nil
}

// A hidden value stands neither in progress nor in the error of a tool, nor in the log of its panic.
func TestHiddenValueIsNotTold(t *testing.T) {
	var log strings.Builder
	n, err := bridge.NewNative(bridge.NativeOptions{Log: slog.New(slog.NewTextHandler(&log, nil))}, bridge.Tool{
		Tool:       toolformat.Tool{Name: "orders", InputSchema: json.RawMessage(`{"type":"object","properties":{"key":{"type":"string"},"panic":{"type":"boolean"}}}`)},
		Cancelable: true, Hidden: []string{"key"},
		Call: func(ctx context.Context, arguments json.RawMessage) (*toolformat.Result, error) {
			bridge.Progress(ctx, 1, 2, "with "+string(arguments))
			if strings.Contains(string(arguments), "true") {
				panic("no " + string(arguments))
			}
			return nil, errors.New("no " + string(arguments))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	s, err := n.Open(t.Context(), &bridge.Caller{ID: "a", HiddenValue: values("key", `"SECRET-KEY-1"`)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for arguments, want := range map[string]string{`{}`: `no {"key":"xxxxx"}`, `{"panic":true}`: `internal error`} {
		params, err := wire.SplitParams([]byte(`{"name":"orders","_meta":{"progressToken":1},"arguments":` + arguments + `}`))
		if err != nil {
			t.Fatal(err)
		}
		b := &back{}
		reply := s.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: "orders", Back: b})
		if got := text(t, reply); got != want {
			t.Errorf("%s: %s", arguments, got)
		}
		if len(b.notified) != 1 || !strings.Contains(b.notified[0], `"progress":1`) {
			t.Errorf("%s: %q", arguments, b.notified)
		}
		log.WriteString(strings.Join(b.notified, "\n"))
		if reply.Err != nil && reply.Err.Cause != nil {
			log.WriteString(reply.Err.Cause.Error())
		}
	}
	if got := log.String(); strings.Contains(got, "SECRET") || !strings.Contains(got, "xxxxx") || !strings.Contains(got, "panicked") {
		t.Errorf("the log has %s", got)
	}
}

// Without a value the backend is not called.
func TestMissingContext(t *testing.T) {
	called := false
	n, err := bridge.NewNative(bridge.NativeOptions{}, bridge.Tool{
		Tool:   toolformat.Tool{Name: "orders", InputSchema: json.RawMessage(`{"type":"object","properties":{"customerid":{},"requestid":{},"invocationid":{}}}`)},
		Hidden: []string{"requestid", "invocationid", "customerid"},
		Call: func(context.Context, json.RawMessage) (*toolformat.Result, error) {
			called = true
			return nil, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if got := callOrders(t, n, nil, `{}`); got != "Missing context field: customerid" || called {
		t.Errorf("%s, called: %v", got, called)
	}
}

// callOrders is the text of the result of a call.
func callOrders(t *testing.T, n *bridge.Native, values func(string) ([]byte, bool), arguments string) string {
	t.Helper()
	s, err := n.Open(t.Context(), &bridge.Caller{ID: "a", HiddenValue: values})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	params, err := wire.SplitParams([]byte(`{"name":"orders","arguments":` + arguments + `}`))
	if err != nil {
		t.Fatal(err)
	}
	reply := s.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: "orders"})
	if reply.Err != nil {
		return reply.Err.Error()
	}
	blocks, err := (&toolformat.Result{JSON: reply.Result}).Content()
	if err != nil || len(blocks) != 1 {
		t.Fatalf("%s: %v", reply.Result, err)
	}
	return blocks[0].Text
}

// Nor does it stand in what a server reports during a call that it was filled in for.
func TestGuardHidesReports(t *testing.T) {
	source := bridge.Wrap(newStub(t, ordersTool), func(below bridge.Session, _ *bridge.Caller) (bridge.Session, error) {
		return telling{below}, nil
	})
	g := bridge.NewGuard(source, bridge.GuardOptions{Hidden: []string{"customerid"}})
	s, err := g.Open(t.Context(), &bridge.Caller{ID: "a", HiddenValue: values("customerid", `4242`)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	params, err := wire.SplitParams([]byte(`{"name":"orders","arguments":{"limit":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	b := &back{}
	s.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: "orders", Back: b})
	want := `{"progressToken":4242,"progress":1,"message":"of xxxxx"} {"level":"info","data":{"id":"xxxxx"}} {"a":4242}`
	if got := strings.Join(b.notified, " "); got != want {
		t.Errorf("the client is told %s, want %s", got, want)
	}
}

// telling is a session that reports what it got.
type telling struct{ bridge.Session }

func (s telling) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	req.Back.Notify(wire.NotificationProgress, []byte(`{"progressToken":4242,"progress":1,"message":"of 4242"}`))
	req.Back.Notify(wire.NotificationMessage, []byte(`{"level":"info","data":{"id":4242}}`))
	req.Back.Notify("notifications/other", []byte(`{"a":4242}`))
	return s.Session.Do(ctx, req)
}

// Nor does it stand in the state of a task, or in the result of one that failed.
func TestGuardHidesTasks(t *testing.T) {
	for reply, want := range map[string]string{
		`{"isError":true,"content":[{"type":"text","text":"no 4242"}]}`:        `{"isError":true,"content":[{"type":"text","text":"no xxxxx"}]}`,
		`{"isError":false,"content":[{"type":"text","text":"row 4242"}]}`:      `{"isError":false,"content":[{"type":"text","text":"row 4242"}]}`,
		`{"taskId":"4242","status":"working","statusMessage":"reads 4242"}`:    `{"taskId":"4242","status":"working","statusMessage":"reads xxxxx"}`,
		`{"taskId":"1","status":"completed","result":{"content":[4242]}}`:      `{"taskId":"1","status":"completed","result":{"content":[4242]}}`,
		`{"taskId":"1","result":{"isError":true,"content":["4242"]}}`:          `{"taskId":"1","result":{"isError":true,"content":["xxxxx"]}}`,
		`{"taskId":"1","status":"failed","error":{"code":1,"message":"4242"}}`: `{"taskId":"1","status":"failed","error":{"code":1,"message":"xxxxx"}}`,
	} {
		source := bridge.Wrap(newStub(t, ordersTool), func(below bridge.Session, _ *bridge.Caller) (bridge.Session, error) {
			return replying{below, reply}, nil
		})
		g := bridge.NewGuard(source, bridge.GuardOptions{Hidden: []string{"customerid"}})
		s, err := g.Open(t.Context(), &bridge.Caller{ID: "a", HiddenValue: values("customerid", `4242`)})
		if err != nil {
			t.Fatal(err)
		}
		for _, method := range []string{wire.MethodTasksGet, wire.MethodTasksResult} {
			if got := s.Do(t.Context(), &bridge.Request{Method: method, Target: "1"}); string(got.Result) != want {
				t.Errorf("%s: got %s, want %s", method, got.Result, want)
			}
		}
		s.Close()
	}
}

// Nor does it stand in what creates, ends or lists a task, in what a server reports outside of a call, or
// in another error; a result stays as it is.
func TestGuardHidesOutsideOfCalls(t *testing.T) {
	const state = `{"taskId":"4242","status":"working","statusMessage":"for %s"}`
	below := &stub{}
	for _, c := range []struct{ method, reply, want string }{
		{wire.MethodToolsCall, `{"task":` + state + `}`, `{"task":` + state + `}`},
		{wire.MethodToolsCall, `{"resultType":"task",` + state[1:], `{"resultType":"task",` + state[1:]},
		{wire.MethodToolsCall, `{"content":[],"statusMessage":"4242","error":"4242"}`, `{"content":[],"statusMessage":"4242","error":"4242"}`},
		{wire.MethodTasksCancel, state, state},
		{wire.MethodTasksUpdate, state, state},
		{wire.MethodTasksList, `{"tasks":[` + state + `,` + state + `],"x":4242}`, `{"tasks":[` + state + `,` + state + `],"x":4242}`},
		{wire.MethodResourcesRead, `{"contents":[4242]}`, `{"contents":[4242]}`},
		{wire.MethodResourcesRead, "", "no xxxxx"},
	} {
		reply, want := strings.ReplaceAll(c.reply, "%s", "4242"), strings.ReplaceAll(c.want, "%s", "xxxxx")
		source := bridge.Wrap(below, func(s bridge.Session, _ *bridge.Caller) (bridge.Session, error) {
			return replying{s, reply}, nil
		})
		below.setTools(t, `{"name":"plain","inputSchema":{"type":"object"}}`)
		g := bridge.NewGuard(source, bridge.GuardOptions{Hidden: []string{"customerid"}})
		b := &back{}
		s, err := g.Open(t.Context(), &bridge.Caller{ID: "a", HiddenValue: values("customerid", `4242`), Notify: b.Notify})
		if err != nil {
			t.Fatal(err)
		}
		got := s.Do(t.Context(), &bridge.Request{Method: c.method, Target: "plain"})
		if got.Err != nil {
			got.Result = []byte(got.Err.Message)
		}
		if string(got.Result) != want {
			t.Errorf("%s: got %s, want %s", c.method, got.Result, want)
		}
		below.told(wire.NotificationTaskStatus, []byte(strings.ReplaceAll(state, "%s", "4242")))
		below.told(wire.NotificationMessage, []byte(`{"level":"info","logger":"4242","data":"4242"}`))
		below.told(wire.NotificationToolsChanged, nil)
		want = strings.ReplaceAll(state, "%s", "xxxxx") + ` {"level":"info","logger":"4242","data":"xxxxx"} `
		if got := strings.Join(b.notified, " "); got != want {
			t.Errorf("the client is told %s, want %s", got, want)
		}
		s.Close()
	}
}

// replying is a session with one reply for all requests: an error for the result "".
type replying struct {
	bridge.Session
	result string
}

func (s replying) Do(context.Context, *bridge.Request) bridge.Reply {
	if s.result == "" {
		return bridge.Failed(toolformat.Errorf(toolformat.Unavailable, "no 4242"))
	}
	return bridge.Result([]byte(s.result), nil)
}

// The cause of an error stays what it is, and tells no hidden value.
func TestHiddenCause(t *testing.T) {
	cause := errors.New("no login to 4242")
	source := bridge.Wrap(newStub(t), func(s bridge.Session, _ *bridge.Caller) (bridge.Session, error) {
		return causing{s, cause}, nil
	})
	g := bridge.NewGuard(source, bridge.GuardOptions{Hidden: []string{"customerid"}})
	s, err := g.Open(t.Context(), &bridge.Caller{ID: "a", HiddenValue: values("customerid", `4242`)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got := s.Do(t.Context(), &bridge.Request{Method: wire.MethodResourcesRead, Target: "x"})
	if got.Err == nil || !errors.Is(got.Err.Cause, cause) || got.Err.Cause.Error() != "no login to xxxxx" {
		t.Errorf("got %+v", got.Err)
	}
}

// causing is a session whose requests fail for a cause.
type causing struct {
	bridge.Session
	cause error
}

func (s causing) Do(context.Context, *bridge.Request) bridge.Reply {
	return bridge.Failed(toolformat.Errorf(toolformat.Unavailable, "away").Because(s.cause))
}
