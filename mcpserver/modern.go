package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// isModern reports whether a message is of the modern era, since revision 2026-07-28: each request
// states its revision and its client's capabilities in its _meta.
func isModern(m *wire.Message) bool { return m.Params.Get(wire.MetaProtocolVersion) != nil }

// modernCall is a request of the modern era and what it came with.
type modernCall struct {
	sender identity
	msg    *wire.Message
	back   bridge.Back
	http   *http.Request // nil on a connection that carries both ways

	repeated bool // it may have run before
}

// respond answers a request of the modern era.
func (p *viewPool) respond(ctx context.Context, c *modernCall) bridge.Reply {
	m := c.msg
	if !m.Params.Is(wire.MetaProtocolVersion, wire.ModernRevision) {
		revision, _ := m.Params.Text(wire.MetaProtocolVersion)
		return bridge.Failed(unsupportedVersion(revision))
	}
	capabilities := m.Params.Get(wire.MetaClientCapabilities)
	if len(capabilities) == 0 || capabilities[0] != '{' {
		return bridge.Failed(invalid("%s: params._meta[%q] is missing or not an object", m.Method, wire.MetaClientCapabilities))
	}
	if err := checkCapabilities(m, capabilities); err != nil {
		return bridge.Failed(err)
	}
	v, err := p.use(ctx, c.sender, capabilities, clientInfo(m.Params.Get(wire.MetaClientInfo)))
	if err != nil {
		return bridge.Failed(err)
	}
	defer p.release(v, false)
	if kind, ok := bridge.ListKindOf(m.Method); ok {
		return listPage(ctx, v.source, kind, m, false)
	}
	switch m.Method {
	case wire.MethodDiscover:
		return discovered(v.source.Do(ctx, &bridge.Request{Method: m.Method}))
	case wire.MethodListen:
		return v.subscriptions.listen(ctx, m, c.back)
	case wire.MethodResourcesRead:
		return p.call(ctx, v, c, cacheable)
	case wire.MethodToolsCall, wire.MethodPromptsGet, wire.MethodComplete:
		return p.call(ctx, v, c, complete)
	}
	switch {
	case isTaskMethod(m.Method):
		return complete(p.doTask(ctx, v, m))
	case legacyMethods[m.Method]:
		return bridge.Failed(methodNotFound(m))
	}
	return p.call(ctx, v, c, complete)
}

// legacyMethods are those of a client that the modern era does not have.
var legacyMethods = map[string]bool{
	wire.MethodInitialize: true, wire.MethodPing: true, wire.MethodSetLevel: true, wire.MethodSubscribe: true,
	wire.MethodUnsubscribe: true, wire.MethodTasksList: true, wire.MethodTasksResult: true,
}

func isTaskMethod(method string) bool {
	return method == wire.MethodTasksGet || method == wire.MethodTasksUpdate || method == wire.MethodTasksCancel
}

// modernRequest is a request on its way to the source.
type modernRequest struct {
	bridge.Request
	logs logFilter
}

// call hands a request to the source and decorates its result.
func (p *viewPool) call(ctx context.Context, v *view, c *modernCall, decorate func(bridge.Reply) bridge.Reply) bridge.Reply {
	level := wire.ParseLogLevel(c.msg.Params.Get(wire.MetaLogLevel))
	req := &modernRequest{bridge.Request{Method: c.msg.Method, Params: &c.msg.Params}, logFilter{c.back, level}}
	req.Back = &req.logs
	if c.http != nil {
		req.Key = keyIn(c.http.Header)
	}
	if err := setTarget(&req.Request); err != nil {
		return bridge.Failed(err)
	}
	if c.repeated && !mayRepeat(ctx, v.source, &req.Request) {
		return bridge.Failed(unknownOutcome(req.Method + " " + req.Target))
	}
	if c.http != nil && req.Method == wire.MethodToolsCall {
		if err := v.checkParamHeaders(ctx, c.http, &req.Request); err != nil {
			return bridge.Failed(err)
		}
	}
	if v.askable {
		reply, params := p.server.parking.do(ctx, p, v.key, &req.Request, level)
		defer params.Free() // the result may lie in it
		return decorate(reply)
	}
	v.lowerLevel(ctx, level)
	if !v.takesTasks || !p.sealsTasks() { // else the id of a task changes
		req.Take, _ = c.back.(bridge.Taker)
	}
	return decorate(p.do(ctx, v, &req.Request))
}

// logFilter passes on the log messages that a request asked for.
type logFilter struct {
	bridge.Back
	level wire.LogLevel // the lowest that the request wants; 0 means none
}

func (f *logFilter) Notify(method string, params []byte) {
	if method != wire.NotificationMessage || f.level > 0 && f.level.Admits(params) {
		f.Back.Notify(method, params)
	}
}

