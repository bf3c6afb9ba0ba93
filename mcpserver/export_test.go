package mcpserver

import (
	"testing"
	"time"
)

// SetSlowTime sets how long a WebSocket client may take nothing from a full outbox.
func (s *Server) SetSlowTime(d time.Duration) { s.slowTime = d }

// CheckLeftover fails a test whose server has closed, if a principal still uses something that all
// share.
func (s *Server) CheckLeftover(t *testing.T) {
	for r := range resources {
		if n := s.accounts.whole.used[r].Load(); n != 0 {
			t.Errorf("after the end there are %d of resource %d", n, r)
		}
	}
}
