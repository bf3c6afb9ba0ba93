package mcpserver

import (
	"context"
	"math"
	"net/http"
	"slices"
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
	return isModern(m) || r.Header.Get(wire.HeaderProtocol) >= wire.ModernRevision && m.Method != wire.MethodInitialize
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
	revision, method := line(r, wire.HeaderProtocol), line(r, mcp.HeaderMethod)
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
	if value, ok := decoded(got); !ok || value != name {
		return mismatch("the header Mcp-Name is %s, and the request says %s", quote(got), quote(name))
	}
	return nil
}

// line is the value of a header, "" when it is not there. One that comes several times
// is the list of its values, as any proxy may make of it.
func line(r *http.Request, header string) string {
	return strings.Join(r.Header.Values(header), ", ")
}

// decoded is what the value of a header means; false when it is not what a client may
// send.
func decoded(value string) (string, bool) {
	for i := range len(value) {
		if c := value[i]; c != '\t' && (c < ' ' || c > '~') {
			return "", false
		}
	}
	return mcp.DecodeHeaderValue(value)
}

func mismatch(format string, args ...any) *toolformat.Error {
	e := toolformat.Errorf(toolformat.Invalid, format, args...)
	return remoteStyle(wire.HeaderMismatch, e.Message, nil)
}

// checkParams refuses a call whose Mcp-Param headers say anything else than its
// arguments, as far as its tool has such headers.
func checkParams(ctx context.Context, v *view, r *http.Request, req *bridge.Request) *toolformat.Error {
	it, ok := v.tool(ctx, req.Target)
	if !ok || !it.ParamHeaders {
		return nil // what is not there, the call itself will say
	}
	for _, h := range paramHeaders(it.Tool().InputSchema, nil) {
		name := strings.Join(h.path, ".")
		argument, once := argument(req.Params.Get(wire.Arguments), h.path)
		absent := argument == nil || string(argument) == "null"
		missing := len(r.Header.Values(h.name)) == 0
		value, ok := decoded(line(r, h.name))
		switch {
		case !once:
			return mismatch("the argument %s, which the header %s repeats, comes twice", quote(name), h.name)
		case absent && !missing:
			return mismatch("the header %s is there, and the argument %s is not", h.name, quote(name))
		case absent:
		case missing:
			return mismatch("the header %s is missing: the argument %s belongs there too", h.name, quote(name))
		case !ok || !says(value, argument):
			return mismatch("the header %s is %s, and the argument %s is %s", h.name, quote(line(r, h.name)), quote(name), quote(string(argument)))
		}
	}
	return nil
}

// paramHeader is a header that repeats the argument at a path of keys.
type paramHeader struct {
	name string
	path []string
}

// paramHeaders are those of an input schema at a path. They stand at properties, of
// properties and so on, nowhere else.
func paramHeaders(schema []byte, path []string) (all []paramHeader) {
	for key, property := range wire.Members(wire.Lookup(schema, "properties")) {
		below := append(slices.Clip(path), key)
		if name, _ := wire.Text(wire.Lookup(property, "x-mcp-header")); name != "" {
			all = append(all, paramHeader{mcp.HeaderParamPrefix + name, below})
		}
		all = append(all, paramHeaders(property, below)...)
	}
	return all
}

// argument is the raw value at a path of keys; false when one of them comes twice:
// servers differ on which they take.
func argument(object []byte, path []string) (value []byte, once bool) {
	once = true
	for _, name := range path {
		value = nil
		for key, raw := range wire.Members(object) {
			if key == name {
				once = once && value == nil
				value = raw
			}
		}
		object = value
	}
	return value, once
}

// safeInteger is the largest integer that every JSON decoder reads as it is.
const safeInteger = 1<<53 - 1

// says reports whether a header means the raw value of an argument. Numbers are compared
// as such.
func says(header string, raw []byte) bool {
	if text, ok := wire.Text(raw); ok {
		return header == text
	}
	if header == string(raw) {
		return raw[0] != '{' && raw[0] != '['
	}
	if strings.Trim(header, "0123456789+-.eE") != "" {
		return false // no number, or one that JSON does not have
	}
	a, err1 := strconv.ParseFloat(header, 64)
	b, err2 := strconv.ParseFloat(string(raw), 64)
	return err1 == nil && err2 == nil && a == b && math.Abs(a) <= safeInteger
}
