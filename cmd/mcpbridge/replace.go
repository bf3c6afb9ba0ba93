package main

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/mod/semver"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/daemon"
)

// A binary is what a program was started from.
type binary struct {
	version, path string
	built         time.Time // of the file; zero if unknown
}

func thisBinary() binary {
	b := binary{}
	b.version, _ = build()
	if path, err := os.Executable(); err == nil {
		b.path = path
		if info, err := os.Stat(path); err == nil {
			b.built = info.ModTime()
		}
	}
	return b
}

// newer reports whether a binary is to replace another one that runs: it has a later version, of which one
// that cannot be compared is the first, or both have none and its file is later. This is a strict order:
// binaries do not replace each other in turns. Packages may give each file the same time.
func (b binary) newer(old binary) bool {
	if b.path == "" { // as of a command that completes words: it cannot be started
		return false
	}
	if order := semver.Compare(b.version, old.version); order != 0 || semver.IsValid(b.version) {
		return order > 0
	}
	return b.built.After(old.built)
}

// A replacement ends a daemon whose window has a newer binary, once no call is under way, and starts that
// binary in its place.
type replacement struct {
	own   binary
	place daemon.Place
	kept  bool         // a service manager starts the daemon again, from own.path
	calls atomic.Int64 // under way
	once  sync.Once
	end   func() // ends the daemon
}

// idleCheck is how often a daemon that is to be replaced looks for calls.
const idleCheck = 50 * time.Millisecond

// offer looks at the binary of a window.
func (r *replacement) offer(ctx context.Context, b binary) {
	if !b.newer(r.own) || r.kept && b.path != r.own.path { // it would start this one again, and so on
		return
	}
	r.once.Do(func() {
		go func() { // which ends with the daemon
			tick := time.NewTicker(idleCheck)
			defer tick.Stop()
			for r.calls.Load() > 0 {
				select {
				case <-tick.C:
				case <-ctx.Done():
					return
				}
			}
			// Until this process has ended no window starts an older daemon.
			if r.kept || daemon.Succeed(ctx, r.place, b.path, "daemon", "--config", r.place.Named) == nil {
				r.end()
			}
		}()
	})
}

// count returns a source whose requests are counted.
func (r *replacement) count(source bridge.Source) bridge.Source {
	return bridge.Wrap(source, func(below bridge.Session, _ *bridge.Caller) (bridge.Session, error) {
		return &countedSession{below, &r.calls}, nil
	})
}

type countedSession struct {
	bridge.Session
	calls *atomic.Int64
}

func (s *countedSession) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	s.calls.Add(1)
	defer s.calls.Add(-1)
	return s.Session.Do(ctx, req)
}
