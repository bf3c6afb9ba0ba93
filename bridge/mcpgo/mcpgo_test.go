package mcpgo_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/mcpgo"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Both directions at once: the Fake's tools are added to an mcp-go server, which is a source again.
func TestContract(t *testing.T) {
	sourcetest.Contract{Decoded: true}.Run(t, func(t *testing.T) bridge.Source {
		return mcpgo.NewSource(newServer(t, sourcetest.NewFake()))
	})
}

// newServer is an mcp-go server with the tools of a source.
func newServer(t *testing.T, source bridge.Source) *server.MCPServer {
	t.Helper()
	s := server.NewMCPServer("test", "1", server.WithToolCapabilities(true), server.WithLogging())
	tools, err := mcpgo.AddTools(t.Context(), s, source, mcpgo.ToolsOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tools.Close(); err != nil {
			t.Error(err)
		}
		if left := s.ListTools(); len(left) > 0 {
			t.Errorf("tools are left after Close: %v", left)
		}
	})
	return s
}

// backFunc answers the questions that come back along a call.
type backFunc func(method string, params []byte) ([]byte, *toolformat.Error)

func (backFunc) Notify(string, []byte) {}
func (f backFunc) Ask(_ context.Context, method string, params []byte) ([]byte, *toolformat.Error) {
	return f(method, params)
}

// call calls a tool of an mcp-go server through a Source.
func call(t *testing.T, s *server.MCPServer, back bridge.Back, params string) bridge.Reply {
	t.Helper()
	session, err := mcpgo.NewSource(s).Open(t.Context(), &bridge.Caller{ID: "c", Capabilities: []byte(`{"elicitation":{},"sampling":{},"roots":{}}`)})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	p, err := wire.SplitParams([]byte(params))
	if err != nil {
		t.Fatal(err)
	}
	name, _ := wire.Text(p.Get(wire.Name))
	return session.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Params: &p, Target: name, Back: back})
}

// A handler's questions reach the caller of the call.
func TestQuestions(t *testing.T) {
	s := server.NewMCPServer("test", "1")
	s.EnableSampling()
	s.AddTool(mcp.NewTool("ask"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		e, err := s.RequestElicitation(ctx, mcp.ElicitationRequest{Params: mcp.ElicitationParams{Message: "Sure?", RequestedSchema: map[string]any{"type": "object"}}})
		if err != nil {
			return nil, err
		}
		//lint:ignore SA1019 servers of the legacy era still ask for it
		m, err := s.RequestSampling(ctx, mcp.CreateMessageRequest{CreateMessageParams: mcp.CreateMessageParams{MaxTokens: 5}})
		if err != nil {
			return nil, err
		}
		r, err := s.RequestRoots(ctx, mcp.ListRootsRequest{})
		if err != nil {
			return nil, err
		}
		return mcp.NewToolResultText(string(e.Action) + " " + m.Model + " " + r.Roots[0].URI), nil
	})
	var asked []string
	back := backFunc(func(method string, params []byte) ([]byte, *toolformat.Error) {
		asked = append(asked, method)
		switch method {
		case wire.MethodElicit:
			return []byte(`{"action":"decline"}`), nil
		case wire.MethodCreateMessage:
			return []byte(`{"role":"assistant","content":{"type":"text","text":"x"},"model":"m"}`), nil
		}
		return []byte(`{"roots":[{"uri":"file:///r"}]}`), nil
	})
	r := call(t, s, back, `{"name":"ask"}`)
	if got := string(wire.Lookup(r.Result, "content")); r.Err != nil || got != `[{"type":"text","text":"decline m file:///r"}]` {
		t.Errorf("%s, %v (asked %v)", r.Result, r.Err, asked)
	}
	if r = call(t, s, nil, `{"name":"ask"}`); r.Err == nil || !strings.Contains(r.Err.Message, "cannot be asked") {
		t.Errorf("a caller that cannot be asked: %s, %v", r.Result, r.Err)
	}
}

// What a handler sends while nobody reads arrives before its result, and a call that sends nothing
// allocates no queue.
func TestNotifications(t *testing.T) {
	const sent = 900
	s := server.NewMCPServer("test", "1")
	s.AddTool(mcp.NewTool("silent"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("done"), nil
	})
	s.AddTool(mcp.NewTool("report"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range sent {
			if err := s.SendNotificationToClient(ctx, wire.NotificationProgress, map[string]any{"progressToken": "t", "progress": i}); err != nil {
				return nil, err
			}
		}
		return mcp.NewToolResultText("done"), nil
	})
	session, err := mcpgo.NewSource(s).Open(t.Context(), &bridge.Caller{ID: "c"})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	do := func(tool string) *counter {
		back := new(counter)
		params, _ := wire.SplitParams([]byte(`{"name":"` + tool + `"}`))
		if r := session.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: tool, Back: back}); r.Err != nil {
			t.Fatal(r.Err)
		}
		return back
	}
	if got := do("report"); *got != sent {
		t.Errorf("%d notifications, want %d", *got, sent)
	}
	const calls = 100
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range calls {
		do("silent")
	}
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) / calls; got > 16<<10 {
		t.Errorf("a call takes %d bytes", got)
	}
}

