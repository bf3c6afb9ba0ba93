package mcpserver

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// A Server serves one source to many clients. Its methods may be called by many goroutines at
// once.
type Server struct {
	core
	hidden   hiddenHeaders
	tickets  tickets
	upgrader streamUpgrader
	sessions registry
	views    viewPool     // of HTTP clients of the modern era
	parking  parking      // calls that wait for an answer of a modern client
	frames   sync.Pool    // write buffers of WebSocket connections
	journals atomic.Int64 // bytes in all journals
}

// New returns a Server of source, which must stay open until the Server is closed.
func New(source bridge.Source, opts Options) *Server {
	s := &Server{
		core:     core{source: source, opts: opts.withDefaults()},
		hidden:   newHiddenHeaders(opts.HiddenHeaders),
		tickets:  tickets{issued: map[string]ticket{}},
		upgrader: streamUpgrader{waiting: map[*exchange]time.Time{}},
		sessions: registry{sessions: map[string]*session{}},
		parking:  parking{life: parkTime, most: maxParked, calls: map[string]*parkedCall{}},
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.sessions.core = &s.core
	s.views.core, s.views.parking, s.views.ctx = &s.core, &s.parking, s.ctx
	s.work.Go(s.sessions.expire)
	return s
}

// Close ends every session and waits until nothing of the Server runs any more.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	s.sessions.close()
	s.views.close()
	s.parking.close()
	s.work.Wait()
	return nil
}

// newSession returns a session whose carrier must set back before it is used.
func (s *Server) newSession(sender identity) *session {
	created := &session{core: &s.core, id: newID(), sender: sender, pending: map[string]context.CancelCauseFunc{}}
	created.ctx, created.cancel = context.WithCancelCause(s.ctx)
	created.views.core, created.views.parking, created.views.ctx = &s.core, &s.parking, created.ctx
	created.touch()
	return created
}

// beginExchange makes an exchange ready for what belongs to its request.
func (s *Server) beginExchange(x *exchange, w http.ResponseWriter, r *http.Request, accept accepted) *exchange {
	x.core, x.upgrader, x.w, x.ctx, x.accept = &s.core, &s.upgrader, w, r.Context(), accept
	if accept.events {
		s.upgrader.watch(x)
	}
	return x
}
