package swap

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// A Source is a source whose inner source can be replaced. It may be used from many goroutines.
type Source struct {
	log       *slog.Logger
	replacing sync.Mutex     // held by Replace
	work      sync.WaitGroup // goroutines that Close waits for

	mu       sync.Mutex // guards the fields below, and those of an inner
	current  *inner
	sessions map[*session]struct{}
}

// inner is a source that is the current one or has been.
type inner struct {
	bridge.Source
	users  int    // generations that are open, or being opened
	unused func() // the parameter of Replace
}

// New returns a Source in front of another one. log may be nil.
func New(source bridge.Source, log *slog.Logger) *Source {
	return &Source{
		log: cmp.Or(log, slog.New(slog.DiscardHandler)), current: &inner{Source: source}, sessions: map[*session]struct{}{},
	}
}

// Open opens a session of the current inner source.
func (s *Source) Open(ctx context.Context, caller *bridge.Caller) (bridge.Session, error) {
	opened := &session{source: s, caller: caller, setting: make(chan struct{}, 1), watched: map[string]bool{}}
	for {
		in := s.use()
		g := opened.newGeneration(in)
		if err := opened.open(ctx, g); err != nil {
			g.end()
			return nil, err
		}
		opened.current.Store(g)
		opened.notifier.set(g)
		s.mu.Lock()
		current := s.current == in
		if current {
			s.sessions[opened] = struct{}{}
		}
		s.mu.Unlock()
		if current {
			return opened, nil
		}
		g.end() // replaced meanwhile
	}
}

// use returns the current inner source, which release must be called for.
func (s *Source) use() *inner {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current.users++
	return s.current
}

func (s *Source) release(in *inner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in.users--
	s.checkUnused(in)
}

// checkUnused tells the owner of a former source when no session uses it any more. s.mu is held.
func (s *Source) checkUnused(in *inner) {
	if in != s.current && in.users == 0 && in.unused != nil {
		s.work.Go(in.unused)
		in.unused = nil
	}
}

// moveTime bounds how long a session waits for the lists of a new inner source, and for what it repeats
// there, before it moves. It is longer than the wait of a Bridge's first lists for servers that connect.
const moveTime = 3 * time.Second

// Replace makes another source the inner one of all sessions, and returns when they have moved to it,
// after 3 s at most. unused, which may be nil, is called in a goroutine when no request uses the former
// source any more, so that it can be closed. Requests in flight on that are not bounded by Replace.
func (s *Source) Replace(next bridge.Source, unused func()) {
	s.replacing.Lock()
	defer s.replacing.Unlock()
	s.mu.Lock()
	former := s.current
	former.unused = unused
	s.current = &inner{Source: next}
	sessions := slices.Collect(maps.Keys(s.sessions))
	s.checkUnused(former)
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), moveTime)
	defer cancel()
	var moving sync.WaitGroup
	for _, moved := range sessions {
		moving.Go(func() { moved.move(ctx) })
	}
	moving.Wait()
}

// Close waits until the former sources are unused, and their owners have been told. All sessions must
// have been closed. The current inner source stays its owner's to close.
func (s *Source) Close() error {
	s.replacing.Lock()
	defer s.replacing.Unlock()
	s.work.Wait()
	return nil
}
