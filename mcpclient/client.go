package mcpclient

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/scope"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient/internal/h1"
)

// A Client is one MCP server as a bridge.Source. It may be used from many goroutines.
type Client struct {
	cfg  Config
	base scope.Scope    // ends with Close
	wg   sync.WaitGroup // of the links' goroutines

	// The server speaks the modern era, as far as is known.
	modern atomic.Bool
	// The server binds a connection to the era of its first request, as far as is known.
	binds atomic.Bool
	// The serverInfo of the version of the server that does not speak the modern era, if it is known.
	refuses atomic.Pointer[string]
	// The version of the server that does not answer server/discover, or on stdio ends when it is asked that; nil if
	// it is not known.
	silent atomic.Pointer[silence]
	// A connection has been logged, and none has been lost or has failed since.
	up atomic.Bool
	// Empty channels for calls.
	replies sync.Pool
	// The lists of all links.
	kept keptLists
	// What is wrong with the latest list of each kind.
	problems [bridge.ListKinds]atomic.Pointer[[]bridge.Problem]

	mu     sync.Mutex // guards the fields below
	links  map[linkKey]*link
	closed bool

	resumed chan struct{} // closed by Restart; nil unless the client is stopped
}

// SpeaksModern asks the server on its connections whether it speaks the modern era, too. It is for the end of
// their use: some servers end when they are asked that, others do not answer, or take all that follows as of that era.
func (c *Client) SpeaksModern(ctx context.Context) bool {
	c.mu.Lock()
	links := slices.Collect(maps.Values(c.links))
	c.mu.Unlock()
	for _, l := range links {
		conn := l.conn.Load()
		if conn == nil {
			continue
		}
		if conn.modern {
			return true
		}
		if reply, err := conn.askModern(ctx); err == nil {
			reply.Free()
			return true
		}
	}
	return false
}

// New makes a client. It connects when the first session is opened.
func New(cfg Config) *Client {
	cfg.setDefaults()
	cfg.http, cfg.throttle = newTransport(cfg.Roots), &bridge.Throttle{To: cfg.Log, Burst: 20, Every: time.Second / 5}
	cfg.plain = &h1.Pool{Dial: cfg.http.DialContext, IdleTime: idleConnTime}
	c := &Client{cfg: cfg, links: map[linkKey]*link{}}
	c.kept.max, c.kept.lists = max(minKept, 2*cfg.MessageBytes), map[*bridge.List]*keptList{}
	c.modern.Store(cfg.Era == Modern)
	c.base.Context = context.Background()
	c.replies.New = func() any { return make(chan bridge.Reply, 1) }
	return c
}

// Name returns the server's name in the config.
func (c *Client) Name() string { return c.cfg.Name }

// Open gives the caller a session on the link for its key, and starts the link if it is new.
func (c *Client) Open(_ context.Context, caller *bridge.Caller) (bridge.Session, error) {
	key, first := c.key(caller, true), c.key(caller, false)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errors.New(c.cfg.Name + " is closed")
	}
	l := c.links[key]
	if made := c.links[first]; first != key && made != nil && made.serves(caller) {
		l = made // when the server's era was not known
	}
	if old := c.links[key.ofEra(true)]; l == nil && c.legacyOnly(&key) && old != nil {
		l = old // made when it was not known
	}
	if l == nil {
		l = newLink(c, key, caller)
		l.vendor, l.via = key.own && caller.Only && !caller.Modern, caller.Info
		if key.owner != "" {
			l.principal = caller.Principal.Name
		}
		c.links[key] = l
		c.wg.Go(l.supervise)
	}
	s := &session{caller: caller, done: make(chan struct{})}
	l.addSession(s)
	return s, nil
}

// Close ends every link and waits until they have ended, child processes included.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.base.Cancel(nil)
	c.wg.Wait()
	c.cfg.plain.Close() // first: it waits for connections that come back
	c.cfg.http.CloseIdleConnections()
	return nil
}

// Status returns the state of the oldest link.
func (c *Client) Status() Status {
	c.mu.Lock()
	var oldest *link
	for _, l := range c.links {
		if oldest == nil || l.born.Before(oldest.born) {
			oldest = l
		}
	}
	c.mu.Unlock()
	if oldest == nil {
		return Status{State: Idle}
	}
	return oldest.status()
}

