package observe_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/observe"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// The wrapper keeps the contract of a Source, alone and around another one, with and without readers.
func TestContract(t *testing.T) {
	for _, c := range []struct {
		name            string
		layers, readers int
	}{{"without readers", 1, 0}, {"with readers", 1, 2}, {"twice", 2, 1}} {
		t.Run(c.name, func(t *testing.T) {
			sourcetest.Run(t, func(t *testing.T) bridge.Source {
				var source bridge.Source = sourcetest.NewFake()
				for range c.layers {
					stream := &observe.Stream{}
					for range c.readers {
						t.Cleanup(stream.Read(observe.Reading{Arguments: true}, func([]observe.Call) {}).Close)
					}
					source = stream.Wrap(source, nil)
				}
				return source
			})
		})
	}
}

// scripted is a source whose sessions answer with a function.
type scripted func(ctx context.Context, req *bridge.Request) bridge.Reply

func (s scripted) Open(context.Context, *bridge.Caller) (bridge.Session, error) {
	return scriptedSession{nil, s}, nil
}

type scriptedSession struct {
	bridge.Session
	do scripted
}

func (s scriptedSession) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	return s.do(ctx, req)
}
func (s scriptedSession) Close() error { return nil }

// caller returns another client that can be asked.
func caller() *bridge.Caller {
	return &bridge.Caller{
		ID: rand.Text(), Principal: bridge.Principal{Name: "ann"},
		Info:         []byte(`{"name":"some-editor","version":"1.2","title":"Some Editor"}`),
		Capabilities: []byte(`{"elicitation":{}}`),
	}
}

