package mcpserver

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// The era since 2026-07-28 has no sessions: each request says in its _meta which
// revision it speaks and what its client can do. What a client sees of the source is
// kept between its requests in a view, which all requests of one principal with the
// same capabilities share.

// isModern reports whether a message belongs to that era.
func isModern(m *wire.Message) bool { return m.Params.Get(wire.MetaProtocolVersion) != nil }

// supported are all revisions spoken here, newest first.
func supported() []string { return append([]string{wire.ModernRevision}, wire.Revisions...) }

// views are the open views of one connection, or of all HTTP clients.
type views struct {
	server *Server

	mu     sync.Mutex // guards what follows, and users and leased of the views in it
	open   map[viewKey][]*view
	closed bool
}

type viewKey struct {
	principal    bridge.Principal
	capabilities string
}

// view is what one principal with certain capabilities sees of the source.
type view struct {
	source  bridge.Session
	askable bool // the client offers to be asked something
	users   int
	leased  bool // by a call that may be asked something: nobody else could tell whose question it is
	idle    *time.Timer

	mu        sync.Mutex // guards what follows
	listeners map[*listener]struct{}
	watched   map[string]int // listeners by the resource they are told of
	level     string         // what the source's log was set to
}

const (
	viewIdle = time.Minute // how long a view outlives the last request that used it
	maxViews = 100         // views of one principal with the same capabilities
)

// take finds or opens a view; done must be called when the request has ended. A lease
// is a view that no other call has.
func (vs *views) take(ctx context.Context, key viewKey, lease bool) (v *view, done func(), err *toolformat.Error) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if vs.closed {
		return nil, nil, toolformat.Errorf(toolformat.Unavailable, "the bridge is shutting down")
	}
	for _, one := range vs.open[key] {
		if !lease || !one.leased {
			v = one
			break
		}
	}
	if v == nil {
		if len(vs.open[key]) >= maxViews {
			return nil, nil, toolformat.Errorf(toolformat.Unavailable, "too many calls are under way that may ask something: %d", maxViews)
		}
		var cause error
		if v, cause = vs.server.newView(ctx, key); cause != nil {
			return nil, nil, toolformat.Errorf(toolformat.Unavailable, "the bridge is shutting down").Because(cause)
		}
		if vs.open == nil {
			vs.open = map[viewKey][]*view{}
		}
		vs.open[key] = append(vs.open[key], v)
	}
	v.users++
	v.leased = v.leased || lease
	if v.idle != nil {
		v.idle.Stop()
	}
	return v, func() { vs.leave(key, v, lease) }, nil
}

func (vs *views) leave(key viewKey, v *view, lease bool) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if lease {
		v.leased = false
	}
	if v.users--; v.users == 0 && !vs.closed {
		v.idle = time.AfterFunc(viewIdle, func() { vs.drop(key, v) })
	}
}

// drop closes a view that nobody uses.
func (vs *views) drop(key viewKey, v *view) {
	vs.mu.Lock()
	unused := v.users == 0 && slices.Contains(vs.open[key], v)
	if unused {
		vs.open[key] = slices.DeleteFunc(vs.open[key], func(one *view) bool { return one == v })
		if len(vs.open[key]) == 0 {
			delete(vs.open, key)
		}
	}
	vs.mu.Unlock()
	if unused {
		v.source.Close()
	}
}

// close closes every view.
func (vs *views) close() {
	vs.mu.Lock()
	all := vs.open
	vs.open, vs.closed = nil, true
	for _, some := range all {
		for _, v := range some {
			if v.idle != nil {
				v.idle.Stop()
			}
		}
	}
	vs.mu.Unlock()
	for _, some := range all {
		for _, v := range some {
			v.source.Close()
		}
	}
}

func (s *Server) newView(ctx context.Context, key viewKey) (*view, error) {
	v := &view{askable: string(bridge.Offers([]byte(key.capabilities))) != "{}", listeners: map[*listener]struct{}{}, watched: map[string]int{}}
	source, err := s.source.Open(ctx, &bridge.Caller{
		ID:           "view " + newID(),
		Principal:    key.principal,
		Capabilities: []byte(key.capabilities),
		Modern:       true,
		Notify:       v.notify,
		Ask: func(context.Context, string, []byte) ([]byte, *toolformat.Error) {
			return nil, toolformat.Errorf(toolformat.Unavailable, "a client of revision %s can be asked only along one of its requests", wire.ModernRevision)
		},
	})
	v.source = source
	return v, err
}

