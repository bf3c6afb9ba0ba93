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
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

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
