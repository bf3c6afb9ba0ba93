package bridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// TestNativeLaw: tools that hand their calls on to a Fake keep the contract of a Source,
// alone and behind a Bridge.
func TestNativeLaw(t *testing.T) {
	t.Run("native", func(t *testing.T) {
		sourcetest.Run(t, func(t *testing.T) bridge.Source { return nativeFake(t) })
	})
	t.Run("bridge", func(t *testing.T) {
		sourcetest.Contract{Prefix: "n__"}.Run(t, func(t *testing.T) bridge.Source {
			return bridge.New(bridge.Options{}, bridge.Member{Name: "beside", Source: sourcetest.NewFake()}, bridge.Member{Name: "n", Source: nativeFake(t)})
		})
	})
}

// nativeFake is a Native whose tools are those of a Fake.
func nativeFake(t *testing.T) *bridge.Native {
	return sourcetest.Native(t, func(_ toolformat.Tool, handOn sourcetest.Call) sourcetest.Call { return handOn })
}

// tool is a tool without arguments.
func tool(name string, call func(context.Context) (*toolformat.Result, error)) bridge.Tool {
	return bridge.Tool{Tool: toolformat.Tool{Name: name}, Call: func(ctx context.Context, _ json.RawMessage) (*toolformat.Result, error) { return call(ctx) }}
}

// listener is the other end of a call in a test.
type listener struct {
	notes  []string
	answer func(ctx context.Context) ([]byte, *toolformat.Error)
}

func (l *listener) Notify(method string, params []byte) {
	l.notes = append(l.notes, method+" "+string(params))
}

func (l *listener) Ask(ctx context.Context, _ string, _ []byte) ([]byte, *toolformat.Error) {
	return l.answer(ctx)
}

// open makes a Native of tools, and a session on it.
func open(t *testing.T, opts bridge.NativeOptions, tools ...bridge.Tool) (*bridge.Native, bridge.Session) {
	t.Helper()
	n, err := bridge.NewNative(opts, tools...)
	if err != nil {
		t.Fatal(err)
	}
	s, err := n.Open(t.Context(), &bridge.Caller{ID: t.Name()})
	if err != nil {
		t.Fatal(err)
	}
	return n, s
}

// call calls a tool with raw params, in which the name need not stand.
func call(ctx context.Context, s bridge.Session, name, params string, back bridge.Back) bridge.Reply {
	p, err := wire.SplitParams([]byte(params))
	if err != nil {
		panic(err) // a test wrote it
	}
	return s.Do(ctx, &bridge.Request{Method: wire.MethodToolsCall, Params: &p, Target: name, Back: back})
}

func wantError(t *testing.T, r bridge.Reply, code toolformat.Code, message string) {
	t.Helper()
	if r.Err == nil || r.Err.Code != code || r.Err.Message != message {
		t.Errorf("reply %s, error %+v; want %s: %s", r.Result, r.Err, code, message)
	}
}

func wantResult(t *testing.T, r bridge.Reply, want string) {
	t.Helper()
	if r.Err != nil || string(r.Result) != want {
		t.Errorf("reply %s, error %+v; want %s", r.Result, r.Err, want)
	}
}

// A function that does not return is abandoned, and Close names it.
func TestNativeTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, late := make(chan struct{}), &listener{}
		n, s := open(t, bridge.NativeOptions{}, bridge.Tool{
			Tool: toolformat.Tool{Name: "stuck"}, Timeout: 5 * time.Second,
			Call: func(ctx context.Context, _ json.RawMessage) (*toolformat.Result, error) {
				<-release
				bridge.Progress(ctx, 1, 0, "too late")
				req, _ := bridge.RequestOf(ctx)
				if _, err := req.Back.Ask(context.Background(), wire.MethodRootsList, nil); err == nil || err.Code != toolformat.Canceled {
					t.Errorf("a question after the end: %v", err)
				}
				return nil, nil
			}})
		begun := time.Now()
		r := call(t.Context(), s, "stuck", `{"_meta":{"progressToken":1}}`, late)
		wantError(t, r, toolformat.Timeout, "tool stuck timed out: no result or progress for 5s")
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("it took %s", took)
		}
		if err := n.Close(); err == nil || !strings.HasPrefix(err.Error(), "bridge: stuck did not return within 5s") {
			t.Errorf("Close: %v", err)
		}
		if took := time.Since(begun); took != 10*time.Second {
			t.Errorf("with Close it took %s", took)
		}
		close(release)
		if err := n.Close(); err != nil {
			t.Errorf("Close, when all have returned: %v", err)
		}
		if len(late.notes) > 0 {
			t.Errorf("after the end of the call came %q", late.notes)
		}
	})
}

