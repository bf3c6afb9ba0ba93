// Package mcpclient makes a remote MCP server a bridge.Source, over stdio, streamable
// HTTP, legacy SSE and WebSocket.
//
// A Client is one configured server. Its callers reach it over links: a link is a
// supervised connection that comes back when it is lost, shared by the callers that
// Sharing puts on it. A link's connection (conn) matches answers to calls and knows no
// carrier; a carrier moves messages and knows no MCP.
package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/process"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Sharing says which callers may share a link to a server.
type Sharing string

// The ways of sharing. A server of the modern era asks by the result of a call, which
// needs no link of its own: once a server has been found to speak that era, callers of
// it that offer the same share where Session and Leased would give them a link each,
// those of one principal for Session.
const (
	Shared   Sharing = "shared"   // all callers: one connection, one process
	Identity Sharing = "identity" // the callers of one principal
	Session  Sharing = "session"  // nobody: a link for each caller, which ends with it
	Leased   Sharing = "leased"   // callers that can be asked something have a link each, the others share one
)

// Transport says how a URL is spoken to.
type Transport string

// The transports. Auto is streamable HTTP, falling back to SSE where the server
// refuses it, for http and https, and WebSocket for ws and wss.
const (
	Auto      Transport = ""
	HTTP      Transport = "http"
	SSE       Transport = "sse"
	WebSocket Transport = "ws"
)

// Era says which of MCP's two eras a server is spoken to in.
type Era string

// The eras. Without one it is found out: a server that speaks both is spoken to in its
// caller's.
const (
	Legacy Era = "legacy" // up to 2025-11-25: initialize, and nothing before it
	Modern Era = "modern" // since 2026-07-28: server/discover, and never initialize
)

// Config describes one server: Command or URL, exactly one. Zero durations and sizes
// mean the default that stands beside them.
type Config struct {
	Name string // as it is called in errors and logs

	Command []string          // an argument vector, spoken to over stdio
	Env     map[string]string // added to the customary inherited variables
	Dir     string            // working directory

	URL       string
	Transport Transport
	Headers   map[string]string // sent with every request

	Era Era // "": found out

	Sharing        Sharing
	ConnectTimeout time.Duration // for dialling and the handshake; 30 s
	Timeout        time.Duration // of a call, from its start or its last progress; 5 min
	MaxTimeout     time.Duration // of a call, however much progress it makes; 30 min
	IdleTimeout    time.Duration // how long a link outlives its last caller, and a lazy server its last call; 1 min
	MessageBytes   int           // largest message taken; 64 MiB

	// Sampling answers a sampling/createMessage of the server in the place of a client: where
	// the caller that is asked cannot, and on links that callers share, where nobody could
	// tell which one that is. params and result are MCP's; params are its to read until it
	// returns. nil: nobody does.
	Sampling func(ctx context.Context, params []byte) (result []byte, err *toolformat.Error)

	Lazy     bool   // start at the first call; List answers from ListFile when it can
	ListFile string // where a lazy server's lists are kept; "": nowhere

	Fault      error               // a reason found earlier why this server cannot start
	ClientInfo []byte              // raw JSON of MCP's Implementation: what the bridge calls itself
	Supervisor *process.Supervisor // ends child processes when this program is killed; nil: none
	Children   *Children           // bounds child processes; nil: no bound
	Log        *slog.Logger        // nil: nothing is logged

	http  *http.Transport // the connections of all links
	flood *throttle       // Log, for what a server can cause at will
}

// Children bounds the child processes of several clients together.
type Children struct {
	Max int
	n   atomic.Int64
}

func (c *Children) acquire() error {
	if c == nil {
		return nil
	}
	if c.n.Add(1) > int64(c.Max) {
		c.n.Add(-1)
		return errors.New("too many child processes are running (limits.children in the config)")
	}
	return nil
}

func (c *Children) release() {
	if c != nil {
		c.n.Add(-1)
	}
}

// A Client is one MCP server as a source. It may be used from many goroutines.
type Client struct {
	cfg  Config
	base context.Context // ends with Close
	stop context.CancelFunc
	wg   sync.WaitGroup // links

	modern atomic.Bool                                   // the server speaks the modern era, as far as is known
	known  [bridge.ListKinds]atomic.Pointer[bridge.List] // the last list of each kind, shared by links that have the same

	mu     sync.Mutex // guards what follows
	links  map[linkKey]*link
	closed bool
}

// linkKey is what callers must have in common to share a link.
type linkKey struct {
	owner        string // "" all, "principal "+name, or "caller "+id
	own          bool   // one caller's own
	modern       bool   // spoken to in the era since 2026-07-28 where the server can
	capabilities string // what the server is told of its callers: MCP's ClientCapabilities
}

// offered is what the server may ask for at any time: on a link of several callers
// nothing, since nobody could tell whom it asks.
func (k *linkKey) offered() []byte {
	if k.own {
		return []byte(k.capabilities)
	}
	return extended([]byte(nothing), []byte(k.capabilities))
}

// extended adds to an offer what else the client says that it knows (MCP Apps, for one).
func extended(offer, capabilities []byte) []byte {
	if v := wire.Lookup(capabilities, "extensions"); v != nil {
		return wire.SetMember(offer, "extensions", v)
	}
	return offer
}

