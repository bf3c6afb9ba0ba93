package mcpserver

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/mcpserver/auth"
)

// settings are the Options of a Server, and what follows from them. They are immutable.
type settings struct {
	Options
	hidden   []string           // keys of HiddenHeaders, sorted
	accounts *accounts          // what each principal uses of what all share
	auth     auth.Authenticator // of Access; nil means that nobody needs credentials
	prefix   string             // the path of Access.PublicURL, without a slash at its end
}

// newSettings returns the settings of options. What is in use already stays counted; before may be nil.
func newSettings(opts Options, before *settings) *settings {
	o := &settings{Options: opts.withDefaults(), hidden: slices.Sorted(maps.Keys(opts.HiddenHeaders))}
	if admitted := opts.Access.authenticators(); len(admitted) > 0 {
		o.auth = admitted
	}
	if u, err := url.Parse(opts.Access.PublicURL); err == nil {
		o.prefix = strings.TrimSuffix(u.Path, "/")
	}
	if before == nil {
		o.accounts = newAccounts(o, nil)
	} else {
		o.accounts = newAccounts(o, before.accounts)
	}
	return o
}

// opts returns the current settings.
func (s *Server) opts() *settings { return s.settings.Load() }

// Update replaces the Options, but for Protected, Public, Foreign, Page, Nodes, Peers, Ready, Refuse, ReadTimeout and Log, which stay as they
// are. Access and hidden values hold for every request from then on, MessageBytes, QueueBytes and
// SessionIdle on carriers other than a plain POST for the sessions that begin later. Whoever was let in
// by credentials that are revoked, or without any where they are needed now, is shut out: their sessions
// end.
func (s *Server) Update(opts Options) {
	s.updating.Lock()
	defer s.updating.Unlock()
	before := s.opts()
	opts.Protected, opts.Ready, opts.Refuse = before.Protected, before.Ready, before.Refuse
	opts.Public, opts.Foreign, opts.Page = before.Public, before.Foreign, before.Page
	opts.Nodes, opts.Peers, opts.ReadTimeout, opts.Log = before.Nodes, before.Peers, before.ReadTimeout, before.Log
	next := newSettings(opts, before)
	s.settings.Store(next)
	s.shutOut(func(sender *identity) bool { return !next.admits(sender) })
}

// shutOut ends what the senders have that are gone.
func (s *Server) shutOut(gone func(*identity) bool) {
	s.tickets.shutOut(gone)
	s.sessions.mu.Lock()
	var ended []*session
	for _, open := range s.sessions.sessions {
		if gone(&open.sender) {
			ended = append(ended, open)
			s.sessions.remove(open)
		}
	}
	s.sessions.mu.Unlock()
	ended = append(ended, s.sessions.dropGuests(func(_ string, g *guest) bool { return gone(&g.sender) })...)
	for _, open := range ended {
		open.end(errShutOut)
	}
	s.parking.end(func(c *parkedCall) bool { return c.views == &s.views && gone(&c.view.key.sender) })
	for _, v := range s.views.shutOut(gone) {
		v.source.Close()
	}
}

// shutOut cancels the requests of senders, and returns their views, which it removes.
func (p *viewPool) shutOut(gone func(*identity) bool) (removed []*view) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, pending := range p.posts {
		if gone(&pending.sender) {
			pending.cancel(errShutOut)
		}
	}
	for _, v := range slices.Concat(slices.Collect(maps.Values(p.views))...) {
		if v.source != nil && gone(&v.key.sender) {
			p.drop(v)
			removed = append(removed, v)
		}
	}
	return removed
}

// post is an HTTP request of the modern era, or for a handler of Options.Protected.
type post struct {
	cancel context.CancelCauseFunc
	sender identity
}