// counter counts notifications.
type counter int

func (c *counter) Notify(string, []byte) { *c++ }
func (*counter) Ask(context.Context, string, []byte) ([]byte, *toolformat.Error) {
	return nil, toolformat.Errorf(toolformat.Unsupported, "not asked")
}

// A handler that panics fails its call alone, and what mcp-go says of failures keeps its code.
func TestFailures(t *testing.T) {
	s := server.NewMCPServer("test", "1")
	s.AddTool(mcp.NewTool("panic"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) { panic("secret") })
	s.AddTool(mcp.NewTool("fail"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New("it broke")
	})
	for params, want := range map[string]struct {
		code toolformat.Code
		text string
	}{
		`{"name":"panic"}`: {toolformat.Internal, "internal error"},
		`{"name":"fail"}`:  {toolformat.Internal, "it broke"},
		`{"name":"gone"}`:  {toolformat.NotFound, "gone"},
	} {
		if r := call(t, s, nil, params); r.Err == nil || r.Err.Code != want.code || !strings.Contains(r.Err.Message, want.text) {
			t.Errorf("%s: %s, %+v", params, r.Result, r.Err)
		}
	}
}

// Tools that leave the source leave the server, and a tool whose definition mcp-go cannot hold is
// an error that names it.
func TestToolsFollow(t *testing.T) {
	source := &changing{changed: make(chan func(string, []byte), 1)}
	source.set(t, `{"name":"a","inputSchema":{}}`, `{"name":"b","inputSchema":{"type":"array"}}`)
	s := newServer(t, source)
	if got := names(s); got != "a b" {
		t.Fatal(got)
	}
	added := make(chan string, 10)
	watch(t, s, func() { added <- names(s) })
	source.set(t, `{"name":"b","inputSchema":{"type":"array"}}`, `{"name":"c","inputSchema":{}}`)
	(<-source.changed)(bridge.Tools.Changed(), nil)
	for got := range added {
		if got == "b c" {
			break
		}
	}
	source.set(t, `{"name":"odd","annotations":7}`)
	if _, err := mcpgo.AddTools(t.Context(), server.NewMCPServer("test", "1"), source, mcpgo.ToolsOptions{}); err == nil || !strings.Contains(err.Error(), "tool odd") {
		t.Error(err)
	}
}

// A source that panics fails its call and keeps its tools, and costs the program nothing else.
func TestSourcePanics(t *testing.T) {
	source := &changing{changed: make(chan func(string, []byte), 1)} // its Do panics
	source.set(t, `{"name":"a","inputSchema":{}}`)
	s := server.NewMCPServer("test", "1", server.WithToolCapabilities(true))
	logged := make(lines, 10)
	tools, err := mcpgo.AddTools(t.Context(), s, source, mcpgo.ToolsOptions{Log: slog.New(slog.NewTextHandler(logged, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer tools.Close()
	if r := call(t, s, nil, `{"name":"a"}`); r.Err == nil || r.Err.Code != toolformat.Internal || r.Err.Message != "internal error" {
		t.Errorf("%s, %v", r.Result, r.Err)
	}
	if line := <-logged; !strings.Contains(line, "the source has panicked") {
		t.Errorf("the log says %s", line)
	}
	source.list = nil // to read it panics
	(<-source.changed)(bridge.Tools.Changed(), nil)
	if line := <-logged; !strings.Contains(line, "the source has panicked") || names(s) != "a" {
		t.Errorf("the log says %s, and the tools are %s", line, names(s))
	}
}

// lines has the lines of a log.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// names are the tools of a server.
func names(s *server.MCPServer) string {
	var result struct {
		Result struct{ Tools []struct{ Name string } }
	}
	raw, _ := json.Marshal(s.HandleMessage(context.Background(), []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)))
	json.Unmarshal(raw, &result)
	var all []string
	for _, tool := range result.Result.Tools {
		all = append(all, tool.Name)
	}
	return strings.Join(all, " ")
}

// watch calls f each time that the list of a server has changed.
func watch(t *testing.T, s *server.MCPServer, f func()) {
	t.Helper()
	session, err := mcpgo.NewSource(s).Open(t.Context(), &bridge.Caller{ID: "w", Notify: func(string, []byte) { f() }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
}

// changing is a source whose list a test sets.
type changing struct {
	bridge.Session
	list    *bridge.List
	changed chan func(string, []byte)
}

func (c *changing) set(t *testing.T, definitions ...string) {
	var items []bridge.Item
	for _, d := range definitions {
		item, err := bridge.NewItem(bridge.Tools, []byte(d))
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, item)
	}
	c.list = bridge.NewList(bridge.Tools, items)
}

func (c *changing) Open(_ context.Context, caller *bridge.Caller) (bridge.Session, error) {
	select {
	case c.changed <- caller.Notify:
	default:
	}
	return c, nil
}
func (c *changing) List(context.Context, bridge.ListKind) (*bridge.List, error) { return c.list, nil }
func (c *changing) Close() error                                                { return nil }
