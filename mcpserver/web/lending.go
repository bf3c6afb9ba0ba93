package web

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/mcpserver"
)

// LentTools is the name under which a profile has the tools that clients lend, among those of servers.
const LentTools = "lent tools"

// Lending has the tools that clients lend, such as those of web pages. Callers of the same principal see
// them, on every carrier, and no others. Its methods may be called by many goroutines at once.
type Lending struct {
	none    *bridge.List // of resources
	limits  atomic.Pointer[Limits]
	run     atomic.Pointer[string] // begins the handles of tabs; nil without a cluster
	handles atomic.Int64           // the last handle
	served  atomic.Int64           // calls of other nodes
	away    *bridge.Limiter        // of calls to other nodes

	mu     sync.Mutex // guards groups, and their users
	groups map[bridge.Principal]*group

	telling sync.Mutex           // guards tellers, and what they have to tell
	tellers map[*teller]struct{} // of the other nodes
}

// maxAway bounds the calls of clients that are connected to other nodes. It is part of what a link of two nodes has room for.
const maxAway = 2000

// NewLending returns a Lending without clients.
func NewLending() *Lending {
	l := &Lending{
		away: bridge.NewLimiter("the way to clients of other nodes is", maxAway, 0).Among(2),
		none: bridge.NewList(bridge.Resources, nil), groups: map[bridge.Principal]*group{}, tellers: map[*teller]struct{}{},
	}
	l.SetLimits(Limits{})
	return l
}

// SetLimits changes the limits. What is lent already stays, and so does the limit on the calls of a client
// that is connected.
func (l *Lending) SetLimits(limits Limits) {
	limits = limits.withDefaults()
	l.limits.Store(&limits)
}

// Join is for mcpserver.Options.Lend.
func (l *Lending) Join(client *bridge.Caller) mcpserver.Lender {
	t := l.newTab(client.Principal)
	t.client, t.calls = client, map[int64]progress{}
	return t
}

// newTab returns a tab that is in use until it has left.
func (l *Lending) newTab(principal bridge.Principal) *tab {
	limits := l.limits.Load()
	return &tab{group: l.use(principal), limiter: bridge.NewLimiter("the client that carries it out is", limits.Calls, limits.Queue)}
}

// Wrap returns a source that shows each caller the tools lent to its principal, behind those of source, as
// an Overlay with these options does, within the limits as they are now. It belongs directly around the
// Bridge.
func (l *Lending) Wrap(source bridge.Source, opts bridge.OverlayOptions) bridge.Source {
	limits := l.limits.Load()
	opts.MaxFunctions, opts.Timeout, opts.Untrusted = limits.Tools, limits.Timeout, true
	return &wrapper{l, bridge.NewOverlay(source, opts), opts.Reserved}
}

type wrapper struct {
	lending *Lending
	source  bridge.Source // an Overlay

	reserved func(name string) (owner string) // OverlayOptions.Reserved
}

// Open implements bridge.Source.
func (w *wrapper) Open(ctx context.Context, caller *bridge.Caller) (bridge.Session, error) {
	if caller.Functions != nil || caller.Members != nil && !caller.Members(LentTools) {
		return w.source.Open(ctx, caller)
	}
	own := *caller
	s := &session{group: w.lending.use(caller.Principal), caller: caller, reserved: w.reserved}
	own.Functions = s.group
	var err error
	if s.Session, err = w.source.Open(ctx, &own); err != nil {
		s.group.release()
		return nil, err
	}
	s.group.addSession(s)
	return s, nil
}

// Tabs returns the clients that lend tools now, by principal and in the order in which they came.
func (l *Lending) Tabs() (all []Tab) {
	l.mu.Lock()
	groups := slices.SortedFunc(maps.Values(l.groups), func(a, b *group) int { return strings.Compare(a.principal.Name, b.principal.Name) })
	l.mu.Unlock()
	for _, g := range groups {
		all = append(all, g.describe()...)
	}
	return all
}

// use returns the group of a principal, which release must be called for.
func (l *Lending) use(principal bridge.Principal) *group {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.groups[principal]
	if g == nil {
		g = &group{lending: l, principal: principal, sessions: map[*session]struct{}{}}
		g.offered.Store(&offered{})
		l.groups[principal] = g
	}
	g.users++
	return g
}

func (g *group) release() {
	g.lending.mu.Lock()
	defer g.lending.mu.Unlock()
	if g.users--; g.users == 0 {
		delete(g.lending.groups, g.principal)
	}
}
