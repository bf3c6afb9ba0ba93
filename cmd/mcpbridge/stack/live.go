package stack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/swap"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

// A Live is a Stack whose config can change while sessions are open: a [bridge.Source] of the Stack of
// the latest config that could be used.
type Live struct {
	opts    Options
	swap    *swap.Source
	current atomic.Pointer[Stack]

	mu sync.Mutex // held by Reload and Close
}

// NewLive returns a Live that begins with a Stack, which it closes. The Stack was made with opts, whose
// Pool is not nil.
func NewLive(first *Stack, opts Options) *Live {
	opts.Log = cmp.Or(opts.Log, slog.New(slog.DiscardHandler))
	l := &Live{opts: opts, swap: swap.New(first, opts.Log)}
	l.current.Store(first)
	return l
}

// Open opens a session, which outlives changes of the config.
func (l *Live) Open(ctx context.Context, caller *bridge.Caller) (bridge.Session, error) {
	return l.swap.Open(ctx, caller)
}

// Stack returns the current Stack.
func (l *Live) Stack() *Stack { return l.current.Load() }

// Reload replaces the Stack by that of another config. Servers whose definitions are the same keep their
// connections and processes; calls in flight end where they began, and callers are notified of the lists
// that change. After an error nothing has changed: a file could not be used, or something that works
// would be lost to a fault. applying, which may be nil, is called with what no error can stop any more,
// before it is in use. Reload returns when the sessions use the new Stack, after 3 s at most.
func (l *Live) Reload(cfg *config.Config, applying func(*config.Config)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.Stack()
	if err := newFaults(old.cfg, cfg); err != nil {
		return err
	}
	next, err := build(cfg, l.opts)
	if err != nil {
		return err
	}
	err = next.natives.newlyBroken(old.natives)
	if err == nil {
		err = next.govern(&l.opts)
	}
	if err != nil {
		return errors.Join(err, next.Close())
	}
	if old.chosen.Load() != nil {
		next.chosen.Store(old.chosen.Load())
	}
	if applying != nil {
		applying(cfg)
	}
	l.current.Store(next)
	l.swap.Replace(next, func() {
		if err := old.Close(); err != nil {
			l.opts.Log.Warn(err.Error())
		}
	})
	return nil
}

// newFaults returns the faults of servers and providers that have none in the running config.
func newFaults(running, cfg *config.Config) error {
	works := map[string]bool{}
	for _, server := range running.Servers {
		works["server "+server.Name] = server.Fault == nil
	}
	for _, provider := range running.Providers {
		works["provider "+provider.Name] = provider.Fault == nil
	}
	var faults []error
	for _, server := range cfg.Servers {
		if server.Fault != nil && works["server "+server.Name] {
			faults = append(faults, fmt.Errorf("%s:%d: %w", cfg.Path, server.Line, server.Fault))
		}
	}
	for _, provider := range cfg.Providers {
		if provider.Fault != nil && works["provider "+provider.Name] {
			faults = append(faults, fmt.Errorf("%s: %w", cfg.Path, provider.Fault))
		}
	}
	return errors.Join(faults...)
}

// newlyBroken returns the faults of whole files that have none in the running config.
func (n *nativeLoader) newlyBroken(running *nativeLoader) error {
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(n.broken)) {
		if _, before := running.broken[name]; !before {
			faults = append(faults, errors.New(n.broken[name]))
		}
	}
	return errors.Join(faults...)
}

// Close closes the current Stack, and waits for those before it. All sessions must have been closed.
func (l *Live) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.swap.Close()
	return l.Stack().Close()
}
