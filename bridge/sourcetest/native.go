package sourcetest

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Call carries out a call of a native tool, as bridge.Tool.Call does.
type Call func(ctx context.Context, arguments json.RawMessage) (*toolformat.Result, error)

// Native returns a source of native tools in front of a new Fake. For each of the Fake's tools
// through makes the function that calls it through the kind under test; forward calls the Fake.
func Native(t *testing.T, through func(definition toolformat.Tool, forward Call) Call) *bridge.Native {
	t.Helper()
	n, err := bridge.NewNative(bridge.NativeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	FollowFake(t, func(definitions []toolformat.Tool, forward Call) {
		var tools []bridge.Tool
		for _, d := range definitions {
			tools = append(tools, bridge.Tool{Tool: d, Timeout: time.Minute, Call: through(d, forward)})
		}
		if err := n.Replace(tools...); err != nil {
			t.Error(err)
		}
	})
	return n
}

// FollowFake calls update with the tools of a new Fake, now and after each change until the test
// ends. forward makes the call of a native tool that its ctx belongs to a call of the Fake.
func FollowFake(t *testing.T, update func(definitions []toolformat.Tool, forward Call)) {
	t.Helper()
	fake := NewFake()
	below, err := fake.Open(t.Context(), &bridge.Caller{ID: t.Name()})
	if err != nil {
		t.Fatal(err)
	}
	tell := func() {
		l, err := below.List(context.Background(), bridge.Tools)
		if err != nil {
			t.Error(err)
			return
		}
		var definitions []toolformat.Tool
		for _, it := range l.Items {
			definitions = append(definitions, it.Tool())
		}
		update(definitions, func(ctx context.Context, arguments json.RawMessage) (*toolformat.Result, error) {
			return forward(ctx, below, arguments)
		})
	}
	tell()
	var changes sync.WaitGroup
	changed, err := fake.Open(t.Context(), &bridge.Caller{ID: "changes", Notify: func(string, []byte) {
		changes.Go(tell) // the Fake announces a change while it makes it
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		changed.Close()
		changes.Wait()
		below.Close()
	})
}

// forward makes the call that ctx belongs to in another session, with these arguments.
func forward(ctx context.Context, below bridge.Session, arguments json.RawMessage) (*toolformat.Result, error) {
	req, _ := bridge.RequestOf(ctx)
	raw := append(wire.AppendString([]byte(`{"name":`), req.Target), `,"arguments":`...)
	raw = append(raw, arguments...)
	if token := req.Params.Get(wire.MetaProgressToken); token != nil {
		raw = append(append(append(raw, `,"_meta":{"progressToken":`...), token...), '}')
	}
	params, err := wire.SplitParams(append(raw, '}'))
	if err != nil {
		return nil, err
	}
	reply := below.Do(ctx, &bridge.Request{Method: req.Method, Params: &params, Target: req.Target, Back: req.Back})
	if reply.Err != nil {
		return nil, reply.Err
	}
	defer reply.Free()
	return &toolformat.Result{JSON: bytes.Clone(reply.Result)}, nil
}

// Serve makes a source of tools and returns a function that calls a tool by its name.
func Serve(t testing.TB, tools ...bridge.Tool) func(ctx context.Context, tool, arguments string) bridge.Reply {
	t.Helper()
	n, err := bridge.NewNative(bridge.NativeOptions{}, tools...)
	if err != nil {
		t.Fatal(err)
	}
	session, err := n.Open(t.Context(), &bridge.Caller{ID: t.Name()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		session.Close()
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return func(ctx context.Context, tool, arguments string) bridge.Reply {
		params, err := wire.SplitParams([]byte(`{"arguments":` + arguments + `}`))
		if err != nil {
			t.Errorf("the arguments of a test: %v", err)
		}
		return session.Do(ctx, &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: tool})
	}
}

// Open opens a backend of a kind, which is closed when the test ends. A nil Log discards.
func Open(t testing.TB, kind bridge.NativeKind, cfg bridge.BackendConfig) bridge.Backend {
	t.Helper()
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	b, err := kind.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// Tool makes a tool of a spec. Its name is tool, and its arguments are any object.
func Tool(t testing.TB, b bridge.Backend, spec string) bridge.Tool {
	t.Helper()
	tool, _, err := b.Tool(toolformat.Tool{Name: "tool", InputSchema: json.RawMessage(`{"type":"object"}`)}, json.RawMessage(spec))
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// Do calls a tool as a Native does, without its timeout, and fails the test on an error.
func Do(t testing.TB, tool bridge.Tool, arguments string) *toolformat.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := tool.Call(ctx, json.RawMessage(arguments))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Texts returns the texts of a result, which must be valid.
func Texts(t testing.TB, r *toolformat.Result) (texts []string) {
	t.Helper()
	if err := wire.Valid(bytes.Clone(r.JSON)); err != nil {
		t.Fatalf("the result is not valid: %v: %.500s", err, r.JSON)
	}
	content, err := r.Content()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range content {
		texts = append(texts, c.Text)
	}
	return texts
}
