// Package place has one node of a cluster at a time run a server, for all of them, and nodes offer each other
// what they alone reach.
//
// Which one that is a lease on the cluster's engine says. The others reach the server by connections to that
// node, on the links that the nodes have. A node whose lease is not renewed in time stops its server before
// another may have the lease.
package place

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/engine"
)

// Path is where nodes ask each other for connections to servers, whose names follow in hexadecimal digits.
const Path = "/peer/source/"

// A Server is what one node runs.
type Server struct {
	ID string // tells one definition of the server from others

	// Run serves the connections that the Term accepts until ctx ends. The server ends within [Term.End] then, which
	// Run tells the Term, and may go on with the connections for a while: no call may begin any more.
	Run func(ctx context.Context, t *Term)
}

// Places are the servers of which one node of the cluster runs each. Their methods may be called at once.
type Places struct {
	away *bridge.Limiter // of connections to servers of other nodes

	mu     sync.Mutex // guards the fields below, and those of each place
	node   *fleet.Node
	engine *engine.Engine // nil before Join
	places map[string]*place
	left   bool           // by Leave
	work   sync.WaitGroup // of goroutines of places and offers

	name    string         // of this node; with the next ones "" and nil before Join
	book    *fleet.Book    // has who offers what
	offered map[string]run // as the book says
	offers  map[string]*offer
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc

	follow   func(context.Context, Dial) // of SetFollower; may be nil
	followed map[run]bool                // the nodes that it is called for
}

// A place is where one server is run.
type place struct {
	of      *Places
	name    string
	server  Server
	lease   *engine.Lease // nil before Join
	holder  engine.Holder
	term    *Term         // nil unless this node runs the server
	changed chan struct{} // closed, and replaced, when one of the former does
	leaving bool          // this node runs it no more
	closed  bool
	kick    chan struct{} // has room for one: there may be something to do for run
}

// maxAway bounds the connections to servers of other nodes, of which each call has one. It is part of what a link has
// room for.
const maxAway = 4000

// New returns Places, which are to be closed.
func New() *Places {
	s := &Places{
		away:   bridge.NewLimiter("the way to servers of other nodes is", maxAway, 0).Among(2),
		places: map[string]*place{}, offers: map[string]*offer{}, offered: map[string]run{}, followed: map[run]bool{},
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// finishTime bounds how long calls that are under way keep a server whose definition has changed.
const finishTime = time.Minute

// SetServers replaces the servers, which are keyed by name. A server that is not among them any more is ended. One
// with another ID is started again when the calls that are under way have ended, after a minute at most. After Close
// it does nothing.
func (s *Places) SetServers(servers map[string]Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return
	}
	for name, p := range s.places {
		if _, ok := servers[name]; !ok {
			p.close()
			delete(s.places, name)
		}
	}
	for name, server := range servers {
		p := s.places[name]
		if p == nil {
			p = &place{of: s, name: name, leaving: s.left, changed: make(chan struct{}), kick: make(chan struct{}, 1)}
			s.places[name] = p
			p.join()
		}
		if t := p.term; t != nil && p.server.ID != server.ID {
			t.calls.close() // none begins by the definition before once SetServers has returned
			s.work.Go(func() {
				ctx, cancel := context.WithTimeout(s.ctx, finishTime)
				defer cancel()
				t.finish(ctx)
			})
		}
		p.server = server
	}
}

// Join makes the places those of a cluster, in which n is this node, with its name. Nothing runs before.
func (s *Places) Join(n *fleet.Node, e *engine.Engine, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.node, s.engine, s.name = n, e, name
	s.joinOffers()
	context.AfterFunc(s.ctx, e.OnNodes(func([]engine.Node) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.followAll()
	}))
	context.AfterFunc(s.ctx, e.OnUp(func(bool) { // the error of Link says whether NATS answers
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, p := range s.places {
			if p.term == nil && (p.holder.Node == "" || p.holder.Mine) {
				p.change()
			}
		}
	}))
	for _, p := range s.places {
		p.join()
	}
}

// Link returns what makes connections to a server, wherever it runs, for the calls of a principal, "" for those of all
// or of one without a name. over is closed when it makes no more or, after an error, which says that no node runs it,
// when another attempt is due. A named principal may have half of the connections to other nodes. For one more the error
// of dial has a *toolformat.Error with NotRun.
func (s *Places) Link(name, principal string) (dial func(context.Context) (net.Conn, error), over <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.places[name]
	switch {
	case p == nil:
		return nil, nil, errors.New("the config does not have it any more")
	case p.lease == nil:
		return nil, p.changed, errors.New("this node has not joined its cluster yet")
	case p.term != nil:
		return p.term.dial, p.changed, nil
	case (p.holder.Node == "" || p.holder.Mine) && !s.engine.Up():
		return nil, p.changed, errors.New("no node of the cluster runs it while NATS does not answer")
	case p.holder.Node == "" || p.holder.Mine:
		return nil, p.changed, errors.New("no node of the cluster runs it now, and one of them will within seconds: try again")
	}
	return s.dial(run{p.holder.Node, p.holder.Epoch}, name, principal), p.changed, nil
}

