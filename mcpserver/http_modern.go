package mcpserver

import (
	"context"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// The headers in which a request of the modern era repeats what its body says, so that
// proxies need not read it (SEP-2243).
const (
	headerMethod = "Mcp-Method"
	headerName   = "Mcp-Name"
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
	x := newExchange(ctx, s, nil, w, accept)
	resp := response{id: m.ID, reply: s.modern(ctx, &s.views, p, m, x)}
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
	case r.Header.Get(headerMethod) != m.Method:
		return mismatch("the header Mcp-Method is %s, and the request says %s", quote(r.Header.Get(headerMethod)), quote(m.Method))
	}
	route, routed := bridge.Routes(m.Method)
	if !routed {
		return nil
	}
	name, ok := m.Params.Text(route.Key)
	if !ok {
		return nil // refused where it is carried out
	}
	if got, ok := decodeHeader(r.Header.Get(headerName)); !ok || got != name {
		return mismatch("the header Mcp-Name is %s, and the request says %s", quote(r.Header.Get(headerName)), quote(name))
	}
	return nil
}

func mismatch(format string, args ...any) *toolformat.Error {
	e := toolformat.Errorf(toolformat.Invalid, format, args...)
	return remoteStyle(wire.HeaderMismatch, e.Message, nil)
}

// decodeHeader reads a header value that may be base64, as values are that a header
// cannot hold.
func decodeHeader(value string) (string, bool) {
	encoded, ok := strings.CutPrefix(value, "=?base64?")
	if !ok {
		return value, true
	}
	if encoded, ok = strings.CutSuffix(encoded, "?="); !ok {
		return value, true
	}
	b, err := base64.StdEncoding.DecodeString(encoded)
	return string(b), err == nil
}
