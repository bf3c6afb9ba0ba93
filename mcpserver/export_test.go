package mcpserver

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"
)

// SetSlowTime sets how long a WebSocket client may take nothing from a full outbox.
func (s *Server) SetSlowTime(d time.Duration) { s.slowTime = d }

// Listen returns the listener that Serve uses on ln.
func (s *Server) Listen(ln net.Listener, web *http.Server) interface {
	net.Listener
	Shutdown(context.Context)
} {
	return s.listen(ln, web)
}

// CheckLeftover fails a test whose server has closed, if a principal goes on using something that
// all share. A connection that has been told to end may need a moment.
func (s *Server) CheckLeftover(t *testing.T) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for r := range resources {
		for end := time.Now().Add(time.Minute); s.opts().accounts.whole.used[r].Load() != 0; <-tick.C {
			if time.Now().After(end) {
				t.Errorf("after the end there are %d of resource %d", s.opts().accounts.whole.used[r].Load(), r)
				break
			}
		}
	}
}
