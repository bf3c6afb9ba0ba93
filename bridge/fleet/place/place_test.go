package place

import "testing"

// SetServers starts nothing once Places is closed.
func TestSetServersClosed(t *testing.T) {
	s := New()
	s.Close()
	s.SetServers(map[string]Server{"late": {}})
	if _, _, ok := s.Runner("late"); ok {
		t.Error("it has a server after Close")
	}
}
