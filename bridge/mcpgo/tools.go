package mcpgo

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// ToolsOptions are the settings of AddTools. The zero value works.
type ToolsOptions struct {
	Caller *bridge.Caller // the caller of all calls, whose Notify is not used; nil means an anonymous one
	Log    *slog.Logger   // receives why the tools cannot be brought up to date; nil means no log
}

// Tools are the tools of a source on an mcp-go server. They follow the source's list until Close.
type Tools struct {
	server  *server.MCPServer
	session bridge.Session
	opts    ToolsOptions
	added   map[string][]byte // the definitions by name; owned by update

	changed chan struct{} // holds one when the source's list has changed
	cancel  context.CancelFunc
	wg      sync.WaitGroup
}

// AddTools adds the tools of a source to s. It waits for the source's first list until ctx ends. A
// tool of s with the same name is replaced.
func AddTools(ctx context.Context, s *server.MCPServer, source bridge.Source, opts ToolsOptions) (*Tools, error) {
	t := &Tools{server: s, opts: opts, added: map[string][]byte{}, changed: make(chan struct{}, 1)}
	t.opts.Log = cmp.Or(opts.Log, slog.New(slog.DiscardHandler))
	caller := bridge.Caller{ID: "mcp-go"}
	if opts.Caller != nil {
		caller = *opts.Caller
	}
	caller.Capabilities = nil // the clients of the server share it
	caller.Notify = func(method string, _ []byte) {
		if method == bridge.Tools.Changed() {
			select {
			case t.changed <- struct{}{}:
			default: // update has not yet read the list
			}
		}
	}
	var err error
	if t.session, err = source.Open(ctx, &caller); err != nil {
		return nil, err
	}
	if err := t.update(ctx); err != nil {
		t.session.Close()
		return nil, err
	}
	follow, cancel := context.WithCancel(context.Background())
	t.cancel = cancel
	t.wg.Go(func() { t.follow(follow) })
	return t, nil
}

// Close removes the tools from the server and ends the calls in flight.
func (t *Tools) Close() error {
	t.cancel()
	t.wg.Wait()
	for name := range t.added {
		t.server.DeleteTools(name)
	}
	return t.session.Close()
}

func (t *Tools) follow(ctx context.Context) {
	for {
		select {
		case <-t.changed:
			if err := t.update(ctx); err != nil && ctx.Err() == nil {
				t.opts.Log.Warn("the tools of an mcp-go server are out of date", "reason", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// update makes the server's tools those of the source. Tools that have not changed stay untouched.
func (t *Tools) update(ctx context.Context) (err error) {
	defer t.recovered(&err)
	list, err := t.session.List(ctx, bridge.Tools)
	if err != nil {
		return err
	}
	var tools []server.ServerTool
	listed := map[string]bool{}
	for _, item := range list.Items {
		listed[item.Key] = true
		if bytes.Equal(t.added[item.Key], item.Raw) {
			continue
		}
		tool, err := toolOf(item.Raw)
		if err != nil {
			return fmt.Errorf("tool %s: %w", item.Key, err)
		}
		t.added[item.Key] = item.Raw
		tools = append(tools, server.ServerTool{Tool: tool, Handler: t.call})
	}
	for name := range t.added {
		if !listed[name] {
			delete(t.added, name)
			t.server.DeleteTools(name)
		}
	}
	if len(tools) > 0 {
		t.server.AddTools(tools...)
	}
	return nil
}

// recovered must be deferred: it ends a panic of the source, whose cause goes to the log.
func (t *Tools) recovered(err *error) {
	if p := recover(); p != nil {
		t.opts.Log.Error("the source has panicked", "panic", p, "stack", string(debug.Stack()))
		*err = toolformat.Errorf(toolformat.Internal, "internal error")
	}
}

// toolOf reads a definition. Its schemas stay bytes: mcp-go's types for them are too narrow.
func toolOf(raw []byte) (tool mcp.Tool, err error) {
	err = json.Unmarshal(wire.CutMember(wire.CutMember(raw, "inputSchema"), "outputSchema"), &tool)
	tool.InputSchema, tool.OutputSchema = mcp.ToolInputSchema{}, mcp.ToolOutputSchema{}
	tool.RawInputSchema, tool.RawOutputSchema = wire.Lookup(raw, "inputSchema"), wire.Lookup(raw, "outputSchema")
	return tool, err
}

// call is the handler of each tool.
func (t *Tools) call(ctx context.Context, request mcp.CallToolRequest) (_ *mcp.CallToolResult, err error) {
	defer t.recovered(&err)
	p := request.Params
	raw, err := json.Marshal(mcp.CallToolParams{Name: p.Name, Arguments: p.Arguments, RawArguments: p.RawArguments, Meta: p.Meta})
	if err != nil {
		return nil, err
	}
	params, err := wire.SplitParams(raw)
	if err != nil {
		return nil, err
	}
	reply := t.session.Do(ctx, &bridge.Request{
		Method: wire.MethodToolsCall, Params: &params, Target: p.Name, Back: &notifier{ctx: ctx, server: t.server},
	})
	if reply.Err != nil {
		return nil, reply.Err
	}
	defer reply.Free()
	result := new(mcp.CallToolResult)
	return result, json.Unmarshal(reply.Result, result)
}

// notifier sends what flows back along a call to the mcp-go client that made it.
type notifier struct {
	ctx    context.Context
	server *server.MCPServer
}

// Notify implements bridge.Back. mcp-go drops a notification when its client does not read.
func (n *notifier) Notify(method string, params []byte) {
	var fields map[string]any
	d := json.NewDecoder(bytes.NewReader(params))
	d.UseNumber()
	if d.Decode(&fields) == nil {
		n.server.SendNotificationToClient(n.ctx, method, fields)
	}
}

// Ask implements bridge.Back: the caller has offered nothing that it could be asked.
func (n *notifier) Ask(context.Context, string, []byte) ([]byte, *toolformat.Error) {
	return nil, toolformat.Errorf(toolformat.Unsupported, "the clients of an mcp-go server cannot be asked through it")
}
