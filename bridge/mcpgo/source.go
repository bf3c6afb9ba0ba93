package mcpgo

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// queued bounds the notifications of a call, or of a session, that wait to be read.
const queued = 4096

// A Source is a bridge.Source whose tools, prompts and resources are those of an mcp-go server.
type Source struct{ server *server.MCPServer }

// NewSource makes a Source of s, which its owner may go on changing and serving elsewhere.
func NewSource(s *server.MCPServer) *Source { return &Source{server: s} }

// Open implements bridge.Source. The caller becomes a client session of the mcp-go server.
func (s *Source) Open(ctx context.Context, caller *bridge.Caller) (bridge.Session, error) {
	o := &session{server: s.server, caller: caller, closed: make(chan struct{})}
	o.client = o.newClient(nil)
	o.ctx, o.cancel = context.WithCancel(context.Background())
	params := []byte(`{"protocolVersion":"` + mcp.LATEST_LEGACY_PROTOCOL_VERSION + `","clientInfo":{"name":"mcpbridge","version":"0"}}`)
	params = wire.SetMember(params, "capabilities", bridge.Offers(caller.Capabilities))
	reply := o.handle(ctx, o.client, wire.AppendCall(nil, 1, wire.MethodInitialize, params))
	if reply.Err != nil {
		o.cancel()
		return nil, fmt.Errorf("mcp-go server: %w", reply.Err)
	}
	o.discovered = wire.CutMember(reply.Result, "protocolVersion")
	if err := s.server.RegisterSession(ctx, o.client); err != nil {
		o.cancel()
		return nil, fmt.Errorf("mcp-go server: %w", err)
	}
	go o.announce()
	return o, nil
}

// session is a caller's view of the server.
type session struct {
	server     *server.MCPServer
	caller     *bridge.Caller
	client     *client // registered with the server: receives what it sends to all of its clients
	discovered []byte  // the result of initialize, without the revision

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	closed chan struct{} // closed when announce has ended

	lists [bridge.ListKinds]atomic.Pointer[bridge.List] // the last ones
}

// announce passes on the notifications that belong to no call.
func (s *session) announce() {
	defer close(s.closed)
	for {
		select {
		case n := <-s.client.notifications:
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
		reply := s.handle(ctx, s.client, wire.AppendCall(nil, 1, kind.Method(), params))
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
	c := s.newClient(req.Back)
	edits := req.Edits
	if req.Params != nil {
		if c.token = req.Params.Get(wire.MetaProgressToken); c.token != nil { // mcp-go would read a big number as a float
			edits = append(edits[:len(edits):len(edits)], wire.Edit{Key: wire.MetaProgressToken, Value: []byte(`"call"`)})
		}
	}
	message := wire.AppendRequest(nil, 1, req.Method, req.Params, edits...)
	replies := make(chan bridge.Reply, 1)
	go func() { replies <- s.handle(ctx, c, message) }()
	for {
		select {
		case n := <-c.notifications:
			c.deliver(n)
		case reply := <-replies:
			for len(c.notifications) > 0 {
				c.deliver(<-c.notifications)
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
	<-s.closed
	return nil
}

// handle has the server handle one message of the client.
func (s *session) handle(ctx context.Context, c *client, message []byte) (reply bridge.Reply) {
	defer func() {
		if v := recover(); v != nil { // mcp-go recovers only with server.WithRecovery
			reply = bridge.Failed(toolformat.Errorf(toolformat.Internal, "internal error").Because(fmt.Errorf("panic: %v", v)))
		}
	}()
	var failed *mcp.JSONRPCErrorDetails
	var result any
	switch m := s.server.HandleMessage(s.server.WithContext(ctx, c), message).(type) {
	case mcp.JSONRPCResponse:
		result = m.Result
	case *mcp.JSONRPCResponse:
		result = m.Result
	case mcp.JSONRPCError:
		failed = &m.Error
	case *mcp.JSONRPCError:
		failed = &m.Error
	default:
		return bridge.Failed(toolformat.Errorf(toolformat.Internal, "internal error").Because(fmt.Errorf("mcp-go answered with a %T", m)))
	}
	if failed == nil {
		raw, err := json.Marshal(result)
		if err != nil {
			return bridge.Failed(toolformat.AsError(err))
		}
		return bridge.Result(raw, nil)
	}
	e := &toolformat.Error{Code: toolformat.Internal, Message: failed.Message}
	e.Raw, _ = json.Marshal(failed)
	switch failed.Code {
	case mcp.INVALID_PARAMS, mcp.INVALID_REQUEST:
		e.Code = toolformat.Invalid
	case mcp.METHOD_NOT_FOUND:
		e.Code = toolformat.Unsupported
	case mcp.RESOURCE_NOT_FOUND:
		e.Code = toolformat.NotFound
	}
	return bridge.Failed(e)
}

// client is the caller as mcp-go sees it: once for the session, and once for each call, so that
// notifications and questions find the call that they belong to.
type client struct {
	*server.InProcessSession
	notifications chan mcp.JSONRPCNotification
	back          bridge.Back // of the call; nil if nobody listens
	token         []byte      // the caller's progress token; nil if it has none
	level         *server.InProcessSession
}

func (s *session) newClient(back bridge.Back) *client {
	c := &client{notifications: make(chan mcp.JSONRPCNotification, queued), back: back}
	c.InProcessSession = server.NewInProcessSessionWithHandlers(rand.Text(), c, c, c)
	if s.client != nil {
		c.level = s.client.InProcessSession
		c.Initialize()
	} else {
		c.level = c.InProcessSession
	}
	return c
}

// NotificationChannel implements server.ClientSession. mcp-go drops what does not fit.
func (c *client) NotificationChannel() chan<- mcp.JSONRPCNotification { return c.notifications }

// SetLogLevel implements server.SessionWithLogging: the level is the session's, for all its calls.
func (c *client) SetLogLevel(level mcp.LoggingLevel) { c.level.SetLogLevel(level) }

// GetLogLevel implements server.SessionWithLogging.
func (c *client) GetLogLevel() mcp.LoggingLevel { return c.level.GetLogLevel() }

// deliver hands a notification to the call, under the caller's own progress token.
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

// CreateMessage implements server.SamplingHandler.
func (c *client) CreateMessage(ctx context.Context, request mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	return ask[mcp.CreateMessageResult](ctx, c.back, wire.MethodCreateMessage, request.CreateMessageParams)
}

// Elicit implements server.ElicitationHandler.
func (c *client) Elicit(ctx context.Context, request mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	return ask[mcp.ElicitationResult](ctx, c.back, wire.MethodElicit, request.Params)
}

// ListRoots implements server.RootsHandler.
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
