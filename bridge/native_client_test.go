package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// functions are those of a caller in a test.
type functions struct {
	mu    sync.Mutex // guards what follows
	tools []toolformat.Tool
	call  func(ctx context.Context, name string, arguments json.RawMessage) (*toolformat.Result, error)
}

// page is a caller's functions, each of which says how it was called.
func page(names ...string) *functions {
	f := &functions{call: func(_ context.Context, name string, arguments json.RawMessage) (*toolformat.Result, error) {
		return toolformat.TextResult("page: "+name+string(arguments), false), nil
	}}
	for _, name := range names {
		f.tools = append(f.tools, toolformat.Tool{Name: name})
	}
	return f
}

func (f *functions) Tools() []toolformat.Tool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tools
}

func (f *functions) set(tools ...toolformat.Tool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tools = tools
}

// follow makes them those of a Fake, for sourcetest.Follow.
func (f *functions) follow(definitions []toolformat.Tool, handOn sourcetest.Call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tools = definitions
	f.call = func(ctx context.Context, _ string, arguments json.RawMessage) (*toolformat.Result, error) {
		return handOn(ctx, arguments)
	}
}

func (f *functions) Call(ctx context.Context, name string, arguments json.RawMessage) (*toolformat.Result, error) {
	f.mu.Lock()
	call := f.call
	f.mu.Unlock()
	return call(ctx, name, arguments)
}

// chart is a client function as a definition file has it.
var chart = bridge.Tool{Client: true, Hidden: []string{"customerid"}, Tool: toolformat.Tool{Name: "chart", Description: "Draws.", InputSchema: json.RawMessage(
	`{"type":"object","properties":{"n":{"type":"integer"},"customerid":{"type":"string"}},"required":["n","customerid"],"additionalProperties":false}`)}}

func ping(text string) bridge.Tool {
	return tool("ping", func(context.Context) (*toolformat.Result, error) { return toolformat.TextResult(text, false), nil })
}