// List implements bridge.Session.
func (s *session) List(ctx context.Context, kind bridge.ListKind) (list *bridge.List, err error) {
	s.onLink(func(l *link) bool {
		list, err = l.list(ctx, kind)
		if !s.listed.Swap(true) && err == nil {
			list, err = l.list(ctx, kind) // a change in between was not notified
		}
		return err == nil
	})
	return list, err
}

// Do implements bridge.Session.
func (s *session) Do(ctx context.Context, req *bridge.Request) (reply bridge.Reply) {
	s.onLink(func(l *link) bool {
		reply = l.do(ctx, req, s)
		return reply.Err == nil
	})
	return reply
}

// onLink runs f on the session's link. It runs f again if f failed on a link that had no connection,
// and has handed the session over.
func (s *session) onLink(f func(*link) (ok bool)) {
	for l := s.link.Load(); !f(l) && s.link.Load() != l; {
		l = s.link.Load()
	}
}

// do carries out a request of a caller.
func (l *link) do(ctx context.Context, req *bridge.Request, s *session) bridge.Reply {
	switch req.Method {
	case wire.MethodSubscribe, wire.MethodUnsubscribe:
		return l.watch(ctx, req, s)
	case wire.MethodSetLevel:
		return l.setLevel(ctx, req, s)
	case wire.MethodToolsList, wire.MethodPromptsList, wire.MethodResourcesList, wire.MethodTemplatesList:
		kind, _ := bridge.ListKindOf(req.Method)
		return l.reread(ctx, kind, req.Target != "")
	case wire.MethodDiscover:
		if about := l.about.Load(); about != nil && l.cfg.Lazy && !l.isStale() {
			return bridge.Result(*about, nil)
		}
	case wire.MethodTasksGet, wire.MethodTasksResult, wire.MethodTasksCancel, wire.MethodTasksUpdate, wire.MethodTasksList:
		return l.task(ctx, req, s)
	}
	if strings.HasPrefix(req.Method, "notifications/") {
		return l.notifyServer(req)
	}
	reply := l.call(ctx, req, s)
	for range maxLogins {
		if reply.Err == nil || l.cfg.Auth == nil || !l.logIn(ctx, req, s, reply.Err) {
			break
		}
		reply = l.call(ctx, req, s)
	}
	return reply
}

// notifyServer passes on a notification of the caller, unless other callers share the link.
func (l *link) notifyServer(req *bridge.Request) bridge.Reply {
	if c := l.conn.Load(); c != nil && l.key.own {
		var params []byte
		if req.Params != nil {
			params = req.Params.Raw
		}
		c.respond(wire.AppendNotification(nil, req.Method, params))
	}
	return empty()
}

// Close implements bridge.Session. It ends a link of the caller's own; any other link ends
// when it has had no session for the idle time.
func (s *session) Close() error {
	if !s.closed.CompareAndSwap(false, true) {
		return nil
	}
	close(s.done)
	for l := (*link)(nil); l != s.link.Load(); { // again if the link has handed it over meanwhile
		l = s.link.Load()
		for _, c := range l.conns() {
			c.cancelCalls(s)
		}
		l.forget(s)
		l.removeSession(s)
		if l.key.own {
			l.client.drop(l)
		}
	}
	return nil
}

// drop ends a link unless a session is open on it.
func (c *Client) drop(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.links[l.key] == l && len(l.sessions) == 0 {
		delete(c.links, l.key)
		l.ctx.Cancel(nil)
	}
}

// serves reports whether the caller has a session on the link.
func (l *link) serves(caller *bridge.Caller) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range l.sessions {
		if s.caller.ID == caller.ID {
			return true
		}
	}
	return false
}

