package fleet

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/fleet/engine"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/internal/mux"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const (
	redialAfter = time.Second     // since a link could not be opened
	linkTime    = 3 * time.Second // for which a request waits for a link
	maxIdle     = 512             // streams of a link that wait for their next request
	idleTime    = time.Minute     // for which they do; the other end waits longer
)

// peer is a run of another node, to which this one has a link since it has forwarded something there.
type peer struct {
	node *Node
	run  run
	url  string

	ctx    context.Context // ends with close
	cancel context.CancelFunc

	mu      sync.Mutex // guards the fields below
	closed  bool
	link    *mux.Mux               // nil before it is open, and after it is lost
	opening chan struct{}          // closed when a link that is being opened is open, or has failed; nil without one
	failed  error                  // of opening a link, the last time
	redial  time.Time              // when it is tried again
	idle    map[string][]*exchange // of link, by the key of their last request
	count   int                    // of idle
	direct  directConn             // beside link
}

// peer returns a run of another node, by its name. It may have begun just now.
func (n *Node) peer(ctx context.Context, name string) (*peer, *toolformat.Error) {
	n.mu.Lock()
	p := n.peers[name]
	n.mu.Unlock()
	if p != nil && p.linked() { // whatever is known of it
		return p, nil
	}
	to, err := parseRun(name)
	if err != nil {
		return nil, err
	}
	url, err := n.find(ctx, to)
	if err != nil {
		return nil, err
	}
	return n.peerAt(to, url)
}

// peerAt returns a run of another node whose URL is known.
func (n *Node) peerAt(to run, url string) (*peer, *toolformat.Error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, toolformat.Errorf(toolformat.Unavailable, "this node is closed")
	}
	p := n.peers[to.String()]
	if p == nil {
		p = &peer{node: n, run: to, url: url}
		p.ctx, p.cancel = context.WithCancel(n.ctx)
		n.peers[to.String()] = p
	}
	return p, nil
}

// find returns the URL of a run of another node: as it is listed, or as its claim has it, where that is not known here
// yet or the run is cut off from NATS.
func (n *Node) find(ctx context.Context, to run) (string, *toolformat.Error) {
	url, err := n.listed(to)
	if err == nil || err.Code != toolformat.Unavailable {
		return url, err
	}
	asked, cancel := context.WithTimeout(ctx, newTime)
	fate, failure := n.inquire(asked, to)
	cancel()
	switch {
	case !fate.ended && fate.address != "":
		return fate.address, nil
	case fate.ended, isLost(failure):
		return "", toolformat.Errorf(toolformat.NotFound, "node %s has ended", to)
	}
	n.await(ctx, to)
	return n.listed(to)
}

// isLost reports whether an error says that nobody has what a run had.
func isLost(err error) bool { return err != nil && toolformat.AsError(err).Code == toolformat.NotFound }

// unlinked returns the error for a request that was to go to a run, where no link to that could be opened.
func (n *Node) unlinked(ctx context.Context, to run, why error) *toolformat.Error {
	failure := toolformat.Errorf(toolformat.Unavailable, "no link to node %s", to)
	if _, err := n.listed(to); err != nil {
		if fate, err := n.inquire(ctx, to); fate.ended || isLost(err) {
			failure = toolformat.Errorf(toolformat.NotFound, "node %s has ended", to)
		}
	}
	return failure.Because(why)
}

// listed returns the URL of a run among the nodes of the cluster.
func (n *Node) listed(to run) (string, *toolformat.Error) {
	for _, known := range n.opts.Engine.Nodes() {
		switch {
		case known.ID != to.node:
		case known.Epoch == to.epoch:
			return known.Address, nil
		case known.Epoch > to.epoch:
			return "", toolformat.Errorf(toolformat.NotFound, "node %s has ended", to)
		}
	}
	return "", toolformat.Errorf(toolformat.Unavailable, "node %s is not there", to)
}

// newTime is how long it may take until a run that has begun is known here.
const newTime = 500 * time.Millisecond

// await waits until a run is known.
func (n *Node) await(ctx context.Context, to run) {
	known := make(chan struct{}, 1)
	defer n.opts.Engine.OnNodes(func([]engine.Node) {
		if _, err := n.listed(to); err == nil {
			select {
			case known <- struct{}{}:
			default:
			}
		}
	})()
	late := time.NewTimer(newTime)
	defer late.Stop()
	select {
	case <-known:
	case <-late.C:
	case <-ctx.Done():
	}
}

// forget closes the peers that are not nodes of the cluster any more, and have no link.
func (n *Node) forget(nodes []engine.Node) {
	n.mu.Lock()
	peers := maps.Clone(n.peers)
	n.mu.Unlock()
	for name, p := range peers {
		there := slices.ContainsFunc(nodes, func(known engine.Node) bool { return p.run == run{known.ID, known.Epoch} })
		if !there && !p.linked() {
			n.mu.Lock()
			delete(n.peers, name)
			n.mu.Unlock()
			p.close()
		}
	}
}