func toolsCall(t testing.TB, name, arguments string) *bridge.Request {
	t.Helper()
	params, err := wire.SplitParams([]byte(`{"name":"` + name + `","arguments":` + arguments + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: name}
}

// observed returns the calls that a source makes of requests, in order.
func observed(t *testing.T, reading observe.Reading, source bridge.Source, requests ...*bridge.Request) (all []observe.Call) {
	t.Helper()
	stream := &observe.Stream{}
	reader := stream.Read(reading, func(calls []observe.Call) { all = append(all, calls...) })
	session, err := stream.Wrap(source, nil).Open(t.Context(), caller())
	if err != nil {
		t.Fatal(err)
	}
	for _, req := range requests {
		func() {
			defer func() { _ = recover() }()
			reply := session.Do(t.Context(), req)
			reply.Free()
		}()
	}
	if err := session.Close(); err != nil {
		t.Fatal(err)
	}
	reader.Close()
	return all
}

func TestCall(t *testing.T) {
	source := bridge.New(bridge.Options{},
		bridge.Member{Name: "a", Source: sourcetest.NewFake()},
		bridge.Member{Name: "b", Source: sourcetest.NewFake()})
	reads := &bridge.Request{Method: wire.MethodToolsList}
	describes := &bridge.Request{Method: wire.MethodDiscover}
	calls := observed(t, observe.Reading{Arguments: true}, source, reads, describes,
		toolsCall(t, "b__echo", `{"q":"x"}`), toolsCall(t, "a__fail", `{}`), toolsCall(t, "a__error", `{}`),
		toolsCall(t, "c__echo", `{}`), &bridge.Request{Method: "vendor/method"})
	want := []observe.Call{
		{Target: "b__echo", Server: "b", In: 40, Out: 44, Outcome: "ok", Arguments: []byte(`{"q":"x"}`)},
		{Target: "a__fail", Server: "a", In: 33, Out: 116, Outcome: "tool_error"},
		{Target: "a__error", Server: "a", In: 34, Out: 92, Outcome: "server_error", Reason: "this <fails>"},
		{Target: "c__echo", In: 33, Outcome: "not_found", Reason: "unknown tool: c__echo"},
		{Method: "vendor/method", Outcome: "unsupported", Reason: "method not found: vendor/method"},
	}
	if len(calls) != len(want) {
		t.Fatalf("%d calls, want %d: %+v", len(calls), len(want), calls)
	}
	for i, w := range want {
		if w.Method == "" {
			w.Method = wire.MethodToolsCall
		}
		if w.Arguments == nil && w.Target != "" {
			w.Arguments = []byte("{}")
		}
		got := calls[i]
		if got.Caller.Principal != "ann" || got.Caller.Client != "some-editor" || got.Caller.Version != "1.2" || got.Caller.Session != 1 {
			t.Errorf("call %d: its caller is %+v", i, got.Caller)
		}
		if got.Time.IsZero() || got.Took <= 0 {
			t.Errorf("call %d: %v, %v", i, got.Time, got.Took)
		}
		if got.Method != w.Method || got.Target != w.Target || got.Server != w.Server || got.In != w.In || got.Out != w.Out ||
			got.Outcome != w.Outcome || got.Reason != w.Reason || string(got.Arguments) != string(w.Arguments) {
			t.Errorf("call %d:\n%+v\nwant:\n%+v", i, got, w)
		}
	}
}

func TestOutcome(t *testing.T) {
	long := strings.Repeat("x", 100<<10)
	result := func(json string) bridge.Reply { return bridge.Result([]byte(json), nil) }
	modern := func(json string) bridge.Reply {
		r := result(json)
		r.Modern = true
		return r
	}
	for _, c := range []struct {
		reply  bridge.Reply
		want   observe.Outcome
		reason string
	}{
		{result(`{"content":[],"isError":false}`), "ok", ""},
		{result(`{"content":[{"type":"text","text":"{\"isError\":true}"}]}`), "ok", ""},
		{result(`{"structuredContent":{"isError":true}}`), "ok", ""},
		{result(`{"isError" : true,"content":[]}`), "tool_error", ""},
		{result(`{"isError":true,"content":[{"type":"text","text":"` + long + `"}]}`), "tool_error", ""},
		{result(`{"content":[{"type":"text","text":"` + long + `"}],"isError": true}`), "tool_error", ""},
		{result(`{"structuredContent":{"isError":true,"text":"` + long + `"}}`), "ok", ""},
		{result(`{"structuredContent":"` + long + `","isError":true,"content":"` + long + `"}`), "tool_error", ""},
		{result(`{"structuredContent":{"isError":false,"text":"` + long + `"},"isError":true,"_meta":"` + long + `"}`), "tool_error", ""},
		{modern(`{"resultType":"input_required","requestState":"s"}`), "input_required", ""},
		{modern(`{"resultType":"complete","content":[]}`), "ok", ""},
		{result(`{"resultType":"input_required"}`), "ok", ""},
		{bridge.Failed(toolformat.Errorf(toolformat.Denied, "no")), "denied", "no"},
		{bridge.Failed(toolformat.Errorf(toolformat.Canceled, "canceled")), "canceled", "canceled"},
		{bridge.Failed(&toolformat.Error{Code: toolformat.Canceled, Message: "canceled", Cause: context.Canceled}), "canceled", "canceled"},
		{bridge.Failed(toolformat.AsError(errors.New("the cause"))), "internal", "internal error: the cause"},
		{bridge.Failed(bridge.RemoteError([]byte(`{"code":-32000,"message":"m","data":{"code":"timeout"}}`))), "timeout", "m"},
		{bridge.Failed(toolformat.Errorf(toolformat.Invalid, "%s", long)), "invalid", long[:500] + "…"},
		{bridge.Reply{}, "internal", "panic"},
	} {
		source := scripted(func(context.Context, *bridge.Request) bridge.Reply {
			if c.reply.Err == nil && c.reply.Result == nil {
				panic("a bug")
			}
			return c.reply
		})
		calls := observed(t, observe.Reading{}, source, toolsCall(t, "x", "{}"))
		if len(calls) != 1 || calls[0].Outcome != c.want || calls[0].Reason != c.reason {
			t.Errorf("%.100s %v: %+v, want %s %.100s", c.reply.Result, c.reply.Err, calls, c.want, c.reason)
		}
	}
}

// What a caller or a server chooses does not fill the queues.
func TestLongTexts(t *testing.T) {
	long := strings.Repeat("é", 1<<20)
	source := scripted(func(context.Context, *bridge.Request) bridge.Reply {
		return bridge.Failed(toolformat.Errorf(toolformat.NotFound, "%s", long))
	})
	calls := observed(t, observe.Reading{Arguments: true}, source,
		toolsCall(t, long, `{"long":"`+long+`"}`), &bridge.Request{Method: "a" + long}, toolsCall(t, "x", "{\n\"a\":\r\n1}"))
	for _, c := range calls {
		if len(c.Method)+len(c.Target)+len(c.Reason) > 1200 || len(c.Arguments) > 20 || !strings.HasSuffix(c.Reason, "é…") {
			t.Errorf("%d %d %d %d: %.20s", len(c.Method), len(c.Target), len(c.Reason), len(c.Arguments), c.Reason)
		}
	}
	if len(calls) != 3 || string(calls[2].Arguments) != `{ "a":  1}` {
		t.Errorf("%d calls, the last with %s", len(calls), calls[len(calls)-1].Arguments)
	}
}

// back is the other end of a call.
type back struct {
	notes int
	think func() // before it answers
}

func (b *back) Notify(string, []byte) { b.notes++ }

func (b *back) Ask(context.Context, string, []byte) ([]byte, *toolformat.Error) {
	b.think()
	return []byte("{}"), nil
}

func (b *back) Take(part []byte) bool { return len(part) < 100 }

// The time for which a person is asked is told apart, also while two questions overlap.
func TestAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := scripted(func(ctx context.Context, req *bridge.Request) bridge.Reply {
			req.Back.Notify("notifications/progress", nil)
			time.Sleep(time.Second)
			both := make(chan struct{})
			go func() {
				defer close(both)
				time.Sleep(30 * time.Second)
				req.Back.Ask(ctx, wire.MethodElicit, nil)
			}()
			req.Back.Ask(ctx, wire.MethodElicit, nil)
			<-both
			return bridge.Result([]byte("{}"), nil)
		})
		own, req := &back{think: func() { time.Sleep(time.Minute) }}, toolsCall(t, "x", "{}")
		req.Back = own
		calls := observed(t, observe.Reading{}, source, req)
		if c := calls[0]; c.Took != 91*time.Second || c.Asked != 90*time.Second || own.notes != 1 {
			t.Errorf("took %v, asked for %v; %d notifications", c.Took, c.Asked, own.notes)
		}
	})
}

