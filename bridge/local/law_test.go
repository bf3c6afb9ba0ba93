package local

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"strconv"
	"sync"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// TestLaw: a Native of commands keeps the contract of a Source. The arguments of a call and the
// Fake's result go through a command together and come back unchanged.
func TestLaw(t *testing.T) {
	command := `{"command":["cat"],"maxBytes":100000000,"maxRunning":8}`
	if _, err := exec.LookPath("cat"); err != nil {
		command = spec("cat", `"maxBytes":100000000,"maxRunning":8`)
	}
	sourcetest.Run(t, func(t *testing.T) bridge.Source {
		cat := sourcetest.Tool(t, open(t, Options{}), command)
		return sourcetest.Native(t, func(_ toolformat.Tool, handOn sourcetest.Call) sourcetest.Call {
			return func(ctx context.Context, arguments json.RawMessage) (*toolformat.Result, error) {
				r, err := handOn(ctx, arguments)
				if err != nil {
					return nil, err
				}
				both := wire.SetMember(wire.SetMember([]byte("{}"), "arguments", arguments), "result", r.JSON)
				back, err := cat.Call(ctx, both)
				if err != nil {
					return nil, err
				}
				if got := wire.Lookup(back.Structured(), "arguments"); !bytes.Equal(got, arguments) {
					t.Errorf("the command was sent %.300s and returned %.300s", arguments, got)
				}
				return &toolformat.Result{JSON: wire.Lookup(back.Structured(), "result")}, nil
			}
		})
	})
}

// TestSideBySide: concurrent calls do not see each other's arguments.
func TestSideBySide(t *testing.T) {
	tool := sourcetest.Tool(t, open(t, Options{}), spec("argv", "", "{x}"))
	var calls sync.WaitGroup
	for i := range 12 {
		calls.Go(func() {
			x := strconv.Itoa(i)
			r, err := tool.Call(t.Context(), json.RawMessage(object(x)))
			if err != nil {
				t.Error(err)
			} else if got := string(r.Structured()); got != `{"argv":["`+x+`"]}` {
				t.Errorf("%s: %s", x, got)
			}
		})
	}
	calls.Wait()
}
