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

// isModernPost reports whether a POST belongs to the modern era, by its body or its header.
func isModernPost(r *http.Request, m *wire.Message) bool {
	return isModern(m) || r.Header.Get(mcp.HeaderProtocolVersion) >= wire.ModernRevision && m.Method != wire.MethodInitialize
}

// postModern answers a request of the modern era. The end of the connection cancels it
// (2026-07-28, transports).
func (s *Server) postModern(w http.ResponseWriter, r *http.Request, sender identity, m *wire.Message, accept accepted) {
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
	x := s.beginExchange(&exchange{cancel: cancel}, w, r, accept)
	s.views.addPost(r, cancel)
	defer s.views.removePost(r)
	resp := response{id: m.ID, reply: s.views.respond(ctx, &modernCall{sender, m, x, r})}
	if e := resp.reply.Err; e != nil {
		if s.gaveUp(ctx, m, e) {
			x.finish(nil)
			return
		}
		resp.status = modernStatus(e)
	}
	x.finish(&resp)
}

// modernStatus returns the HTTP status of an error (SEP-2575).
func modernStatus(e *toolformat.Error) int {
	code := errorCode(e.Code)
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

// checkHeaders refuses a request whose headers differ from its body: what a proxy lets through must
// be what is carried out.
func checkHeaders(r *http.Request, m *wire.Message) *toolformat.Error {
	revision, method := headerLine(r, mcp.HeaderProtocolVersion), headerLine(r, mcp.HeaderMethod)
	switch {
	case revision == "":
		return mismatch("the header MCP-Protocol-Version is missing")
	case !m.Params.Is(wire.MetaProtocolVersion, revision):
		said, ok := m.Params.Text(wire.MetaProtocolVersion)
		if !ok {
			return invalid("%s: params._meta[%q] is missing or not a string", m.Method, wire.MetaProtocolVersion)
		}
		return mismatch("the header MCP-Protocol-Version is %.40q, but the request has %.40q", revision, said)
	case revision != wire.ModernRevision:
		return unsupportedVersion(revision)
	case method != m.Method:
		return mismatch("the header Mcp-Method is %.40q, but the request has %.40q", method, m.Method)
	}
	key, task := wire.TaskID, isTaskMethod(m.Method)
	if route, ok := bridge.Routes(m.Method); ok {
		key = route.Key
	} else if !task {
		return nil
	}
	name, ok := m.Params.Text(key)
	if !ok {
		return nil // refused where it is carried out
	}
	got := headerLine(r, mcp.HeaderName)
	if task && got == "" {
		return nil // required by the tasks extension, but missing from its clients' requests
	}
	if value, ok := wire.DecodeHeader(got); !ok || value != name {
		return mismatch("the header Mcp-Name is %.40q, but the request has %.40q", got, name)
	}
	return nil
}

// headerLine returns the value of a header, "" without one. A header that occurs several times is
// the list of its values, as any proxy may join them.
func headerLine(r *http.Request, header string) string {
	return strings.Join(r.Header.Values(header), ", ")
}

func mismatch(format string, args ...any) *toolformat.Error {
	return specError(wire.HeaderMismatch, fmt.Sprintf(format, args...), nil)
}
