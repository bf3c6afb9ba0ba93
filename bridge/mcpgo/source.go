package mcpgo

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// queued bounds the notifications of a call, or of a session, that wait to be read.
const queued = 1000

// A Source is a bridge.Source whose tools, prompts and resources are those of an mcp-go server.
type Source struct{ server *server.MCPServer }

// NewSource makes a Source of s, which its owner may go on changing and serving elsewhere.
func NewSource(s *server.MCPServer) *Source { return &Source{server: s} }

// Open implements bridge.Source. The caller becomes a client session of the mcp-go server.
func (s *Source) Open(ctx context.Context, caller *bridge.Caller) (bridge.Session, error) {
	opened := &session{server: s.server, caller: caller}
	opened.client = newClient(server.NewInProcessSession(rand.Text(), nil), nil)
	opened.ctx, opened.cancel = context.WithCancel(context.Background())
	params := []byte(`{"protocolVersion":"` + mcp.LATEST_LEGACY_PROTOCOL_VERSION + `","clientInfo":{"name":"mcpbridge","version":"0"}}`)
	params = wire.SetMember(params, "capabilities", bridge.Offers(caller.Capabilities))
	reply := opened.handle(ctx, opened.client, wire.AppendCall(nil, strconv.AppendInt(nil, opened.calls.Add(1), 10), wire.MethodInitialize, params))
	if reply.Err != nil {
		opened.cancel()
		return nil, fmt.Errorf("mcp-go server: %w", reply.Err)
	}
	opened.discovered = wire.CutMember(reply.Result, "protocolVersion")
	if err := s.server.RegisterSession(ctx, opened.client); err != nil {
		opened.cancel()
		return nil, fmt.Errorf("mcp-go server: %w", err)
	}
	opened.wg.Go(opened.announce)
	return opened, nil
}

// session is a caller's view of the server.
type session struct {
	server     *server.MCPServer
	caller     *bridge.Caller
	client     *client      // registered with the server: receives what it sends to all of its clients
	discovered []byte       // the result of initialize, without the revision
	calls      atomic.Int64 // the id of the last request

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup // of announce

	lists [bridge.ListKinds]atomic.Pointer[bridge.List] // the last ones
}

// announce passes on the notifications that belong to no call.
func (s *session) announce() {
	var notifications <-chan mcp.JSONRPCNotification
	for {
		select {
		case notifications = <-s.client.queue:
		case n := <-notifications:
			if params, err := json.Marshal(n.Params); err == nil && s.caller.Notify != nil {
				s.caller.Notify(n.Method, params)
			}
		case <-s.ctx.Done():
			return
		}
	}
}

// List implements bridge.Session. It asks the server each time, since mcp-go announces a change of
// its list only after it has changed; equal lists are one.
func (s *session) List(ctx context.Context, kind bridge.ListKind) (*bridge.List, error) {
	var items []bridge.Item
	for params := []byte("{}"); params != nil; {
		reply := s.handle(ctx, s.client, wire.AppendCall(nil, strconv.AppendInt(nil, s.calls.Add(1), 10), kind.Method(), params))
		if reply.Err != nil && reply.Err.Code != toolformat.Unsupported { // a server without the capability has an empty list
			return nil, reply.Err
		}
		for raw := range wire.Elements(wire.Lookup(reply.Result, kind.Member())) {
			item, err := bridge.NewItem(kind, raw)
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		}
		params = nil
		if cursor := wire.Lookup(reply.Result, "nextCursor"); cursor != nil {
			params = wire.SetMember([]byte("{}"), "cursor", cursor)
		}
	}
	list := bridge.NewList(kind, items)
	if last := s.lists[kind].Load(); last != nil && last.Equal(list) {
		return last, nil
	}
	s.lists[kind].Store(list)
	return list, nil
}

// Do implements bridge.Session.
func (s *session) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	if req.Method == wire.MethodDiscover {
		return bridge.Result(s.discovered, nil)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	if s.ctx.Err() != nil || ctx.Err() != nil {
		return canceled(ctx)
	}
	c := newClient(s.client.InProcessSession, req.Back)
	edits := req.Edits
	if req.Params != nil {
		if c.token = req.Params.Get(wire.MetaProgressToken); c.token != nil { // mcp-go would read a big number as a float
			edits = append(edits[:len(edits):len(edits)], wire.Edit{Key: wire.MetaProgressToken, Value: []byte(`"call"`)})
		}
	}
	message := wire.AppendRequest(nil, s.calls.Add(1), req.Method, req.Params, edits...)
	replies := make(chan bridge.Reply, 1)
	go func() { replies <- s.handle(ctx, c, message) }()
	var notifications <-chan mcp.JSONRPCNotification
	for {
		select {
		case notifications = <-c.queue:
		case n := <-notifications:
			c.deliver(n)
		case reply := <-replies:
			if notifications == nil && len(c.queue) > 0 {
				notifications = <-c.queue
			}
			for len(notifications) > 0 {
				c.deliver(<-notifications)
			}
			if ctx.Err() != nil {
				return canceled(ctx)
			}
			if reply.Err != nil && req.Method == wire.MethodToolsCall && s.server.GetTool(req.Target) == nil {
				reply.Err.Code = toolformat.NotFound
			}
			return reply
		case <-ctx.Done():
			return canceled(ctx)
		}
	}
}

