package mcpserver

import (
	"net/http"
	"sync"
	"time"
)

// registry holds the sessions of a Server that count towards Options.Sessions: those over HTTP,
// SSE and WebSocket.
type registry struct {
	server *Server

	mu       sync.Mutex          // guards the fields below
	sessions map[string]*session // by id
	closed   bool
}

// add registers a session. At the bound it evicts the session unused longest that is not in use.
func (r *registry) add(added *session) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errClosing
	}
	if most := r.server.opts.Sessions; len(r.sessions) >= most && !r.evict() {
		r.server.opts.Log.Warn("refused a session: too many are in use", "limit", most)
		return unavailable("too many sessions: %d (limits.sessions in the config)", most)
	}
	r.sessions[added.id] = added
	return nil
}

// register adds the session of an HTTP request, or answers the request with the reason, ends the
// session and reports false.
func (r *registry) register(added *session, w http.ResponseWriter) bool {
	err := r.add(added)
	if err != nil {
		added.end()
		writeError(w, http.StatusServiceUnavailable, err.Error())
	}
	return err == nil
}

// evict ends the session unused longest to make room, and reports whether it could; r.mu is held.
func (r *registry) evict() bool {
	var oldest *session
	for _, s := range r.sessions {
		if (oldest == nil || s.used.Load() < oldest.used.Load()) && !s.inUse() {
			oldest = s
		}
	}
	if oldest == nil || oldest.unused() < idleEnough || !r.server.start(oldest.end) {
		return false
	}
	r.server.opts.Log.Warn("ended the session unused longest: too many sessions", "limit", r.server.opts.Sessions)
	delete(r.sessions, oldest.id)
	return true
}

// find returns a session for a caller that may continue it, else nil.
func (r *registry) find(id string, sender identity) *session {
	r.mu.Lock()
	found := r.sessions[id]
	r.mu.Unlock()
	if found == nil || !sender.continues(found.sender) { // knowing an id proves nothing
		return nil
	}
	return found
}

// endSession removes a session and ends it.
func (r *registry) endSession(s *session) {
	r.mu.Lock()
	delete(r.sessions, s.id)
	r.mu.Unlock()
	s.end()
}

// close ends all sessions, and keeps others from being added.
func (r *registry) close() {
	r.mu.Lock()
	sessions := r.sessions
	r.sessions, r.closed = nil, true
	r.mu.Unlock()
	for _, s := range sessions {
		s.end()
	}
}

// expire ends sessions that are unused for too long, until the Server is closed.
func (r *registry) expire() {
	idle := r.server.opts.SessionIdle
	tick := time.NewTicker(max(idle/10, time.Second))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-r.server.ctx.Done():
			return
		}
		var expired []*session
		r.mu.Lock()
		for id, s := range r.sessions {
			if !s.inUse() && s.unused() > idle {
				expired = append(expired, s)
				delete(r.sessions, id)
			}
		}
		r.mu.Unlock()
		for _, s := range expired {
			s.end()
		}
	}
}
