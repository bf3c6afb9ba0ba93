package fleet

import (
	"crypto/tls"
	"net/http"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/fleet/internal/mux"
)

// A direct connection to another node, beside the link, carries requests as a stream of the link does. Who waits for an
// answer reads it from there, so that the answer takes fewer switches between goroutines, and so does the request at the
// other end. Of several at once each costs more than on the link, where they share what is written and read.
type direct struct{ *tls.Conn }

// Close ends the connection, without waiting for the other end as that of a tls.Conn may.
func (d direct) Close() error { return d.NetConn().Close() }

const (
	// directTime is how long a direct connection is used after its last request. A firewall may forget it then, which
	// nobody would notice as nothing else is sent there. The other node waits longer.
	directTime = 30 * time.Second

	// directKept is how long it is kept for requests of the same key, while others have a stream.
	directKept = time.Second

	// directNew is how long one that has been opened may wait for its first request, which the other node expects within 10 s.
	directNew = 5 * time.Second

	directRetry = time.Minute // since one could not be opened
)

// directConn is the direct connection of a peer. The peer's lock guards it.
type directConn struct {
	accepted bool      // the other node accepts one
	x        *exchange // nil without one
	taken    bool      // for a request
	key      string    // of the last one
	redial   time.Time // when another one may be opened
}

// takeFor is take for a request that is forwarded, which the direct connection may carry.
func (p *peer) takeFor(r *http.Request, key string) (*exchange, error) {
	plain := r.Method == http.MethodPost && (r.URL.Path == "/mcp" || strings.HasPrefix(r.URL.Path, "/mcp/p/"))
	if plain { // and no stream, which would hold up others
		if x := p.takeDirect(key); x != nil {
			return x, nil
		}
	}
	return p.take(r.Context(), key)
}

// takeDirect returns the direct connection; nil if there is none, a request has it, or other requests wait on the link.
func (p *peer) takeDirect(key string) *exchange {
	p.mu.Lock()
	defer p.mu.Unlock()
	d, now := &p.direct, time.Now()
	switch {
	case p.link == nil || !d.accepted || d.taken || p.link.Waiting() > 0:
	case d.x == nil:
		if now.After(d.redial) {
			d.redial = now.Add(redialAfter)
			link := p.link
			p.node.start(func() { p.openDirect(link) })
		}
	case now.Sub(d.x.idle) > directTime:
		p.dropDirect()
	case d.key == key || p.idle[key] == nil || now.Sub(d.x.idle) > directKept: // else a stream of the link is read faster
		d.taken = true
		return d.x
	}
	return nil
}

// openDirect opens the direct connection beside a link.
func (p *peer) openDirect(link *mux.Mux) {
	c, _, err := p.node.dial(p.ctx, p.url, p.run, directProtocol)
	if err != nil {
		p.mu.Lock()
		p.direct.redial = time.Now().Add(directRetry) // a proxy may pass on only what it knows
		p.mu.Unlock()
		p.node.opts.Log.Debug("no direct connection to another node", "node", p.run.String(), "url", p.url, "error", err)
		return
	}
	x := newExchange(direct{c}, link)
	p.setDirect(x, time.Now())
}

// setDirect makes a connection that was opened at a time the direct one, unless its link is lost or there is another one.
func (p *peer) setDirect(x *exchange, opened time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.link != x.link || p.direct.x != nil {
		x.Close()
		return
	}
	p.direct.x, x.idle = x, opened.Add(directNew-directTime)
}

// giveUp closes an exchange on which something has failed, or may still come.
func (p *peer) giveUp(x *exchange) {
	x.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.direct.x == x {
		p.dropDirect()
	}
}

// dropDirect closes the direct connection with what is under way on it; p.mu is held.
func (p *peer) dropDirect() {
	if p.direct.x != nil {
		p.direct.x.Close()
		p.direct.x, p.direct.taken = nil, false
	}
}