// The first progress is noted, and what the source says of the call's way.
func TestWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := scripted(func(_ context.Context, req *bridge.Request) bridge.Reply {
			for range 3 {
				time.Sleep(time.Second)
				req.Back.Notify(wire.NotificationProgress, nil)
			}
			return bridge.Reply{Result: []byte("{}"), Queued: time.Millisecond, Sent: 20, Received: 30}
		})
		own, req := &back{}, toolsCall(t, "x", `{},"_meta":{"progressToken":1}`)
		req.Back = own
		calls := observed(t, observe.Reading{}, source, req)
		if c := calls[0]; c.First != time.Second || c.Queued != time.Millisecond || c.Sent != 20 || c.Received != 30 || own.notes != 3 {
			t.Errorf("%+v; %d notifications", c, own.notes)
		}
	})
}

// Bytes that were taken before an answer broke off count.
func TestTaken(t *testing.T) {
	source := scripted(func(_ context.Context, req *bridge.Request) bridge.Reply {
		if !req.Take.Take(make([]byte, 60)) || !req.Take.Take(make([]byte, 30)) || req.Take.Take(make([]byte, 200)) {
			t.Error("the parts are not passed on as the taker says")
		}
		return bridge.Failed(toolformat.Errorf(toolformat.Unavailable, "the answer broke off"))
	})
	req := toolsCall(t, "x", "{}")
	req.Take = &back{}
	if calls := observed(t, observe.Reading{}, source, req); calls[0].Out != 90 || calls[0].Outcome != "unavailable" {
		t.Errorf("%+v", calls[0])
	}
}

// Requests about tasks and completions say what they are about.
func TestTarget(t *testing.T) {
	source := scripted(func(context.Context, *bridge.Request) bridge.Reply { return bridge.Result([]byte("{}"), nil) })
	for params, want := range map[string][2]string{
		`{"taskId":"t1"}`:                                    {wire.MethodTasksGet, "t1"},
		`{"ref":{"type":"ref/prompt","name":"p"}}`:           {wire.MethodComplete, "p"},
		`{"ref":{"type":"ref/resource","uri":"file://{p}"}}`: {wire.MethodComplete, "file://{p}"},
		`{"ref":7}`: {wire.MethodComplete, ""},
	} {
		split, err := wire.SplitParams([]byte(params))
		if err != nil {
			t.Fatal(err)
		}
		calls := observed(t, observe.Reading{}, source, &bridge.Request{Method: want[0], Params: &split})
		if calls[0].Target != want[1] {
			t.Errorf("%s: %q, want %q", params, calls[0].Target, want[1])
		}
	}
}

// Hidden values are neither in the arguments, which are those that the caller sent, nor in the reason.
func TestHiddenValues(t *testing.T) {
	const secret = "tenant-4711-secret"
	native, err := bridge.NewNative(bridge.NativeOptions{
		SharedValue: func(string) ([]byte, bool) { return []byte(`"` + secret + `"`), true },
	}, bridge.Tool{
		Tool:   toolformat.Tool{Name: "x", InputSchema: []byte(`{"type":"object","properties":{"q":{"type":"string"},"tenant":{"type":"string"}}}`)},
		Hidden: []string{"tenant"},
		Call: func(_ context.Context, arguments json.RawMessage) (*toolformat.Result, error) {
			if !strings.Contains(string(arguments), secret) {
				t.Errorf("the tool has got %s", arguments)
			}
			return nil, toolformat.Errorf(toolformat.Unavailable, "no such place: %s", arguments).Because(errors.New("as " + secret))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer native.Close()
	calls := observed(t, observe.Reading{Arguments: true}, native, toolsCall(t, "x", `{"q":"y"}`))
	c := calls[0]
	if c.Outcome != "unavailable" || string(c.Arguments) != `{"q":"y"}` || strings.Contains(c.Reason, "4711") || !strings.Contains(c.Reason, "xxxxx") {
		t.Errorf("%s: %s, %s", c.Outcome, c.Reason, c.Arguments)
	}
}