func canceled(ctx context.Context) bridge.Reply {
	return bridge.Failed(toolformat.Errorf(toolformat.Canceled, "canceled").Because(context.Cause(ctx)))
}

// Close implements bridge.Session. Handlers of calls in flight are canceled, not waited for.
func (s *session) Close() error {
	s.server.UnregisterSession(context.Background(), s.client.SessionID())
	s.cancel()
	s.wg.Wait()
	return nil
}

// handle sends the server one message of the client and returns its reply.
func (s *session) handle(ctx context.Context, c *client, message []byte) (reply bridge.Reply) {
	defer func() {
		if v := recover(); v != nil { // mcp-go recovers only with server.WithRecovery
			reply = bridge.Failed(toolformat.AsError(fmt.Errorf("panic: %v", v)))
		}
	}()
	raw, err := json.Marshal(s.server.HandleMessage(s.server.WithContext(ctx, c), message))
	if err != nil {
		return bridge.Failed(toolformat.AsError(err))
	}
	answer, err := wire.Split(raw)
	if err != nil {
		return bridge.Failed(toolformat.AsError(fmt.Errorf("mcp-go server: %w", err)))
	}
	if answer.Error == nil {
		return bridge.Result(answer.Result, nil)
	}
	return bridge.Failed(bridge.RemoteError(answer.Error))
}

// client is the caller as mcp-go sees it: once for the session, and once for each call, so that
// notifications and questions find the call that they belong to.
type client struct {
	*server.InProcessSession             // the session's: all calls share its id, log level and capabilities
	back                     bridge.Back // of the call; nil outside of calls
	token                    []byte      // the caller's progress token; nil if it has none

	// Most calls send no notification, and a channel for many is large: the first one makes it.
	channel func() chan mcp.JSONRPCNotification
	queue   chan chan mcp.JSONRPCNotification // has the channel, once there is one
}

func newClient(session *server.InProcessSession, back bridge.Back) *client {
	c := &client{InProcessSession: session, back: back, queue: make(chan chan mcp.JSONRPCNotification, 1)}
	c.channel = sync.OnceValue(func() chan mcp.JSONRPCNotification {
		notifications := make(chan mcp.JSONRPCNotification, queued)
		c.queue <- notifications
		return notifications
	})
	return c
}

// NotificationChannel implements server.ClientSession. mcp-go drops what does not fit.
func (c *client) NotificationChannel() chan<- mcp.JSONRPCNotification { return c.channel() }

// deliver passes a notification on to the caller, under its own progress token.
func (c *client) deliver(n mcp.JSONRPCNotification) {
	params, err := json.Marshal(n.Params)
	if err != nil || c.back == nil {
		return
	}
	if n.Method == wire.NotificationProgress && c.token != nil {
		params = wire.SetMember(params, "progressToken", c.token)
	}
	c.back.Notify(n.Method, params)
}

// RequestSampling implements server.SessionWithSampling.
func (c *client) RequestSampling(ctx context.Context, request mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	return ask[mcp.CreateMessageResult](ctx, c.back, wire.MethodCreateMessage, request.CreateMessageParams)
}

// RequestElicitation implements server.SessionWithElicitation.
func (c *client) RequestElicitation(ctx context.Context, request mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	return ask[mcp.ElicitationResult](ctx, c.back, wire.MethodElicit, request.Params)
}

// ListRoots implements server.SessionWithRoots.
func (c *client) ListRoots(ctx context.Context, _ mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	return ask[mcp.ListRootsResult](ctx, c.back, wire.MethodRootsList, struct{}{})
}

// ask sends a question of the server to the caller of the call.
func ask[T any](ctx context.Context, back bridge.Back, method string, params any) (*T, error) {
	if back == nil {
		return nil, toolformat.Errorf(toolformat.Unsupported, "%s: the caller cannot be asked", method)
	}
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	answer, refused := back.Ask(ctx, method, raw)
	if refused != nil {
		return nil, refused
	}
	result := new(T)
	return result, json.Unmarshal(answer, result)
}