// Progress starts a call's timeout anew, up to a maximum, unless the tool's own is longer. The time of a
// question to the caller counts towards neither.
func TestNativeExtends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		patient := tool("patient", func(ctx context.Context) (*toolformat.Result, error) {
			select {
			case <-time.After(45 * time.Minute):
			case <-ctx.Done():
			}
			return toolformat.TextResult("done", false), ctx.Err()
		})
		patient.Timeout = time.Hour
		n, s := open(t, bridge.NativeOptions{MaxTimeout: 10 * time.Minute}, patient,
			tool("slow", func(ctx context.Context) (*toolformat.Result, error) {
				for i := range 5 {
					time.Sleep(29 * time.Second)
					bridge.Progress(ctx, float64(i+1), 5, "step")
				}
				return toolformat.TextResult("done", false), nil
			}),
			tool("endless", func(ctx context.Context) (*toolformat.Result, error) {
				for ctx.Err() == nil {
					time.Sleep(29 * time.Second)
					bridge.Progress(ctx, 1e21, 0, "")
				}
				return nil, ctx.Err()
			}),
			tool("curious", func(ctx context.Context) (*toolformat.Result, error) {
				req, _ := bridge.RequestOf(ctx)
				answer, err := req.Back.Ask(ctx, wire.MethodElicit, nil)
				if err != nil {
					return nil, err
				}
				time.Sleep(29 * time.Second)
				return &toolformat.Result{JSON: answer}, nil
			}))
		defer n.Close()
		l := &listener{}
		wantResult(t, call(t.Context(), s, "slow", `{"_meta":{"progressToken":"\u00e9"}}`, l), `{"content":[{"type":"text","text":"done"}]}`)
		if want := `notifications/progress {"progressToken":"\u00e9","progress":5,"total":5,"message":"step"}`; len(l.notes) != 5 || l.notes[4] != want {
			t.Errorf("progress %q, want the last to be %s", l.notes, want)
		}
		l = &listener{}
		wantResult(t, call(t.Context(), s, "slow", `{}`, l), `{"content":[{"type":"text","text":"done"}]}`)
		if len(l.notes) > 0 {
			t.Errorf("progress that was not requested: %q", l.notes)
		}
		begun := time.Now()
		wantError(t, call(t.Context(), s, "endless", `{"_meta":{"progressToken":1}}`, nil), toolformat.Timeout, "tool endless timed out after 10m0s")
		if took := time.Since(begun); took != 10*time.Minute {
			t.Errorf("it took %s", took)
		}
		wantResult(t, call(t.Context(), s, "patient", `{}`, nil), `{"content":[{"type":"text","text":"done"}]}`)
		l.answer = func(context.Context) ([]byte, *toolformat.Error) {
			time.Sleep(15 * time.Minute) // longer than the maximum
			return []byte(`{"action":"accept"}`), nil
		}
		wantResult(t, call(t.Context(), s, "curious", `{}`, l), `{"action":"accept"}`)
		wantError(t, call(t.Context(), s, "curious", `{}`, nil), toolformat.Unsupported, "the caller cannot be asked: elicitation/create")
	})
}

