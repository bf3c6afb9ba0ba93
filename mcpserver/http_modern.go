package mcpserver

import (
	"context"
	"net/http"
	"strconv"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// modernPost reports whether a POST belongs to the modern era, by its body or its
// header.
func modernPost(r *http.Request, m *wire.Message) bool {
	return isModern(m) || r.Header.Get(wire.HeaderProtocol) >= wire.ModernRevision && m.Method != wire.MethodInitialize
}

// postModern answers one request of the modern era. The end of the connection is its
// cancellation (2026-07-28, transports).
func (s *Server) postModern(w http.ResponseWriter, r *http.Request, p bridge.Principal, m *wire.Message, accept accepted) {
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
	defer context.AfterFunc(s.ctx, func() { cancel(errEnded) })()
	x := (&exchange{server: s, w: w, ctx: ctx, accept: accept, cancel: cancel}).begin()
	resp := response{id: m.ID, reply: s.modern(ctx, &s.views, p, m, x, r)}
	if e := resp.reply.Err; e != nil {
		if e.Code == toolformat.Canceled && e.Raw == nil {
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
	header := r.Header.Get(wire.HeaderProtocol)
	revision, ok := m.Params.Text(wire.MetaProtocolVersion)
	switch {
	case header == "":
		return mismatch("the header MCP-Protocol-Version is missing")
	case !ok:
		return toolformat.Errorf(toolformat.Invalid, "%s: params._meta[%q] is missing or not a string", m.Method, wire.MetaProtocolVersion)
	case header != revision:
		return mismatch("the header MCP-Protocol-Version is %s, and the request says %s", quote(header), quote(revision))
	case revision != wire.ModernRevision:
		return unsupportedVersion(revision)
	case r.Header.Get(mcp.HeaderMethod) != m.Method:
		return mismatch("the header Mcp-Method is %s, and the request says %s", quote(r.Header.Get(mcp.HeaderMethod)), quote(m.Method))
	}
	route, routed := bridge.Routes(m.Method)
	if !routed {
		return nil
	}
	name, ok := m.Params.Text(route.Key)
	if !ok {
		return nil // refused where it is carried out
	}
	if got, ok := mcp.DecodeHeaderValue(r.Header.Get(mcp.HeaderName)); !ok || got != name {
		return mismatch("the header Mcp-Name is %s, and the request says %s", quote(r.Header.Get(mcp.HeaderName)), quote(name))
	}
	return nil
}

func mismatch(format string, args ...any) *toolformat.Error {
	e := toolformat.Errorf(toolformat.Invalid, format, args...)
	return remoteStyle(wire.HeaderMismatch, e.Message, nil)
}

// checkParams refuses a call whose Mcp-Param headers say anything else than its
// arguments, as far as its tool has such headers.
func checkParams(ctx context.Context, v *view, r *http.Request, req *bridge.Request) *toolformat.Error {
	l, err := v.source.List(ctx, bridge.Tools)
	if err != nil {
		return nil // the call itself will say why
	}
	it, ok := l.Find(req.Target)
	if !ok || !it.ParamHeaders {
		return nil
	}
	lookup := func(name string) (string, bool) {
		values := r.Header.Values(name)
		if len(values) == 0 {
			return "", false
		}
		return values[0], true
	}
	if err := mcp.ValidateParamHeadersLookup(lookup, &mcp.Tool{RawInputSchema: it.Tool().InputSchema}, req.Params.Raw); err != nil {
		return mismatch("%v", err)
	}
	return nil
}
