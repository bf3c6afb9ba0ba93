package mcpserver

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// The era since 2026-07-28 has no sessions: each request says in its _meta which
// revision it speaks and what its client can do. What a client sees of the source is
// kept between its requests in a view, which all requests of one identity with the same
// capabilities share.

// isModern reports whether a message belongs to that era.
func isModern(m *wire.Message) bool { return m.Params.Get(wire.MetaProtocolVersion) != nil }

// supported are all revisions spoken here, newest first.
func supported() []string { return append([]string{wire.ModernRevision}, wire.Revisions...) }

// modernRequest is a request on its way to the source, which gets only the log messages
// back that it asked for.
type modernRequest struct {
	bridge.Request
	back logBack
}

// modern carries out a request of the modern era. r is the HTTP request that it came
// with, nil on a connection that carries both ways.
func (s *Server) modern(ctx context.Context, vs *views, who identity, m *wire.Message, back bridge.Back, r *http.Request) bridge.Reply {
	if !m.Params.Is(wire.MetaProtocolVersion, wire.ModernRevision) {
		revision, _ := m.Params.Text(wire.MetaProtocolVersion)
		return bridge.Failed(unsupportedVersion(revision))
	}
	capabilities := m.Params.Get(wire.MetaClientCapabilities)
	if len(capabilities) == 0 || capabilities[0] != '{' {
		return invalid("%s: params._meta[%q] is missing or not an object", m.Method, wire.MetaClientCapabilities)
	}
	if len(capabilities) > maxCapabilities {
		return invalid(longCapabilities, m.Method, maxCapabilities)
	}
	v, err := vs.take(ctx, who, capabilities)
	if err != nil {
		return bridge.Failed(err)
	}
	defer vs.leave(v, false)
	kind, lists := bridge.ListKindOf(m.Method)
	route, routed := bridge.Routes(m.Method)
	switch {
	case m.Method == wire.MethodDiscover:
		return discovered(v.source.Do(ctx, &bridge.Request{Method: m.Method}))
	case m.Method == wire.MethodListen:
		return s.listen(ctx, v, m, back)
	case lists:
		return cacheable(modernPage(ctx, v, kind, m))
	case taskMethod(m.Method):
		return vs.task(ctx, v, m)
	case !modernMethod(m.Method):
		return bridge.Failed(toolformat.Errorf(toolformat.Unsupported, "method not found: %.80s", m.Method))
	}
	level := wire.ParseLogLevel(m.Params.Get(wire.MetaLogLevel))
	req := &modernRequest{Request: bridge.Request{Method: m.Method, Params: &m.Params}, back: logBack{back, level}}
	req.Back = &req.back
	if routed {
		var ok bool
		if req.Target, ok = m.Params.Text(route.Key); !ok {
			return invalid("%s: params.%s is missing or not a string", m.Method, route.Key)
		}
	}
	if r != nil && m.Method == wire.MethodToolsCall {
		if err := checkParams(ctx, v, r, &req.Request); err != nil {
			return bridge.Failed(err)
		}
	}
	var reply bridge.Reply
	if v.askable {
		var params *wire.Buffer // the result may lie in it
		reply, params = s.parking.do(ctx, vs, v.key, &req.Request, level)
		defer params.Free()
	} else {
		v.setLevel(ctx, level)
		reply = vs.do(ctx, v, &req.Request)
	}
	if m.Method == wire.MethodResourcesRead {
		return cacheable(reply)
	}
	return complete(reply)
}

// modernMethod reports whether the modern era has a method that the source carries out.
func modernMethod(method string) bool {
	switch method {
	case wire.MethodToolsCall, wire.MethodPromptsGet, wire.MethodResourcesRead, wire.MethodComplete:
		return true
	}
	return false
}

// taskMethod reports whether a method of the modern era is about a task.
func taskMethod(method string) bool {
	switch method {
	case wire.MethodTasksGet, wire.MethodTasksUpdate, wire.MethodTasksCancel:
		return true
	}
	return false
}

func invalid(format string, args ...any) bridge.Reply {
	return bridge.Failed(toolformat.Errorf(toolformat.Invalid, format, args...))
}

// unsupportedVersion is the error for a revision that is not spoken here.
func unsupportedVersion(revision string) *toolformat.Error {
	data, _ := json.Marshal(map[string]any{"supported": supported(), "requested": revision}) // cannot fail: strings
	return remoteStyle(wire.UnsupportedVersion, "unsupported protocol version: "+quote(revision), data)
}

// remoteStyle is an error with a code and data of the specification's own.
func remoteStyle(code int, message string, data []byte) *toolformat.Error {
	whole := wire.AppendError(nil, nil, code, message, data)
	return &toolformat.Error{Code: toolformat.Invalid, Message: message, Raw: wire.Lookup(whole, "error")}
}

// discovered makes the source's account of itself the answer to server/discover.
func discovered(reply bridge.Reply) bridge.Reply {
	if reply.Err != nil {
		return reply
	}
	defer reply.Free()
	versions, _ := json.Marshal(supported()) // cannot fail: strings
	b := append([]byte(`{"supportedVersions":`), versions...)
	for _, key := range []string{"capabilities", "instructions"} {
		if v := wire.Lookup(reply.Result, key); v != nil {
			b = append(append(append(append(b, `,"`...), key...), `":`...), v...)
		}
	}
	b = append(append(append(b, `,"_meta":{"`+mcp.MetaKeyServerInfo+`":`...), wire.Lookup(reply.Result, "serverInfo")...), `}}`...)
	return cacheable(bridge.Result(b, nil))
}

func modernPage(ctx context.Context, v *view, kind bridge.ListKind, m *wire.Message) bridge.Reply {
	l, err := v.source.List(ctx, kind)
	if err != nil {
		return bridge.Failed(toolformat.AsError(err))
	}
	return page(l, m)
}

// logBack lets through the log messages that a request asked for.
type logBack struct {
	bridge.Back
	level wire.LogLevel // the lowest that the request wants; 0 means none
}

func (b *logBack) Notify(method string, params []byte) {
	if method != wire.NotificationMessage || b.level > 0 && b.level.Admits(params) {
		b.Back.Notify(method, params)
	}
}
