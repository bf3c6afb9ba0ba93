package mcpserver

import (
	"context"
	"maps"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// settings are the Options of a Server, and what follows from them. They are immutable.
type settings struct {
	Options
	hidden   []string  // keys of HiddenHeaders, sorted
	accounts *accounts // what each principal uses
}

// newSettings returns the settings of options. What is in use already stays counted; before may be nil.
func newSettings(opts Options, before *settings) *settings {
	o := &settings{Options: opts.withDefaults(), hidden: slices.Sorted(maps.Keys(opts.HiddenHeaders))}
	if before == nil {
		o.accounts = newAccounts(&o.Options, nil)
	} else {
		o.accounts = newAccounts(&o.Options, before.accounts)
	}
	return o
}

// opts returns the current settings.
func (s *Server) opts() *settings { return s.settings.Load() }

// Update replaces the Options, but for Protected, Ready, Refuse, ReadTimeout and Log, which stay as they
// are. Access and hidden values hold for every request from then on, MessageBytes, QueueBytes and
// SessionIdle on carriers other than a plain POST for the sessions that begin later. Whoever was let in
// by a token that is gone, or without one where one is needed now, is shut out: their sessions end.
func (s *Server) Update(opts Options) {
	s.updating.Lock()
	defer s.updating.Unlock()
	before := s.opts()
	opts.Protected, opts.Ready, opts.Refuse = before.Protected, before.Ready, before.Refuse
	opts.ReadTimeout, opts.Log = before.ReadTimeout, before.Log
	s.settings.Store(newSettings(opts, before))
	s.shutOut(func(p bridge.Principal) bool {
		return opts.Access.Tokens[p.Name] != before.Access.Tokens[p.Name] || !opts.Access.knows(p)
	})
}

// shutOut ends what the principals have that are gone.
func (s *Server) shutOut(gone func(bridge.Principal) bool) {
	s.tickets.shutOut(gone)
	s.sessions.mu.Lock()
	var ended []*session
	for _, open := range s.sessions.sessions {
		if gone(open.sender.principal) {
			ended = append(ended, open)
			s.sessions.remove(open)
		}
	}
	s.sessions.mu.Unlock()
	for _, open := range ended {
		open.end(errEnded)
	}
	for _, v := range s.views.shutOut(gone) {
		v.source.Close()
	}
}

// shutOut cancels the requests of principals, and returns their views, which it removes.
func (p *viewPool) shutOut(gone func(bridge.Principal) bool) (removed []*view) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, pending := range p.posts {
		if gone(pending.principal) {
			pending.cancel(errEnded)
		}
	}
	for _, v := range slices.Concat(slices.Collect(maps.Values(p.views))...) {
		if v.source != nil && gone(v.key.sender.principal) {
			p.drop(v)
			removed = append(removed, v)
		}
	}
	return removed
}

// post is an HTTP request of the modern era.
type post struct {
	cancel    context.CancelCauseFunc
	principal bridge.Principal
}
