package mcpclient

import (
	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// Whether a server on stdio speaks the modern era is known only once it has been asked, which would
// harm some that serve callers of the legacy era already. A link for modern callers therefore asks a
// process of its own. Unless that speaks their era it is one too many: the link hands its sessions to
// the one for legacy callers, and ends.

// handOver hands the sessions of a link without a connection so far to that for callers of the legacy
// era, if there is one that can serve them instead. c is what the first attempt has made; it is nil if
// that has failed. It reports whether the link has ended.
func (l *link) handOver(c *conn) bool {
	if !l.key.modern || l.key.own || len(l.cfg.Command) == 0 || l.cfg.Era != "" || c != nil && c.modern {
		return false
	}
	l.client.mu.Lock()
	defer l.client.mu.Unlock()
	to := l.client.links[l.key.ofEra(false)]
	if to == nil || !to.canServe(c == nil) {
		return false
	}
	delete(l.client.links, l.key)
	l.mu.Lock()
	sessions := l.sessions
	l.sessions = map[*session]struct{}{}
	l.mu.Unlock()
	for s := range sessions {
		to.addSession(s)
	}
	to.takeOver(sessions)
	l.ctx.Cancel(nil) // after which a request that has waited on this link finds its session on the other
	return true
}

// canServe reports whether the link has a connection, or, unless it must, is about to.
func (l *link) canServe(now bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state == Ready || !now && (l.state == Connecting || l.state == Idle)
}

// takeOver asks for what the callers of added sessions have asked of another link, and notifies those that
// have read the lists of that one.
func (l *link) takeOver(sessions map[*session]struct{}) {
	level := l.lowestLevel()
	if c := l.conn.Load(); c != nil && level > 0 {
		c.start(func() { c.replay(&c.life, wire.MethodSetLevel, "level", level.String()) })
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range sessions {
		for kind := range bridge.ListKinds {
			if s.listed.Load() {
				s.notify(kind.Changed(), nil)
			}
		}
	}
}