func openFor(t *testing.T, source bridge.Source, caller bridge.Caller) bridge.Session {
	t.Helper()
	s, err := source.Open(t.Context(), &caller)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func listed(t *testing.T, s bridge.Session) []string {
	t.Helper()
	l, err := s.List(t.Context(), bridge.Tools)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, it := range l.Items {
		names = append(names, it.Key)
	}
	return names
}

func wantListed(t *testing.T, s bridge.Session, want ...string) {
	t.Helper()
	if got := listed(t, s); !slices.Equal(got, want) {
		t.Errorf("listed are %q, want %q", got, want)
	}
}

const notOffered = " is a client function: the client that calls it carries it out, and this one has not said that it can; call it from one that has (in Go, a Caller with such Functions)"

func textOf(text string) string {
	return string(toolformat.TextResult(text, false).JSON)
}

// A client function is seen and called by the callers that have it.
func TestClientFunction(t *testing.T) {
	n, plain := open(t, bridge.NativeOptions{SharedValue: func(string) ([]byte, bool) { return []byte(`"secret"`), true }}, chart, ping("native"))
	defer n.Close()
	wantListed(t, plain, "ping")
	wantError(t, call(t.Context(), plain, "chart", `{"arguments":{"n":1}}`, nil), toolformat.Unavailable, "tool chart"+notOffered)

	operator := openFor(t, n, bridge.Caller{ID: "operator", Operator: true})
	wantListed(t, operator, "chart", "ping")
	wantError(t, call(t.Context(), operator, "chart", `{"arguments":{"n":1}}`, nil), toolformat.Unavailable, "tool chart"+notOffered)

	other := openFor(t, n, bridge.Caller{ID: "other", Functions: page("ping", "draw")})
	wantListed(t, other, "ping")
	wantResult(t, call(t.Context(), other, "ping", `{}`, nil), textOf("native"))

	able := openFor(t, n, bridge.Caller{ID: "able", Functions: page("chart", "ping")})
	wantListed(t, able, "chart", "ping")
	l, _ := able.List(t.Context(), bridge.Tools)
	if want := `{"name":"chart","description":"Draws.","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}}`; string(l.Items[0].Raw) != want {
		t.Errorf("the definition is %s", l.Items[0].Raw)
	}
	if again, _ := able.List(t.Context(), bridge.Tools); again != l {
		t.Error("the same view is another list")
	}
	wantResult(t, call(t.Context(), able, "chart", `{"arguments":{"n":1.0,"CustomerID":"mine"}}`, nil), textOf(`page: chart{"n":1}`))
	wantResult(t, call(t.Context(), able, "chart", `{"arguments":{}}`, nil), `{"content":[{"type":"text","text":"invalid arguments for tool chart: missing required property \"n\""}],"isError":true}`)
	wantResult(t, call(t.Context(), able, "ping", `{}`, nil), textOf("native"))
}

// What a client answers is not trusted to be a result.
func TestClientAnswers(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer func() (*toolformat.Result, error)
		want   string
		code   toolformat.Code // when want is a message
	}{
		{"nothing", func() (*toolformat.Result, error) { return nil, nil }, `{"content":[]}`, 0},
		{"a result on several lines", func() (*toolformat.Result, error) {
			return &toolformat.Result{JSON: json.RawMessage("{\"content\":\n[]}")}, nil
		}, `{"content": []}`, 0},
		{"an error", func() (*toolformat.Result, error) { return nil, errors.New("no canvas") }, `{"content":[{"type":"text","text":"no canvas"}],"isError":true}`, 0},
		{"gone", func() (*toolformat.Result, error) {
			return nil, toolformat.Errorf(toolformat.Unavailable, "the page has gone")
		}, "the page has gone", toolformat.Unavailable},
		{"a panic", func() (*toolformat.Result, error) { panic("x") }, "internal error", toolformat.Internal},
		{"no JSON", func() (*toolformat.Result, error) {
			return &toolformat.Result{JSON: json.RawMessage(`{"content":[}`)}, nil
		}, "no result", 0},
		{"two values", func() (*toolformat.Result, error) { return &toolformat.Result{JSON: json.RawMessage(`{},{}`)}, nil }, "no result", 0},
		{"no object", func() (*toolformat.Result, error) { return &toolformat.Result{JSON: json.RawMessage(`"x"`)}, nil }, "no result", 0},
		{"complete", func() (*toolformat.Result, error) {
			return &toolformat.Result{JSON: json.RawMessage(`{"resultType":"complete","content":[]}`)}, nil
		}, `{"content":[]}`, 0},
		{"a question", func() (*toolformat.Result, error) {
			return &toolformat.Result{JSON: json.RawMessage(`{"content":[],"resultType":"complete","result\u0054ype":"input_required","inputRequests":{"a":{"method":"elicitation/create"}}}`)}, nil
		}, "no result", 0},
		{"a task", func() (*toolformat.Result, error) {
			return &toolformat.Result{JSON: json.RawMessage(`{"resultType":"task","task":{"taskId":"1"}}`)}, nil
		}, "no result", 0},
		{"no content", func() (*toolformat.Result, error) {
			return &toolformat.Result{JSON: json.RawMessage(`{"content":[{"type":"text"},7]}`)}, nil
		}, "no result", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := page("chart")
			f.call = func(context.Context, string, json.RawMessage) (*toolformat.Result, error) { return c.answer() }
			n, err := bridge.NewNative(bridge.NativeOptions{}, chart)
			if err != nil {
				t.Fatal(err)
			}
			defer n.Close()
			r := call(t.Context(), openFor(t, n, bridge.Caller{Functions: f}), "chart", `{"arguments":{"n":1}}`, nil)
			switch {
			case c.code != 0 || c.want == "internal error":
				wantError(t, r, c.code, c.want)
			case c.want == "no result":
				if want := `{"content":[{"type":"text","text":"the client answered the call of its function chart with an invalid result: `; r.Err != nil || !strings.HasPrefix(string(r.Result), want) {
					t.Errorf("%s, %v", r.Result, r.Err)
				}
			default:
				wantResult(t, r, c.want)
			}
		})
	}
}

