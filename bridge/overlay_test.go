package bridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"weak"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

func define(name, schema string) toolformat.Tool {
	return toolformat.Tool{Name: name, InputSchema: json.RawMessage(schema)}
}

// A caller's own functions are listed to it behind the tools of the bridge, none of which
// they can shadow, and are called with all that holds for native tools.
func TestOverlay(t *testing.T) {
	var log bytes.Buffer
	native, err := bridge.NewNative(bridge.NativeOptions{}, chart, ping("native"))
	if err != nil {
		t.Fatal(err)
	}
	defer native.Close()
	source := bridge.NewOverlay(bridge.New(bridge.Options{}, bridge.Member{Name: "n", Source: native}, bridge.Member{Name: "fake", Source: sourcetest.NewFake(), Include: []string{"echo"}}),
		bridge.OverlayOptions{MaxFunctions: 3, Native: bridge.NativeOptions{MaxResult: 40, Log: slog.New(slog.NewTextHandler(&log, nil))}})

	plain, other := openFor(t, source, bridge.Caller{ID: "plain"}), openFor(t, source, bridge.Caller{ID: "other"})
	wantListed(t, plain, "n__ping", "fake__echo")
	one, _ := plain.List(t.Context(), bridge.Tools)
	if two, _ := other.List(t.Context(), bridge.Tools); one != two {
		t.Error("callers without functions do not share a list")
	}

	f := page("chart", "n__ping", "ping", "scroll", "", "scroll")
	f.tools[3] = define("scroll", `{"type":"object","properties":{"to":{"type":"integer"}},"required":["to"]}`)
	f.tools = append(f.tools, define("broken", `7`), define("third", `{}`), define("fourth", `{}`), define("fifth", `{}`))
	s := openFor(t, source, bridge.Caller{ID: "page", Functions: f})
	wantListed(t, s, "n__chart", "n__ping", "fake__echo", "ping", "scroll", "third")
	l, _ := s.List(t.Context(), bridge.Tools)
	if again, _ := s.List(t.Context(), bridge.Tools); again != l {
		t.Error("the same view is another list")
	}
	for _, want := range []string{
		`caller=page function=n__ping reason="a tool has this name and is shown instead"`,
		`function=scroll reason="the client has another function of this name"`,
		`function="" reason="bridge: a tool has no name`,
		`function=broken reason="bridge: tool broken: input schema: `,
		`function=fourth reason="the client has too many: this function and those after it are left out"`,
	} {
		if strings.Count(log.String(), want) != 1 {
			t.Errorf("the log does not say once %s:\n%s", want, log.String())
		}
	}
	for _, c := range []struct{ tool, arguments, want string }{
		{"ping", `{}`, textOf("page: ping{}")},
		{"n__ping", `{}`, textOf("native")},
		{"n__chart", `{"n":1}`, textOf(`page: chart{"n":1}`)},
		{"scroll", `{"to":"7"}`, textOf(`page: scroll{"to":7}`)},
		{"scroll", `{}`, `{"content":[{"type":"text","text":"invalid arguments for tool scroll: missing required property \"to\""}],"isError":true}`},
		{"third", `{"a":"0123456789012345678901234567890123456789"}`, textOf(`page: third{"a":"01234567890123456789012... [output truncated]`)},
		{"fake__echo", `{"a":1}`, `{"content":[],"structuredContent":{"a":1}}`},
	} {
		wantResult(t, call(t.Context(), s, c.tool, `{"arguments":`+c.arguments+`}`, nil), c.want)
	}
	wantError(t, call(t.Context(), s, "fourth", `{}`, nil), toolformat.NotFound, "unknown tool: fourth")
	wantError(t, call(t.Context(), plain, "scroll", `{}`, nil), toolformat.NotFound, "unknown tool: scroll")
	if r := s.Do(t.Context(), &bridge.Request{Method: wire.MethodDiscover}); r.Err != nil || !bytes.Contains(r.Result, []byte("## fake")) {
		t.Errorf("discover: %s, %v", r.Result, r.Err)
	}
}

// Functions come and go; the next list and the next call know.
func TestOverlayChanges(t *testing.T) {
	native, err := bridge.NewNative(bridge.NativeOptions{}, ping("native"))
	if err != nil {
		t.Fatal(err)
	}
	defer native.Close()
	told := 0
	f := page("a")
	s := openFor(t, bridge.NewOverlay(native, bridge.OverlayOptions{}), bridge.Caller{ID: "page", Functions: f, Notify: func(string, []byte) { told++ }})
	wantResult(t, call(t.Context(), s, "a", `{}`, nil), textOf("page: a{}")) // before any list
	f.set(define("b", `{}`), define("ping", `{}`))
	wantResult(t, call(t.Context(), s, "b", `{}`, nil), textOf("page: b{}"))
	wantError(t, call(t.Context(), s, "a", `{}`, nil), toolformat.NotFound, "unknown tool: a")
	wantListed(t, s, "ping", "b")
	wantResult(t, call(t.Context(), s, "ping", `{}`, nil), textOf("native"))
	if told != 0 {
		t.Errorf("told %d times of what the caller has changed itself", told)
	}
	if err := native.Replace(); err != nil {
		t.Fatal(err)
	}
	wantListed(t, s, "b", "ping")
	wantResult(t, call(t.Context(), s, "ping", `{}`, nil), textOf("page: ping{}"))
	if told != 1 {
		t.Errorf("told %d times of a change below", told)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	wantError(t, call(t.Context(), s, "b", `{}`, nil), toolformat.Canceled, "canceled")
}

// Many lists and calls at once, while the functions change.
func TestOverlayConcurrent(t *testing.T) {
	sourcetest.NoLeaks(t)
	f := page("a")
	s := openFor(t, bridge.NewOverlay(sourcetest.NewFake(), bridge.OverlayOptions{}), bridge.Caller{ID: "page", Functions: f})
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			f.set(define("a", `{}`), define(fmt.Sprint("b", i), `{}`))
			if l, err := s.List(t.Context(), bridge.Tools); err != nil || !slices.ContainsFunc(l.Items, func(it bridge.Item) bool { return it.Key == "a" }) {
				t.Errorf("%v, %v", l, err)
			}
			wantResult(t, call(t.Context(), s, "a", `{}`, nil), textOf("page: a{}"))
			wantResult(t, call(t.Context(), s, "echo", `{"arguments":{"i":1}}`, nil), `{"content":[],"structuredContent":{"i":1}}`)
		})
	}
	wg.Wait()
}

