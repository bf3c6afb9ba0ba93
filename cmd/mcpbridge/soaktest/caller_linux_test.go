package soaktest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
)

type object = map[string]any

// caller is an MCP client that does one thing at a time.
type caller struct {
	*peer.Client
	process *os.Process // over stdio
	last    int
}

// dial connects over stdio to a command, or over ws, sse or http to the bridge at a URL,
// and initializes.
func dial(ctx context.Context, kind string, target []string) (*caller, error) {
	c := &caller{}
	var err error
	switch kind {
	case "stdio":
		err = c.start(ctx, target)
	case "ws":
		c.Client, err = peer.DialWS(ctx, target[0]+"/ws", nil)
	case "sse":
		c.Client, err = peer.DialSSE(ctx, target[0]+"/sse", nil)
	case "http":
		c.Client = peer.HTTP(ctx, target[0]+"/mcp", nil)
	default:
		err = errors.New("no such carrier: " + kind)
	}
	if err != nil {
		return nil, err
	}
	if err := c.initialize(ctx); err != nil {
		c.End()
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	return c, nil
}

// start runs a command and speaks to it in lines.
func (c *caller) start(ctx context.Context, command []string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), childMode+"=") // this program may be a child itself
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, w := io.Pipe()
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		return err
	}
	c.process = cmd.Process
	ended := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		w.Close()
		ended <- err
	}()
	c.Client = peer.Lines(out, in, func() error {
		in.Close()
		return <-ended
	})
	return nil
}

func (c *caller) initialize(ctx context.Context) error {
	_, err := c.request(ctx, "initialize", object{
		"protocolVersion": "2025-06-18", "capabilities": object{}, "clientInfo": object{"name": "soak", "version": "1"},
	})
	if err != nil {
		return err
	}
	return c.Send([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`), nil)
}

// begin sends a request.
func (c *caller) begin(method string, params any) error {
	c.last++
	message, err := json.Marshal(object{"jsonrpc": "2.0", "id": c.last, "method": method, "params": params})
	if err != nil {
		return err
	}
	return c.Send(message, http.Header{})
}

// request sends a request and returns the result of its response. Other messages are skipped.
func (c *caller) request(ctx context.Context, method string, params any) (json.RawMessage, error) {
	if err := c.begin(method, params); err != nil {
		return nil, err
	}
	for {
		var received peer.Received
		var open bool
		select {
		case received, open = <-c.In:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if !open || received.Err != nil {
			return nil, cmp.Or(received.Err, io.ErrUnexpectedEOF)
		}
		var m struct {
			ID            *int
			Result, Error json.RawMessage
		}
		switch err := json.Unmarshal(received.Raw, &m); {
		case err != nil:
			return nil, err
		case m.ID == nil || *m.ID != c.last:
		case m.Error != nil:
			return nil, fmt.Errorf("%s: %s", method, m.Error)
		default:
			return m.Result, nil
		}
	}
}

// pid calls the tool pid.
func (c *caller) pid(ctx context.Context) (int, error) {
	raw, err := c.request(ctx, "tools/call", object{"name": "pid", "arguments": object{}})
	if err != nil {
		return 0, err
	}
	var result struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(raw, &result); err != nil || len(result.Content) != 1 {
		return 0, fmt.Errorf("the result is %s (%v)", raw, err)
	}
	return strconv.Atoi(result.Content[0].Text)
}
