package web

import "testing"

// CheckLeftover fails a test, whose server is closed, if anything is lent or seen still.
func (l *Lending) CheckLeftover(t testing.TB) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for principal, g := range l.groups {
		t.Errorf("principal %q has %d users left, %d sessions and %d tabs", principal.Name, g.users, len(g.sessions), len(g.tabs))
	}
}
