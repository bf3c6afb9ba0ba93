package peer

import (
	"context"
	"sync"
	"testing"
	"time"
)

// patience bounds what a test waits for; only a fault makes a test wait so long.
const patience = time.Minute

// State guards what tests change and wait for. The zero value is ready to use.
type State struct {
	mu   sync.Mutex
	turn chan struct{} // closed by the next Update; nil when nothing waits
}

// Update changes the state.
func (s *State) Update(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	if s.turn != nil {
		close(s.turn)
		s.turn = nil
	}
}

// Read looks at the state.
func (s *State) Read(look func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	look()
}

// Until waits until ok, which it calls with the state locked. It reports whether ok was true
// before ctx ended.
func (s *State) Until(ctx context.Context, ok func() bool) bool {
	for {
		s.mu.Lock()
		done := ok()
		if s.turn == nil {
			s.turn = make(chan struct{})
		}
		turn := s.turn
		s.mu.Unlock()
		if done {
			return true
		}
		select {
		case <-turn:
		case <-ctx.Done():
			return false
		}
	}
}

// MustUntil is Until for at most 20 seconds, after which it fails the test.
func (s *State) MustUntil(t testing.TB, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if !s.Until(ctx, ok) {
		t.Fatalf("%s does not happen", what)
	}
}