// linked reports whether there is a link.
func (p *peer) linked() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.link != nil
}

// close ends the link with what is under way on it, or the attempt to open one.
func (p *peer) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.cancel()
	if p.link != nil {
		p.link.Close()
	}
}

// take returns an exchange for a request, if possible the one that has carried the last request of the
// same key: the node at its other end reads the same header faster.
func (p *peer) take(ctx context.Context, key string) (*exchange, error) {
	link, x, err := p.connect(ctx, key)
	if x != nil || err != nil {
		return x, err
	}
	stream, err := link.Open()
	if err != nil {
		return nil, err
	}
	return newExchange(stream, link), nil
}

func newExchange(c net.Conn, link *mux.Mux) *exchange {
	return &exchange{Conn: c, link: link, in: bufio.NewReader(c)}
}

// Dial returns a connection to the listener of a run of another node. An error means that nothing was sent.
func Dial(ctx context.Context, n *Node, node string, epoch uint64) (net.Conn, error) {
	x, err := n.open(ctx, run{node, epoch}.String())
	if err != nil {
		return nil, err
	}
	return x.Conn, nil
}

// open returns an exchange with a run of another node for one request, or a connection.
func (n *Node) open(ctx context.Context, name string) (*exchange, error) {
	p, failure := n.peer(ctx, name)
	if failure != nil {
		return nil, failure
	}
	return p.take(ctx, "")
}

var errLinkTime = fmt.Errorf("no link within %s", linkTime)

// connect waits until there is a link, for no longer than linkTime, and returns it, or an idle exchange on it.
func (p *peer) connect(ctx context.Context, key string) (*mux.Mux, *exchange, error) {
	for {
		p.mu.Lock()
		link, x, opening, failed := p.link, p.takeIdle(key), p.opening, error(nil)
		switch {
		case p.closed:
			failed = net.ErrClosed
		case link == nil && opening == nil && p.failed != nil && time.Now().Before(p.redial):
			failed = p.failed
		case link == nil && opening == nil:
			if p.node.start(p.open) {
				opening = make(chan struct{})
				p.opening = opening
			} else {
				failed = net.ErrClosed
			}
		}
		p.mu.Unlock()
		if link != nil || failed != nil {
			return link, x, failed
		}
		bounded, done := context.WithTimeoutCause(ctx, linkTime, errLinkTime)
		select {
		case <-opening:
			done()
		case <-bounded.Done():
			done()
			return nil, nil, context.Cause(bounded)
		}
	}
}

// takeIdle returns an idle exchange, nil if there is none; p.mu is held.
func (p *peer) takeIdle(key string) *exchange {
	for p.count > 0 {
		if p.idle[key] == nil {
			for key = range p.idle { // of any other
				break
			}
		}
		of := p.idle[key]
		last := of[len(of)-1]
		p.count--
		if p.idle[key] = of[:len(of)-1]; len(of) == 1 {
			delete(p.idle, key)
		}
		if !last.Conn.(*mux.Stream).Ended() && time.Since(last.idle) < idleTime {
			return last
		}
		last.Close()
	}
	return nil
}

// put keeps an exchange for the next request.
func (p *peer) put(x *exchange, key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	x.idle = time.Now()
	if p.direct.x == x {
		p.direct.taken, p.direct.key = false, key
		return
	}
	if p.link != x.link || p.count >= maxIdle {
		x.Close()
		return
	}
	p.idle[key] = append(p.idle[key], x)
	p.count++
}

// open opens a link, and forgets it when it is lost.
func (p *peer) open() {
	log := p.node.opts.Log.With("node", p.run.String(), "url", p.url)
	var link *mux.Mux
	c, acceptsDirect, err := p.node.dial(p.ctx, p.url, p.run, subprotocol)
	if err == nil {
		link = mux.New(c, true, peerTerms())
		if err = link.Hear(p.ctx); err != nil { // the other end may not have accepted the certificate of this one
			link.Close()
			link, err = nil, refusedLink(err)
		}
	}
	p.mu.Lock()
	level := slog.LevelWarn
	if p.failed != nil { // it was said before
		level = slog.LevelDebug
	}
	p.link, p.failed, p.redial = link, err, time.Now().Add(redialAfter)
	p.idle, p.count, p.direct = map[string][]*exchange{}, 0, directConn{accepted: acceptsDirect}
	close(p.opening)
	p.opening = nil
	if link != nil && p.closed {
		link.Close()
	}
	p.mu.Unlock()
	if err != nil {
		log.Log(p.node.ctx, level, "no link to another node", "error", err)
		return
	}
	log.Debug("linked to another node")
	_, err = link.Accept() // the other end opens none: this is the loss of the link
	link.Close()
	p.mu.Lock()
	p.dropDirect()
	p.link, p.idle, p.count = nil, nil, 0
	p.mu.Unlock()
	log.Debug("lost the link to another node", "error", err)
}