// checkParamHeaders refuses a call whose Mcp-Param headers differ from its arguments, as far as
// its tool has such headers (SEP-2243).
func (v *view) checkParamHeaders(ctx context.Context, r *http.Request, req *bridge.Request) *toolformat.Error {
	it, ok := v.tool(ctx, req.Target)
	if !ok || !it.ParamHeaders {
		return nil // the call itself fails for an unknown tool
	}
	headers, _ := wire.ParamHeaders(it.Tool().InputSchema) // clients leave out a tool with bad ones
	for _, h := range headers {
		if err := h.Check(req.Params.Get(wire.Arguments), r.Header.Values(h.Name)); err != nil {
			return specError(wire.HeaderMismatch, err.Error(), nil)
		}
	}
	return nil
}

// specError returns an MCP-defined code and data, sent verbatim.
func specError(code int, message string, data []byte) *toolformat.Error {
	whole := wire.AppendError(nil, nil, code, message, data)
	return &toolformat.Error{Code: toolformat.Invalid, Message: message, Raw: wire.Lookup(whole, "error")}
}

func unsupportedVersion(revision string) *toolformat.Error {
	data, _ := json.Marshal(map[string]any{"supported": supportedVersions(), "requested": revision}) // cannot fail: strings
	return specError(wire.UnsupportedVersion, fmt.Sprintf("unsupported protocol version: %.40q", revision), data)
}

// supportedVersions lists all revisions that a Server speaks, newest first.
func supportedVersions() []string { return append([]string{wire.ModernRevision}, wire.Revisions...) }

// discovered makes the source's description of itself the result of server/discover.
func discovered(reply bridge.Reply) bridge.Reply {
	if reply.Err != nil {
		return reply
	}
	defer reply.Free()
	own := wire.CutMember(reply.Result, "serverInfo")
	if info := wire.Lookup(reply.Result, "serverInfo"); info != nil {
		meta := wire.Lookup(own, "_meta")
		if meta == nil {
			meta = []byte("{}")
		}
		own = wire.SetMember(own, "_meta", wire.SetMember(meta, mcp.MetaKeyServerInfo, info))
	}
	versions, _ := json.Marshal(supportedVersions()) // cannot fail: strings
	return cacheable(bridge.Result(wire.SetMember(own, "supportedVersions", versions), nil))
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
		resp.writeJSON(w, s.opts().accounts.of(sender.principal))
		return
	}
	if m.Method == wire.MethodListen && !accept.events {
		writeError(w, http.StatusNotAcceptable, m.Method+" opens an event stream: the client must accept text/event-stream")
		return
	}
	own, counted, refused := s.opts().accounts.of(sender.principal), countedAs(m), (*toolformat.Error)(nil)
	switch {
	case !own.take(counted, 1):
		refused = own.exhausted("pending requests", counted)
	case s.finishing.Load() && begins(m): // since post has looked
		own.give(counted, 1)
		refused = unavailable("%v", errFinishing)
	}
	if refused != nil {
		refused.NotRun = true
		resp := response{id: m.ID, reply: bridge.Failed(refused)}
		resp.writeJSON(w, own)
		return
	}
	defer own.give(counted, 1)
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	x := s.beginExchange(&exchange{account: own, id: m.ID, cancel: cancel}, w, r, accept)
	s.views.addPost(r, sender, cancel)
	defer s.views.removePost(r)
	resp := response{id: m.ID}
	if !endedHere(context.Cause(ctx)) {
		resp.reply = s.views.respond(ctx, &modernCall{sender: sender, msg: m, back: x, http: r})
	} else {
		resp.reply = bridge.Failed(&toolformat.Error{Code: toolformat.Canceled, Message: "canceled", NotRun: true})
	}
	if !s.settle(context.Cause(ctx), m, &resp.reply) {
		x.finish(nil)
		return
	}
	if e := resp.reply.Err; e != nil {
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
	case wire.InvalidParams, wire.HeaderMismatch, mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, wire.UnsupportedVersion:
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
		stated, ok := m.Params.Text(wire.MetaProtocolVersion)
		if !ok {
			return invalid("%s: params._meta[%q] is missing or not a string", m.Method, wire.MetaProtocolVersion)
		}
		return mismatch("the header MCP-Protocol-Version is %.40q, but the request has %.40q", revision, stated)
	case revision != wire.ModernRevision:
		return unsupportedVersion(revision)
	case method != m.Method:
		return mismatch("the header Mcp-Method is %.40q, but the request has %.40q", method, m.Method)
	}
	key, task := wire.TaskID, isTaskMethod(m.Method)
	if _, named, ok := bridge.Routes(m.Method); ok {
		key = named
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