// Callers hear of changes that they can see.
func TestClientReplace(t *testing.T) {
	n, err := bridge.NewNative(bridge.NativeOptions{}, ping(""))
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	var plain, able int
	openFor(t, n, bridge.Caller{Notify: func(string, []byte) { plain++ }})
	s := openFor(t, n, bridge.Caller{Functions: page("chart"), Notify: func(string, []byte) { able++ }})
	for _, step := range []struct {
		tools       []bridge.Tool
		plain, able int
		want        []string
	}{
		{[]bridge.Tool{ping("")}, 0, 0, []string{"ping"}},
		{[]bridge.Tool{ping(""), chart}, 0, 1, []string{"ping", "chart"}},
		{[]bridge.Tool{chart}, 1, 2, []string{"chart"}},
	} {
		if err := n.Replace(step.tools...); err != nil {
			t.Fatal(err)
		}
		wantListed(t, s, step.want...)
		if plain != step.plain || able != step.able {
			t.Errorf("told were %d and %d, want %d and %d", plain, able, step.plain, step.able)
		}
	}
}

// Behind a Bridge a client function has one name for all callers.
func TestClientFunctionOfBridge(t *testing.T) {
	upstream, err := bridge.NewNative(bridge.NativeOptions{}, ping("upstream"), tool("chart", func(context.Context) (*toolformat.Result, error) {
		return toolformat.TextResult("upstream", false), nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer upstream.Close()
	native, err := bridge.NewNative(bridge.NativeOptions{}, chart, ping("native"))
	if err != nil {
		t.Fatal(err)
	}
	defer native.Close()
	for _, c := range []struct {
		name    string
		members []bridge.Member
		conf    bridge.Conflict
		plain   []string
		able    []string
		tool    string // the client function
	}{
		{"alone", []bridge.Member{{Name: "n", Source: native}}, 0, []string{"ping"}, []string{"chart", "ping"}, "chart"},
		{"prefixed", []bridge.Member{{Name: "n", Source: native}, {Name: "u", Source: upstream}}, 0,
			[]string{"n__ping", "u__ping", "u__chart"}, []string{"n__chart", "n__ping", "u__ping", "u__chart"}, "n__chart"},
		{"renamed", []bridge.Member{{Name: "n", Source: native, Prefix: new(string), Rename: map[string]string{"chart": "plot"}}, {Name: "u", Source: upstream}}, 0,
			[]string{"ping", "u__ping", "u__chart"}, []string{"plot", "ping", "u__ping", "u__chart"}, "plot"},
		{"before one of its name", []bridge.Member{{Name: "n", Source: native, Prefix: new(string)}, {Name: "u", Source: upstream, Prefix: new(string)}}, 0,
			[]string{"ping", "u__ping", "u__chart"}, []string{"chart", "ping", "u__ping", "u__chart"}, "chart"},
		{"behind one of its name", []bridge.Member{{Name: "u", Source: upstream, Prefix: new(string)}, {Name: "n", Source: native, Prefix: new(string)}}, 0,
			[]string{"ping", "chart", "n__ping"}, []string{"ping", "chart", "n__chart", "n__ping"}, "n__chart"},
		{"filtered", []bridge.Member{{Name: "u", Source: upstream}, {Name: "n", Source: native, Exclude: []string{"chart"}}}, 0,
			[]string{"u__ping", "u__chart", "n__ping"}, []string{"u__ping", "u__chart", "n__ping"}, ""},
		{"left out", []bridge.Member{{Name: "u", Source: upstream, Prefix: new(string)}, {Name: "n", Source: native, Prefix: new(string)}}, bridge.ConflictFirst,
			[]string{"ping", "chart"}, []string{"ping", "chart"}, ""},
		{"a bridge of a bridge", []bridge.Member{{Name: "b", Source: bridge.New(bridge.Options{}, bridge.Member{Name: "n", Source: native, Prefix: new(string)}, bridge.Member{Name: "u", Source: upstream})}, {Name: "u", Source: upstream}}, 0,
			[]string{"b__ping", "b__u__ping", "b__u__chart", "u__ping", "u__chart"}, []string{"b__chart", "b__ping", "b__u__ping", "b__u__chart", "u__ping", "u__chart"}, "b__chart"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := bridge.New(bridge.Options{Conflict: c.conf}, c.members...)
			able := openFor(t, b, bridge.Caller{ID: "able", Functions: page("chart")})
			wantSame(t, listed(t, able), c.able)
			plain, other := openFor(t, b, bridge.Caller{ID: "plain"}), openFor(t, b, bridge.Caller{ID: "other"})
			wantSame(t, listed(t, plain), c.plain)
			wantSame(t, listed(t, openFor(t, b, bridge.Caller{ID: "able too", Functions: page("chart")})), c.able)
			one, _ := plain.List(t.Context(), bridge.Tools)
			if two, _ := other.List(t.Context(), bridge.Tools); one != two {
				t.Error("two callers of the plain view do not share it")
			}
			if c.tool == "" {
				return
			}
			wantSame(t, listed(t, openFor(t, b, bridge.Caller{ID: "operator", Operator: true})), c.able)
			wantResult(t, call(t.Context(), able, c.tool, `{"arguments":{"n":1}}`, nil), textOf(`page: chart{"n":1}`))
			wantError(t, call(t.Context(), plain, c.tool, `{"arguments":{"n":1}}`, nil), toolformat.Unavailable, "tool chart"+notOffered)
		})
	}
}

func wantSame(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
		t.Errorf("listed are %q, want %q", got, want)
	}
}

// A source whose callers carry out the Fake's tools.
type clients struct {
	bridge.Source
	functions *functions
}

func (c clients) Open(ctx context.Context, caller *bridge.Caller) (bridge.Session, error) {
	own := *caller
	own.Functions = c.functions
	return c.Source.Open(ctx, &own)
}

// TestClientLaw: client functions keep the contract of a Source, alone and behind a Bridge.
func TestClientLaw(t *testing.T) {
	law := func(prefix string, over func(*bridge.Native) bridge.Source) func(*testing.T) {
		return func(t *testing.T) {
			sourcetest.Contract{Prefix: prefix}.Run(t, func(t *testing.T) bridge.Source {
				n, err := bridge.NewNative(bridge.NativeOptions{})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := n.Close(); err != nil {
						t.Error(err)
					}
				})
				f := &functions{}
				sourcetest.FollowFake(t, func(definitions []toolformat.Tool, handOn sourcetest.Call) {
					f.follow(definitions, handOn)
					var tools []bridge.Tool
					for _, d := range definitions {
						tools = append(tools, bridge.Tool{Tool: d, Client: true})
					}
					if err := n.Replace(tools...); err != nil {
						t.Error(err)
					}
				})
				return clients{over(n), f}
			})
		}
	}
	t.Run("native", law("", func(n *bridge.Native) bridge.Source { return n }))
	t.Run("bridge", law("n__", func(n *bridge.Native) bridge.Source {
		return bridge.New(bridge.Options{}, bridge.Member{Name: "n", Source: n}, bridge.Member{Name: "beside", Source: sourcetest.NewFake()})
	}))
	t.Run("overlay", law("", func(n *bridge.Native) bridge.Source {
		return bridge.NewOverlay(bridge.New(bridge.Options{}, bridge.Member{Name: "n", Source: n}), bridge.OverlayOptions{})
	}))
}

// The functions of a client get what a tool of this program gets with its context.
func TestClientProgress(t *testing.T) {
	f := page("chart")
	f.call = func(ctx context.Context, _ string, _ json.RawMessage) (*toolformat.Result, error) {
		bridge.Progress(ctx, 1, 2, "half")
		req, caller := bridge.RequestOf(ctx)
		return toolformat.TextResult(req.Target+caller.ID, false), nil
	}
	n, err := bridge.NewNative(bridge.NativeOptions{}, chart)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	l := &listener{}
	wantResult(t, call(t.Context(), openFor(t, n, bridge.Caller{ID: "x", Functions: f}), "chart", `{"arguments":{"n":1},"_meta":{"progressToken":7}}`, l), textOf("chartx"))
	if want := wire.NotificationProgress + ` {"progressToken":7,"progress":1,"total":2,"message":"half"}`; len(l.notes) != 1 || l.notes[0] != want {
		t.Errorf("%q", l.notes)
	}
}