// dial returns what makes connections to a server of another node. s.mu is held.
func (s *Places) dial(to run, name, principal string) func(context.Context) (net.Conn, error) {
	node, who := s.node, bridge.Principal{Name: principal}
	return func(ctx context.Context) (net.Conn, error) {
		if busy := s.away.Enter(context.Background(), who, 0); busy != nil { // it does not wait
			return nil, &net.OpError{Op: "dial", Err: busy}
		}
		c, err := fleet.Dial(ctx, node, to.Node, to.Epoch)
		if err == nil {
			err = ask(ctx, c, name)
		}
		if err != nil {
			s.away.Leave(who)
			return nil, &net.OpError{Op: "dial", Err: fmt.Errorf("node %s, which has it (if that has ended, another one will within seconds: try again): %w", to.Node, err)} // nothing was sent
		}
		return &conn{Conn: c, end: func() { s.away.Leave(who) }}, nil
	}
}

// ask asks the node at the other end of a connection for a server, which has the rest of the connection then.
func ask(ctx context.Context, conn net.Conn, name string) error {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	_, err := fmt.Fprintf(conn, "GET %s%x HTTP/1.1\r\nHost: node\r\nConnection: Upgrade\r\nUpgrade: mcpbridge-source\r\n\r\n", Path, name)
	if err == nil {
		var resp *http.Response
		resp, err = http.ReadResponse(bufio.NewReader(conn), nil) // nothing follows before it is asked for
		if err == nil && resp.StatusCode != http.StatusSwitchingProtocols {
			reason, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
			err = fmt.Errorf("HTTP %s: %s", resp.Status, strings.TrimSpace(string(reason)))
		}
	}
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		conn.Close()
	}
	return err
}

// ServeHTTP makes the connection of another node's request at Path one to the server that it names.
func (s *Places) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, _ := hex.DecodeString(strings.TrimPrefix(r.URL.Path, Path))
	give, err := s.taker(r.Context(), string(name))
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	stream, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	closed := make(chan struct{})
	c := &conn{Conn: stream, end: func() { close(closed) }}
	defer c.Close()
	if _, err := io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: mcpbridge-source\r\n\r\n"); err != nil {
		c.Close() // which ends what takes it, too
	}
	if give(c) == nil {
		<-closed
	}
}

// taker returns what takes connections to a server that this node has.
func (s *Places) taker(ctx context.Context, name string) (give func(net.Conn) error, err error) {
	s.mu.Lock()
	p, o := s.places[name], s.offers[name]
	switch {
	case p != nil && p.term != nil:
		t := p.term
		s.mu.Unlock()
		return func(c net.Conn) error { return t.give(ctx, c) }, nil
	case o == nil || o.relay == nil:
		s.mu.Unlock()
		return nil, errors.New("this node does not have it")
	}
	s.mu.Unlock()
	if _, _, err := o.own(); err != nil {
		return nil, err
	}
	return func(c net.Conn) error { return o.relay.give(ctx, c) }, nil
}

// conn is a connection that tells when it is closed.
type conn struct {
	net.Conn
	once sync.Once
	end  func() // called once
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.once.Do(c.end)
	return c.Conn.Close()
}

// Leave has the other nodes run the servers: no call begins here any more, and a server ends when those that run
// have ended, or ctx has. Nor does a call of another node begin at a server that this one offers: Leave waits for those
// that run there, until ctx ends, and offers none then.
func (s *Places) Leave(ctx context.Context) {
	s.mu.Lock()
	s.left = true
	var leaving sync.WaitGroup
	for _, p := range s.places {
		p.leaving = true
		t := p.term
		leaving.Go(func() {
			if t != nil {
				t.finish(ctx)
			}
			p.wake()
		})
	}
	for _, o := range s.offers {
		if o.relay != nil {
			leaving.Go(func() { o.relay.leave(ctx) })
		}
	}
	s.mu.Unlock()
	leaving.Wait()
	s.SetOffers(nil)
}

// Close ends the servers and the followers, and waits for that. Their leases are given back. It is called before the node and the
// engine are closed.
func (s *Places) Close() {
	s.SetServers(nil)
	s.SetOffers(nil)
	s.mu.Lock()
	s.cancel() // no goroutine begins after this
	s.mu.Unlock()
	s.work.Wait()
}

// Runner returns which node runs a server: here is true for this one. node is "" while none does. ok is false if no
// server of that name is one that one node runs.
func (s *Places) Runner(name string) (node string, here, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.places[name]
	if p == nil {
		return "", false, false
	}
	if here = p.term != nil; here || !p.holder.Mine {
		node = p.holder.Node
	}
	return node, here, true
}
