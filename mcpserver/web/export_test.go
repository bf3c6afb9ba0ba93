package web

import (
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// SetAway bounds the calls to other nodes.
func (l *Lending) SetAway(most int) { l.away = bridge.NewLimiter("the way is", most, 0).Among(2) }

// CheckLeftover fails a test, whose server is closed, if anything is lent or seen still.
func (l *Lending) CheckLeftover(t testing.TB) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for principal, g := range l.groups {
		t.Errorf("principal %q has %d users left, %d sessions and %d tabs", principal.Name, g.users, len(g.sessions), len(g.tabs))
	}
}