// modern carries out a request of the modern era. r is the HTTP request that it came
// with, nil on a connection that carries both ways.
func (s *Server) modern(ctx context.Context, vs *views, p bridge.Principal, m *wire.Message, back bridge.Back, r *http.Request) bridge.Reply {
	if revision, _ := m.Params.Text(wire.MetaProtocolVersion); revision != wire.ModernRevision {
		return bridge.Failed(unsupportedVersion(revision))
	}
	capabilities := m.Params.Get(wire.MetaClientCapabilities)
	if len(capabilities) == 0 || capabilities[0] != '{' {
		return invalid("%s: params._meta[%q] is missing or not an object", m.Method, wire.MetaClientCapabilities)
	}
	key := viewKey{p, string(capabilities)}
	v, done, err := vs.take(ctx, key, false)
	if err != nil {
		return bridge.Failed(err)
	}
	defer done()
	kind, lists := bridge.KindOf(m.Method)
	route, routed := bridge.Routes(m.Method)
	switch {
	case m.Method == wire.MethodDiscover:
		return discovered(v.source.Do(ctx, &bridge.Request{Method: m.Method}))
	case m.Method == wire.MethodListen:
		return s.listen(ctx, v, m, back)
	case lists:
		return cacheable(modernPage(ctx, v, kind, m))
	case !modernMethod(m.Method):
		return bridge.Failed(toolformat.Errorf(toolformat.Unsupported, "method not found: %.80s", m.Method))
	}
	word, _ := m.Params.Text(wire.MetaLogLevel)
	level, ok := logLevels[word]
	if !ok {
		level = len(logLevels) // none
	}
	req := &bridge.Request{Method: m.Method, Params: &m.Params, Back: logBack{back, level}}
	if routed {
		var ok bool
		if req.Target, ok = m.Params.Text(route.Key); !ok {
			return invalid("%s: params.%s is missing or not a string", m.Method, route.Key)
		}
	}
	if r != nil && m.Method == wire.MethodToolsCall {
		if err := checkParams(ctx, v, r, req); err != nil {
			return bridge.Failed(err)
		}
	}
	var reply bridge.Reply
	if v.askable {
		reply = s.parking.do(ctx, p, req, func() (*view, func(), *toolformat.Error) {
			v, done, err := vs.take(ctx, key, true)
			if err == nil {
				v.setLevel(ctx, word)
			}
			return v, done, err
		})
	} else {
		v.setLevel(ctx, word)
		reply = v.source.Do(ctx, req)
	}
	if m.Method == wire.MethodResourcesRead {
		return cacheable(reply)
	}
	return complete(reply)
}

// modernMethod reports whether the modern era has a method that the source carries out.
func modernMethod(method string) bool {
	switch method {
	case wire.MethodToolsCall, wire.MethodPromptsGet, wire.MethodResourcesRead, wire.MethodComplete,
		wire.MethodTasksGet, wire.MethodTasksUpdate, wire.MethodTasksCancel:
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
	b = append(append(append(b, `,"_meta":{"io.modelcontextprotocol/serverInfo":`...), wire.Lookup(reply.Result, "serverInfo")...), `}}`...)
	return cacheable(bridge.Result(b, nil))
}

func modernPage(ctx context.Context, v *view, kind bridge.Kind, m *wire.Message) bridge.Reply {
	l, err := v.source.List(ctx, kind)
	if err != nil {
		return bridge.Failed(toolformat.AsError(err))
	}
	return page(l, m)
}

// complete says that a result is one, as the modern era wants it. A source of that era
// has said so itself.
func complete(reply bridge.Reply) bridge.Reply { return decorate(reply, `"resultType":"complete"`) }

// cacheable says beside it how long a result may be kept: not at all, and by nobody
// else. What a client sees depends on who it is, and changes are notified.
func cacheable(reply bridge.Reply) bridge.Reply {
	return decorate(reply, `"resultType":"complete","ttlMs":0,"cacheScope":"private"`)
}

// decorate puts members before those of a result that has none of them.
func decorate(reply bridge.Reply, members string) bridge.Reply {
	if reply.Err != nil || reply.Modern {
		return reply
	}
	defer reply.Free()
	buf := wire.NewBuffer(len(reply.Result) + len(members) + 1)
	buf.B = append(append(buf.B, '{'), members...)
	rest := reply.Result[1:]
	if next := wire.FirstMember(reply.Result); next > 0 {
		buf.B = append(buf.B, ',')
		rest = reply.Result[next:]
	}
	buf.B = append(buf.B, rest...)
	return bridge.Result(buf.B, buf)
}

// logBack lets through the log messages that a request asked for.
type logBack struct {
	bridge.Back
	level int // the lowest it wants, by logLevels
}

var logLevels = map[string]int{"debug": 0, "info": 1, "notice": 2, "warning": 3, "error": 4, "critical": 5, "alert": 6, "emergency": 7}

// setLevel sets the source's log to the level that a request asks for, when it has not
// been set as low yet.
func (v *view) setLevel(ctx context.Context, word string) {
	level, ok := logLevels[word]
	v.mu.Lock()
	current, set := logLevels[v.level]
	lower := ok && (!set || level < current)
	if lower {
		v.level = word
	}
	v.mu.Unlock()
	if lower {
		params, _ := wire.SplitParams(wire.SetMember([]byte("{}"), "level", wire.AppendString(nil, word)))
		reply := v.source.Do(ctx, &bridge.Request{Method: wire.MethodSetLevel, Params: &params})
		reply.Free()
	}
}

func (b logBack) Notify(method string, params []byte) {
	if method == wire.NotificationMessage {
		word, _ := wire.Text(wire.Lookup(params, "level"))
		if logLevels[word] < b.level {
			return
		}
	}
	b.Back.Notify(method, params)
}
