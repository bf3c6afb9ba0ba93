package mcpserver

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// modernPost reports whether a POST belongs to the modern era, by its body or its
// header.
func modernPost(r *http.Request, m *wire.Message) bool {
	return isModern(m) || r.Header.Get(mcp.HeaderProtocolVersion) >= wire.ModernRevision && m.Method != wire.MethodInitialize
}

// postModern answers one request of the modern era. The end of the connection is its
// cancellation (2026-07-28, transports).
func (s *Server) postModern(w http.ResponseWriter, r *http.Request, who identity, m *wire.Message, accept accepted) {
	if m.Kind() != wire.Request {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if err := checkHeaders(r, m); err != nil {
		resp := response{id: m.ID, reply: bridge.Failed(err), status: modernStatus(err)}
		resp.writeJSON(w)
		return
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	x := (&exchange{server: s, w: w, ctx: r.Context(), accept: accept, cancel: cancel}).begin()
	s.views.enter(x)
	defer s.views.exit(x)
	resp := response{id: m.ID, reply: s.modern(ctx, &s.views, who, m, x, r)}
	if e := resp.reply.Err; e != nil {
		if e.Code == toolformat.Canceled && e.Raw == nil && ctx.Err() != nil {
			x.finish(nil)
			return
		}
		resp.status = modernStatus(e)
	}
	x.finish(&resp)
}

// modernStatus is the HTTP status of an error (SEP-2575).
func modernStatus(e *toolformat.Error) int {
	code := number(e.Code)
	if e.Raw != nil {
		code, _ = strconv.Atoi(string(wire.Lookup(e.Raw, "code")))
	}
	switch code {
	case wire.MethodNotFound:
		return http.StatusNotFound
	case wire.InvalidParams, wire.HeaderMismatch, wire.MissingCapability, wire.UnsupportedVersion:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// checkHeaders refuses a request whose headers say anything else than its body: what a
// proxy lets through must be what is carried out.
func checkHeaders(r *http.Request, m *wire.Message) *toolformat.Error {
	revision, method := line(r, mcp.HeaderProtocolVersion), line(r, mcp.HeaderMethod)
	switch {
	case revision == "":
		return mismatch("the header MCP-Protocol-Version is missing")
	case !m.Params.Is(wire.MetaProtocolVersion, revision):
		said, ok := m.Params.Text(wire.MetaProtocolVersion)
		if !ok {
			return toolformat.Errorf(toolformat.Invalid, "%s: params._meta[%q] is missing or not a string", m.Method, wire.MetaProtocolVersion)
		}
		return mismatch("the header MCP-Protocol-Version is %s, and the request says %s", quote(revision), quote(said))
	case revision != wire.ModernRevision:
		return unsupportedVersion(revision)
	case method != m.Method:
		return mismatch("the header Mcp-Method is %s, and the request says %s", quote(method), quote(m.Method))
	}
	key, task := wire.TaskID, taskMethod(m.Method)
	if route, ok := bridge.Routes(m.Method); ok {
		key = route.Key
	} else if !task {
		return nil
	}
	name, ok := m.Params.Text(key)
	if !ok {
		return nil // refused where it is carried out
	}
	got := line(r, mcp.HeaderName)
	if task && got == "" {
		return nil // the tasks extension asks for it, its clients come without
	}
	if value, ok := wire.DecodeHeader(got); !ok || value != name {
		return mismatch("the header Mcp-Name is %s, and the request says %s", quote(got), quote(name))
	}
	return nil
}

// line is the value of a header, "" when it is not there. One that comes several times
// is the list of its values, as any proxy may make of it.
func line(r *http.Request, header string) string {
	return strings.Join(r.Header.Values(header), ", ")
}

func mismatch(format string, args ...any) *toolformat.Error {
	return remoteStyle(wire.HeaderMismatch, fmt.Sprintf(format, args...), nil)
}

// checkParams refuses a call whose Mcp-Param headers say anything else than its
// arguments, as far as its tool has such headers.
func checkParams(ctx context.Context, v *view, r *http.Request, req *bridge.Request) *toolformat.Error {
	it, ok := v.tool(ctx, req.Target)
	if !ok || !it.ParamHeaders {
		return nil // what is not there, the call itself will say
	}
	headers, _ := wire.ParamHeaders(it.Tool().InputSchema) // clients leave out a tool with bad ones
	for _, h := range headers {
		if err := h.Check(req.Params.Get(wire.Arguments), r.Header.Values(h.Name)); err != nil {
			return remoteStyle(wire.HeaderMismatch, err.Error(), nil)
		}
	}
	return nil
}
