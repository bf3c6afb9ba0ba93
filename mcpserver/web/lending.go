package web

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/mcpserver"
)

// LentTools is the name under which a profile has the tools that clients lend, among those of servers.
const LentTools = "lent tools"

// LendingOptions are the settings of NewLending. A field that is zero means the default in its comment.
type LendingOptions struct {
	Tools   int           // bounds the tools of a client; 64
	Calls   int           // bounds the calls of a client's tools that run at once; 16
	Timeout time.Duration // bounds a call without progress; 30 s
	Log     *slog.Logger  // nil discards
}

// Lending has the tools that clients lend, such as those of web pages. Callers of the same principal see
// them, on every carrier, and no others. Its methods may be called by many goroutines at once.
type Lending struct {
	opts LendingOptions
	none *bridge.List // of resources

	mu     sync.Mutex // guards groups, and their users
	groups map[bridge.Principal]*group
}

const (
	maxLent    = 256       // tools of all clients of a principal
	maxToolLen = 32 << 10  // bytes of a definition
	maxLentLen = 256 << 10 // bytes of those of a client
	maxWaiting = 1000      // calls that wait for a client
)

// NewLending returns a Lending without clients.
func NewLending(opts LendingOptions) *Lending {
	opts.Tools = cmp.Or(opts.Tools, 64)
	opts.Calls = cmp.Or(opts.Calls, 16)
	opts.Timeout = cmp.Or(opts.Timeout, 30*time.Second)
	opts.Log = cmp.Or(opts.Log, slog.New(slog.DiscardHandler))
	return &Lending{opts: opts, none: bridge.NewList(bridge.Resources, nil), groups: map[bridge.Principal]*group{}}
}

// Join is for mcpserver.Options.Lend.
func (l *Lending) Join(client *bridge.Caller) mcpserver.Lender {
	return &tab{group: l.use(client.Principal), client: client, gone: make(chan struct{}), calls: map[int64]context.Context{},
		limiter: bridge.NewLimiter("the client that carries it out is", l.opts.Calls, maxWaiting)}
}

// Wrap returns a source that shows each caller the tools lent to its principal, behind those of source. A
// name that source has, or for which reserved names an owner, is not lent. It belongs directly around the
// Bridge.
func (l *Lending) Wrap(source bridge.Source, reserved func(name string) (owner string)) bridge.Source {
	return &wrapper{l, bridge.NewOverlay(source, bridge.OverlayOptions{
		Native:       bridge.NativeOptions{Log: l.opts.Log},
		MaxFunctions: maxLent,
		Timeout:      l.opts.Timeout,
		Untrusted:    true,
		Reserved:     reserved,
	})}
}

type wrapper struct {
	lending *Lending
	source  bridge.Source // an Overlay
}

// Open implements bridge.Source.
func (w *wrapper) Open(ctx context.Context, caller *bridge.Caller) (bridge.Session, error) {
	if caller.Functions != nil || caller.Members != nil && !caller.Members(LentTools) {
		return w.source.Open(ctx, caller)
	}
	own := *caller
	s := &session{group: w.lending.use(caller.Principal), caller: caller}
	own.Functions = s.group
	var err error
	if s.Session, err = w.source.Open(ctx, &own); err != nil {
		s.group.release()
		return nil, err
	}
	s.group.addSession(s)
	return s, nil
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