// However a function ends, there is one reply, and the cause of a fault stays in the log.
func TestNativeOutcomes(t *testing.T) {
	var log bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	n, s := open(t, bridge.NativeOptions{Log: slog.New(slog.NewTextHandler(&log, nil)), ServerInfo: []byte(`{"name":"x","version":"1"}`)},
		tool("nothing", func(context.Context) (*toolformat.Result, error) { return nil, nil }),
		tool("fails", func(context.Context) (*toolformat.Result, error) { return nil, errors.New("no such city: Rom") }),
		tool("denied", func(context.Context) (*toolformat.Result, error) {
			return nil, errors.Join(errors.New("inside"), toolformat.Errorf(toolformat.Denied, "not for you"))
		}),
		tool("panics", func(context.Context) (*toolformat.Result, error) { panic("secret") }),
		tool("gone", func(context.Context) (*toolformat.Result, error) { runtime.Goexit(); return nil, nil }),
		tool("obedient", func(ctx context.Context) (*toolformat.Result, error) {
			cancel()
			<-ctx.Done()
			return nil, ctx.Err()
		}))
	wantResult(t, call(t.Context(), s, "nothing", ``, nil), `{"content":[]}`)
	wantResult(t, call(t.Context(), s, "fails", `{"arguments":null}`, nil), `{"content":[{"type":"text","text":"no such city: Rom"}],"isError":true}`)
	wantError(t, call(t.Context(), s, "denied", `{"arguments":{}}`, nil), toolformat.Denied, "not for you")
	wantError(t, call(t.Context(), s, "panics", `{}`, nil), toolformat.Internal, "internal error")
	wantError(t, call(t.Context(), s, "gone", `{}`, nil), toolformat.Internal, "internal error")
	wantError(t, call(ctx, s, "obedient", `{}`, nil), toolformat.Canceled, "canceled")
	wantError(t, call(t.Context(), s, "absent", `{}`, nil), toolformat.NotFound, "unknown tool: absent")
	if got := log.String(); !strings.Contains(got, "tool=panics panic=secret stack=") {
		t.Errorf("the log: %s", got)
	}
	wantResult(t, s.Do(t.Context(), &bridge.Request{Method: wire.MethodDiscover}), `{"serverInfo":{"name":"x","version":"1"},"capabilities":{"tools":{"listChanged":true}}}`)
	if l, err := s.List(t.Context(), bridge.Prompts); err != nil || l.Kind != bridge.Prompts || len(l.Items) > 0 {
		t.Errorf("prompts: %v, %v", l, err)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	wantError(t, call(t.Context(), s, "nothing", `{}`, nil), toolformat.Canceled, "canceled")
	if _, err := n.Open(t.Context(), &bridge.Caller{}); toolformat.AsError(err).Code != toolformat.Unavailable {
		t.Errorf("Open after Close: %v", err)
	}
}

// The edits of a Bridge are made before the function sees its request.
func TestNativeEdits(t *testing.T) {
	var got string
	n, s := open(t, bridge.NativeOptions{}, bridge.Tool{Tool: toolformat.Tool{Name: "a"}, Call: func(ctx context.Context, arguments json.RawMessage) (*toolformat.Result, error) {
		req, caller := bridge.RequestOf(ctx)
		got = string(req.Params.Raw) + string(arguments) + caller.ID
		return nil, nil
	}})
	defer n.Close()
	p, err := wire.SplitParams([]byte(`{"name":"x__a","arguments":{"n":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	s.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Params: &p, Target: "a", Edits: []wire.Edit{{Key: wire.Name, Value: []byte(`"a"`)}, {Key: wire.Arguments, Value: []byte(`{"n":2}`)}}})
	if want := `{"name":"a","arguments":{"n":2}}{"n":2}TestNativeEdits`; got != want {
		t.Errorf("the function saw %s, want %s", got, want)
	}
	if req, caller := bridge.RequestOf(t.Context()); req != nil || caller != nil {
		t.Errorf("a request outside of a call: %v %v", req, caller)
	}
	bridge.Progress(t.Context(), 1, 2, "outside")
}

// The memory of a result is freed with its reply, and not when another result is the reply.
func TestNativeMemory(t *testing.T) {
	for text, isFreed := range map[string]bool{"short": true, "longer than the limit of characters": false} {
		memory := wire.NewBuffer(100)
		memory.B = append(wire.AppendString(append(memory.B, `{"content":[{"type":"text","text":`...), text), `}]}`...)
		want := string(memory.B)
		_, s := open(t, bridge.NativeOptions{MaxResult: 10}, tool("t", func(context.Context) (*toolformat.Result, error) {
			return &toolformat.Result{JSON: memory.B, Memory: memory}, nil
		}))
		params, err := wire.SplitParams([]byte(`{"name":"t"}`))
		if err != nil {
			t.Fatal(err)
		}
		reply := s.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: "t"})
		if memory.B == nil || isFreed != (string(reply.Result) == want) {
			t.Errorf("%s: %s, %v, want %s", text, reply.Result, reply.Err, want)
		}
		if reply.Free(); (memory.B == nil) != isFreed {
			t.Errorf("%s: freed: %v", text, memory.B == nil)
		}
	}
}

// freed is memory that is not wire's.
type freed bool

func (f *freed) Free() { *f = true }

// The memory of a result may be of any kind.
func TestNativeOwnMemory(t *testing.T) {
	var memory freed
	_, s := open(t, bridge.NativeOptions{}, tool("t", func(context.Context) (*toolformat.Result, error) {
		return &toolformat.Result{JSON: json.RawMessage(`{"content":[]}`), Memory: &memory}, nil
	}))
	params, err := wire.SplitParams([]byte(`{"name":"t"}`))
	if err != nil {
		t.Fatal(err)
	}
	reply := s.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: "t"})
	if string(reply.Result) != `{"content":[]}` || memory {
		t.Errorf("%s, %v, freed %v", reply.Result, reply.Err, memory)
	}
	if reply.Free(); !bool(memory) {
		t.Error("not freed")
	}
}

func TestNativeReplace(t *testing.T) {
	call := func(context.Context, json.RawMessage) (*toolformat.Result, error) { return nil, nil }
	a := bridge.Tool{Tool: toolformat.Tool{Name: "a", Description: `says "a"`, InputSchema: json.RawMessage(`{"type":"object","properties":{}}`), OutputSchema: json.RawMessage(`{"type":"object"}`)}, Call: call}
	b := bridge.Tool{Tool: toolformat.Tool{Name: "b", Extra: json.RawMessage(`{"title":"B","name":"b"}`)}, Call: call}
	n, err := bridge.NewNative(bridge.NativeOptions{}, a)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	told := 0
	s, err := n.Open(t.Context(), &bridge.Caller{Notify: func(method string, _ []byte) {
		if told++; method != wire.NotificationToolsChanged {
			t.Errorf("told of %s", method)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		tools []bridge.Tool
		told  int
		want  string
	}{
		{[]bridge.Tool{a}, 0, `{"tools":[{"name":"a","description":"says \"a\"","inputSchema":{"type":"object","properties":{}},"outputSchema":{"type":"object"}}]}`},
		{[]bridge.Tool{b}, 1, `{"tools":[{"title":"B","name":"b"}]}`},
		{nil, 2, `{"tools":[]}`},
	} {
		if err := n.Replace(step.tools...); err != nil {
			t.Fatal(err)
		}
		l, err := s.List(t.Context(), bridge.Tools)
		if err != nil {
			t.Fatal(err)
		}
		if page, _ := l.Page(""); string(page) != step.want || told != step.told {
			t.Errorf("told %d times, now %s; want %d, %s", told, page, step.told, step.want)
		}
	}
	for _, c := range []struct {
		tool bridge.Tool
		want string
	}{
		{bridge.Tool{Call: call, Tool: toolformat.Tool{Description: "nameless"}}, `bridge: a tool has no name (its description is "nameless")`},
		{bridge.Tool{Tool: toolformat.Tool{Name: "x"}}, "bridge: tool x: Call is nil"},
		{a, "bridge: tool a: there is another tool of this name"},
		{bridge.Tool{Call: call, Tool: toolformat.Tool{Name: "x", InputSchema: json.RawMessage(`{`)}}, "bridge: tool x: input schema: unexpected end of input"},
		{bridge.Tool{Call: call, Tool: toolformat.Tool{Name: "x", OutputSchema: json.RawMessage(`7`)}}, "bridge: tool x: output schema: "},
		{bridge.Tool{Call: call, Tool: toolformat.Tool{Name: "x", Extra: json.RawMessage(`{`)}}, "bridge: tool x: its definition is not JSON: "},
		{bridge.Tool{Call: call, Client: true, Tool: toolformat.Tool{Name: "x"}}, "bridge: tool x: Client and Call are mutually exclusive"},
		{bridge.Tool{Call: call, Tool: toolformat.Tool{Name: "x", InputSchema: json.RawMessage(`7`)}}, "bridge: tool x: input schema: "},
		{bridge.Tool{Call: call, Tool: toolformat.Tool{Name: "x", Extra: json.RawMessage(`{"name":"y"}`)}}, `bridge: tool x: its definition has another name: {"name":"y"}`},
	} {
		if err := n.Replace(a, c.tool); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	if l, _ := s.List(t.Context(), bridge.Tools); len(l.Items) != 0 || told != 2 {
		t.Errorf("a refused change has changed the list: %d tools, told %d times", len(l.Items), told)
	}
}
