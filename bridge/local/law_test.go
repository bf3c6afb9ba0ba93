package local

import (
	"context"
	"encoding/json"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// request is a call of a tool.
func request(t testing.TB, tool, arguments string) *bridge.Request {
	t.Helper()
	raw := append(wire.AppendString([]byte(`{"name":`), tool), `,"arguments":`+arguments+`}`...)
	params, err := wire.SplitParams(raw)
	if err != nil {
		t.Fatal(err)
	}
	return &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: tool}
}

// through is a tool of a Fake whose arguments go through a command and come back as its
// result before the Fake is called, whose result goes through the command as well.
func through(below bridge.Session, definition toolformat.Tool, echo bridge.Tool) bridge.Tool {
	call := func(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
		r, err := echo.Call(ctx, raw)
		if err != nil {
			return nil, err
		}
		return r.Structured(), nil
	}
	return bridge.Tool{Tool: definition, Timeout: time.Minute, Call: func(ctx context.Context, arguments json.RawMessage) (*toolformat.Result, error) {
		arguments, err := call(ctx, arguments)
		if err != nil {
			return nil, err
		}
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
		result, err := call(ctx, append([]byte(nil), reply.Result...))
		return &toolformat.Result{JSON: result}, err
	}}
}

// TestLaw: a Native of commands keeps the contract of a Source.
func TestLaw(t *testing.T) {
	command := `{"command":["cat"],"maxBytes":100000000,"maxRunning":8}`
	if _, err := exec.LookPath("cat"); err != nil {
		command = spec("cat", `"maxBytes":100000000,"maxRunning":8`)
	}
	sourcetest.Run(t, func(t *testing.T) bridge.Source {
		fake := sourcetest.NewFake()
		below, err := fake.Open(t.Context(), &bridge.Caller{ID: "local"})
		if err != nil {
			t.Fatal(err)
		}
		echo := build(t, open(t, Options{}), command)
		var n *bridge.Native
		tools := func() (all []bridge.Tool) {
			l, err := below.List(context.Background(), bridge.Tools)
			if err != nil {
				t.Error(err)
				return nil
			}
			for _, it := range l.Items {
				all = append(all, through(below, it.Tool(), echo))
			}
			return all
		}
		if n, err = bridge.NewNative(bridge.NativeOptions{}, tools()...); err != nil {
			t.Fatal(err)
		}
		changed, err := fake.Open(t.Context(), &bridge.Caller{ID: "changes", Notify: func(string, []byte) {
			go func() { // the Fake tells of a change while it makes it
				if err := n.Replace(tools()...); err != nil {
					t.Error(err)
				}
			}()
		}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			changed.Close()
			if err := n.Close(); err != nil {
				t.Error(err)
			}
			below.Close()
		})
		return n
	})
}

// TestSideBySide: calls that run at once do not see each other's arguments.
func TestSideBySide(t *testing.T) {
	tool := build(t, open(t, Options{}), spec("argv", "", "{x}"))
	done := make(chan struct{})
	for i := range 12 {
		go func() {
			defer func() { done <- struct{}{} }()
			x := strconv.Itoa(i)
			r, err := tool.Call(t.Context(), json.RawMessage(object(x)))
			if err != nil {
				t.Error(err)
			} else if got := string(r.Structured()); got != `{"argv":["`+x+`"]}` {
				t.Errorf("%s: %s", x, got)
			}
		}()
	}
	for range 12 {
		<-done
	}
}