// TestOverlayLaw: an overlay keeps the contract of a Source, for callers without functions
// and for those without any other tools.
func TestOverlayLaw(t *testing.T) {
	t.Run("below", func(t *testing.T) {
		sourcetest.Run(t, func(*testing.T) bridge.Source {
			return bridge.NewOverlay(sourcetest.NewFake(), bridge.OverlayOptions{})
		})
	})
	t.Run("own", func(t *testing.T) {
		sourcetest.Run(t, func(t *testing.T) bridge.Source {
			none, err := bridge.NewNative(bridge.NativeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { none.Close() })
			own := &ownFunctions{clients: clients{bridge.NewOverlay(none, bridge.OverlayOptions{}), &functions{}}}
			sourcetest.FollowFake(t, func(definitions []toolformat.Tool, handOn sourcetest.Call) {
				own.functions.follow(definitions, handOn)
				own.tell()
			})
			return own
		})
	})
}

// ownFunctions is a source whose callers change their functions themselves, and know.
type ownFunctions struct {
	clients
	mu      sync.Mutex // guards what follows
	callers []*bridge.Caller
}

func (o *ownFunctions) Open(ctx context.Context, caller *bridge.Caller) (bridge.Session, error) {
	o.mu.Lock()
	o.callers = append(o.callers, caller)
	o.mu.Unlock()
	return o.clients.Open(ctx, caller)
}

func (o *ownFunctions) tell() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, caller := range o.callers {
		if caller.Notify != nil {
			caller.Notify(bridge.Tools.Changed(), nil)
		}
	}
}

// Callers with the same functions share what is made of them, each for its own list.
func TestOverlayShared(t *testing.T) {
	sourcetest.NoLeaks(t)
	source := bridge.NewOverlay(sourcetest.NewFake(), bridge.OverlayOptions{
		Untrusted: true,
		Reserved:  func(name string) string { return map[bool]string{true: "other"}[strings.HasPrefix(name, "other__")] },
	})
	f := page("a", "other__b", "echo")
	one, two := openFor(t, source, bridge.Caller{ID: "one", Functions: f}), openFor(t, source, bridge.Caller{ID: "two", Functions: f})
	first, _ := one.List(t.Context(), bridge.Tools)
	if second, _ := two.List(t.Context(), bridge.Tools); first != second {
		t.Error("callers with the same functions do not share a list")
	}
	if it, ok := first.Find("a"); !ok || !it.Untrusted {
		t.Errorf("a is %+v", it)
	}
	if _, ok := first.Find("other__b"); ok {
		t.Error("a function with a reserved name is listed")
	}
	f.set()
	if l, _ := two.List(t.Context(), bridge.Tools); len(l.Items) != len(first.Items)-1 {
		t.Errorf("%d tools without functions", len(l.Items))
	}
	f.set(define("a", `{}`))
	if err := one.Close(); err != nil {
		t.Error(err)
	}
	wantError(t, call(t.Context(), one, "a", `{}`, nil), toolformat.Canceled, "canceled")
	wantResult(t, call(t.Context(), two, "a", `{}`, nil), textOf("page: a{}"))
}

// A session does not keep a list that others have replaced since: 1,000 callers that have each listed once, while
// the functions changed, would keep 1,000 lists.
func TestOverlayForgets(t *testing.T) {
	source := bridge.NewOverlay(sourcetest.NewFake(), bridge.OverlayOptions{})
	f := page("a")
	one, two := openFor(t, source, bridge.Caller{ID: "one", Functions: f}), openFor(t, source, bridge.Caller{ID: "two", Functions: f})
	old := func() weak.Pointer[bridge.List] {
		l, err := one.List(t.Context(), bridge.Tools)
		if err != nil {
			t.Fatal(err)
		}
		return weak.Make(l)
	}()
	f.set(define("b", `{}`))
	if _, err := two.List(t.Context(), bridge.Tools); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		runtime.GC()
	}
	if old.Value() != nil {
		t.Error("the list of before is still there")
	}
	if l, _ := one.List(t.Context(), bridge.Tools); l == nil || l.Items[len(l.Items)-1].Key != "b" {
		t.Errorf("listed are %v", l)
	}
}