// key returns the key of the caller's link; known is false for the key as it is before the server's era is
// known. A server of the legacy era can ask only on links of one caller: elsewhere it would be unknown
// which caller is meant.
func (c *Client) key(caller *bridge.Caller, known bool) linkKey {
	key := linkKey{capabilities: relays, modern: caller.Modern}
	if c.cfg.Era != "" {
		key.modern = c.cfg.Era == Modern
	}
	offers := nothing
	if caller.Ask != nil {
		offers = string(bridge.Offers(caller.Capabilities))
	}
	principal, info := "principal "+caller.Principal.Name, string(c.cfg.ClientInfo)
	if caller.Profile != "" {
		principal = "profile " + caller.Profile + " " + principal
	}
	if c.cfg.PerToken && caller.Token != nil {
		principal = fmt.Sprintf("token %x %s", sha256.Sum256([]byte(caller.Token())), principal)
	}
	switch {
	case c.cfg.Sharing == Session, c.cfg.Sharing == Leased && offers != nothing:
		key.capabilities = string(addCapabilities([]byte(offers), caller.Capabilities, "extensions", "experimental"))
		switch {
		case !caller.Modern || !known || !c.modern.Load():
			key.owner, key.own = "caller "+caller.ID, true
			info = cmp.Or(string(caller.Info), info)
		case c.cfg.Sharing == Session:
			key.owner = principal
			info = cmp.Or(string(caller.Info), info)
		}
	case c.cfg.Sharing == Identity:
		key.owner = principal
	}
	key.modern = key.modern && !(known && c.legacyOnly(&key))
	key.client = info
	if c.cfg.ID != "" && len(c.cfg.Command) == 0 {
		key.bridges = bridge.Via(caller.Info)
	}
	return key
}

// legacyOnly reports whether the callers of a link that they share need none of their own era, since
// the server on stdio is known not to speak the modern one.
func (c *Client) legacyOnly(key *linkKey) bool {
	return len(c.cfg.Command) > 0 && !key.own && c.cfg.Era == "" && c.refuses.Load() != nil
}

// clientInfo returns the clientInfo for a new connection. It names the bridges through which a caller
// comes: of several callers those of any, since the server may refuse some as a loop. As the callers
// of a link come through as many bridges, a loop that this does not show has more of them in each
// round, until they are too many. A child process is told of this bridge alone: it is shared by
// callers that come through others, and is not one of them.
func (l *link) clientInfo() []byte {
	info := []byte(l.key.client)
	if l.cfg.ID == "" {
		return info
	}
	self := wire.SetMember(l.cfg.ClientInfo, "id", wire.AppendString(nil, l.cfg.ID))
	if len(l.cfg.Command) > 0 {
		return bridge.InfoVia(info, nil, self)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range l.sessions {
		l.via = s.caller.Info
		break
	}
	return bridge.InfoVia(info, l.via, self)
}

// session is a caller on a link. It implements bridge.Session.
type session struct {
	link   atomic.Pointer[link] // another one once this has handed it over
	caller *bridge.Caller
	level  atomic.Int32 // the wire.LogLevel that the caller has set; 0 means none
	listed atomic.Bool  // the caller has read a list, and is notified of changes
	closed atomic.Bool
	done   chan struct{} // closed after closed is set
	hidden atomic.Pointer[addedSecret]

	watches, watchedBytes atomic.Int64 // resources of which the caller wants updates, and bytes of their URIs; changed with link.mu held
}

// wants reports whether the caller wants a log message. One that has set no level gets them all.
func (s *session) wants(message []byte) bool { return wire.LogLevel(s.level.Load()).Admits(message) }

// notify sends the caller a notification that belongs to none of its requests.
func (s *session) notify(method string, params []byte) {
	if s.caller.Notify != nil {
		defer s.link.Load().cfg.recovered(nil)
		s.caller.Notify(method, params)
	}
}

// linkKey is what callers must have in common to share a link.
type linkKey struct {
	owner        string // "", "principal "+name, that behind "profile "+its profile, or "caller "+id
	own          bool   // the link has one caller
	modern       bool   // the modern era is used if the server knows it
	capabilities string // MCP's ClientCapabilities as the server is told them
	client       string // MCP's Implementation as the server is told it, without the bridges of callers
	bridges      int    // through which the callers come, as far as the server is told of them
}

// ofEra returns the key of the link for callers of an era, who have all else in common.
func (k linkKey) ofEra(modern bool) linkKey {
	k.modern = modern
	return k
}