// New makes a client. It connects when the first session is opened.
func New(cfg Config) *Client {
	cfg.ConnectTimeout = cmp.Or(cfg.ConnectTimeout, 30*time.Second)
	cfg.Timeout = cmp.Or(cfg.Timeout, 5*time.Minute)
	cfg.MaxTimeout = cmp.Or(cfg.MaxTimeout, 30*time.Minute)
	cfg.MaxTimeout = max(cfg.MaxTimeout, cfg.Timeout)
	cfg.IdleTimeout = cmp.Or(cfg.IdleTimeout, time.Minute)
	cfg.MessageBytes = cmp.Or(cfg.MessageBytes, 64<<20)
	if cfg.Sharing == "" {
		cfg.Sharing = Session
		if len(cfg.Command) > 0 {
			cfg.Sharing = Shared
		}
	}
	if cfg.ClientInfo == nil {
		cfg.ClientInfo = []byte(`{"name":"mcpbridge","version":"0"}`)
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	cfg.Log = cfg.Log.With("server", cfg.Name)
	cfg.flood = &throttle{log: cfg.Log}
	cfg.http = newTransport()
	c := &Client{cfg: cfg, links: map[linkKey]*link{}}
	c.modern.Store(cfg.Era == Modern)
	c.base, c.stop = context.WithCancel(context.Background())
	return c
}

// Open gives the caller a session on the link that it may use, and starts that link
// when it is new.
func (c *Client) Open(_ context.Context, caller *bridge.Caller) (bridge.Session, error) {
	key := c.key(caller)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errors.New(c.cfg.Name + " is closed")
	}
	l := c.links[key]
	if l == nil {
		l = newLink(c, key)
		c.links[key] = l
		c.wg.Go(l.supervise)
	}
	s := &session{link: l, caller: caller, done: make(chan struct{})}
	l.join(s)
	return s, nil
}

// key says which link the caller is on. Only on a link of its own can a server of the
// legacy era ask it something: elsewhere nobody could tell whom a request is meant for.
func (c *Client) key(caller *bridge.Caller) linkKey {
	key := linkKey{capabilities: nothing, modern: caller.Modern}
	if c.cfg.Era != "" {
		key.modern = c.cfg.Era == Modern
	}
	offers := nothing
	if caller.Ask != nil {
		offers = string(bridge.Offers(caller.Capabilities))
	}
	switch {
	case c.cfg.Sharing == Session, c.cfg.Sharing == Leased && offers != nothing:
		key.capabilities = string(extended([]byte(offers), caller.Capabilities))
		switch {
		case !caller.Modern || !c.modern.Load():
			key.owner, key.own = "caller "+caller.ID, true
		case c.cfg.Sharing == Session:
			key.owner = ofPrincipal(caller)
		}
	case c.cfg.Sharing == Identity:
		key.owner = ofPrincipal(caller)
	}
	return key
}

func ofPrincipal(caller *bridge.Caller) string { return "principal " + caller.Principal.Name }

// nothing is what is offered to a server on behalf of callers that cannot be asked.
const nothing = "{}"

// leave ends a caller's use of a link: at once for a link of its own, after the idle
// time for one that others may use.
func (c *Client) leave(s *session) {
	if !s.link.part(s) {
		return
	}
	if s.link.key.own {
		c.drop(s.link)
		return
	}
	s.link.endIdle(c.cfg.IdleTimeout)
}

func (c *Client) drop(l *link) {
	c.mu.Lock()
	if c.links[l.key] == l && l.unused() {
		delete(c.links, l.key)
		defer l.cancel()
	}
	c.mu.Unlock()
}

// Close ends every link and waits until they have ended, their processes included.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.stop()
	c.wg.Wait()
	c.cfg.http.CloseIdleConnections()
	return nil
}

// Status says how the server is: the state of the link that has had callers longest.
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

// Name is the server's name in the configuration.
func (c *Client) Name() string { return c.cfg.Name }

// share returns the list that another link already has when it says the same.
func (c *Client) share(l *bridge.List) *bridge.List {
	if known := c.known[l.Kind].Load(); known.Equal(l) {
		return known
	}
	c.known[l.Kind].Store(l)
	return l
}

// session is one caller on a link.
type session struct {
	link   *link
	caller *bridge.Caller
	level  atomic.Int32 // the wire.LogLevel that it wants; 0: it has not said
	seen   atomic.Bool  // it has asked for a list, and is told of changes
	closed atomic.Bool
	done   chan struct{} // closed once closed is set

	watches int // resources that it wants to be told of; guarded by link.mu
}

func (s *session) List(ctx context.Context, kind bridge.ListKind) (*bridge.List, error) {
	l, err := s.link.list(ctx, kind)
	if !s.seen.Swap(true) && err == nil {
		return s.link.list(ctx, kind) // nobody was told of a change in between
	}
	return l, err
}

func (s *session) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	return s.link.do(ctx, req, s)
}

func (s *session) Close() error {
	if s.closed.CompareAndSwap(false, true) {
		close(s.done)
		if c := s.link.conn.Load(); c != nil {
			c.cancel(s)
		}
		s.link.forget(s)
		s.link.client.leave(s)
	}
	return nil
}

// changed tells a caller that has seen the lists that one of them changed.
func (s *session) changed(kind bridge.ListKind) {
	if s.seen.Load() {
		s.notify(kind.Changed(), nil)
	}
}

// notify tells the caller what belongs to none of its requests.
func (s *session) notify(method string, params []byte) {
	if s.caller.Notify != nil {
		s.caller.Notify(method, params)
	}
}
