package mcpserver

import (
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// registry holds the sessions of a Server that count towards Options.Sessions: those over HTTP,
// SSE and WebSocket.
type registry struct {
	server *Server

	mu       sync.Mutex               // guards the fields below
	sessions map[string]*session      // by id
	guests   map[string]*guest        // by id; sessions of other nodes
	adopting map[string]chan struct{} // by id; closed when another node's session has become one of this node, or has not
	closed   bool
}

// add registers a session. At the bound it evicts the session of the same principal that is unused
// longest.
func (r *registry) add(added *session) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errClosing
	}
	if !r.server.opts().admits(&added.sender) {
		return errEnded // Update has shut it out meanwhile
	}
	own := added.account
	if !own.take(openSessions, 1) && !(r.evict(own) && own.take(openSessions, 1)) {
		r.server.log.Log(slog.LevelWarn, "refused a session: too many are in use", "principal", added.sender.principal.Name, "limit", own.most[openSessions].Load())
		return own.exhausted("sessions", openSessions)
	}
	r.sessions[added.id] = added
	return nil
}

// remove removes a session, if it is there; r.mu is held.
func (r *registry) remove(s *session) {
	if r.sessions[s.id] == s {
		delete(r.sessions, s.id)
		s.account.give(openSessions, 1)
	}
}

// register adds the session of an HTTP request, or answers the request with the reason, ends the
// session and reports false.
func (r *registry) register(added *session, w http.ResponseWriter) bool {
	err := r.add(added)
	if err != nil {
		added.end(errEnded)
		writeError(w, http.StatusServiceUnavailable, err.Error())
	}
	return err == nil
}

// evict ends the session unused longest to make room, and reports whether it could: one of the same
// principal or, if that has not used up its share, of any. r.mu is held.
func (r *registry) evict(own *account) bool {
	if !own.maySearch(openSessions) {
		return false
	}
	oldest := r.oldest(own)
	if oldest == nil && own.used[openSessions].Load() < own.most[openSessions].Load() {
		oldest = r.oldest(nil)
	}
	if oldest == nil || !r.server.start(func() { oldest.end(errEnded) }) {
		own.searchedInVain(openSessions)
		return false
	}
	r.server.log.Log(slog.LevelWarn, "ended the session unused longest: too many sessions", "principal", oldest.sender.principal.Name, "limit", own.most[openSessions].Load())
	r.remove(oldest)
	return true
}

// oldest returns the session of a principal, or of any for nil, that is unused longest, and for at
// least idleEnough. r.mu is held.
func (r *registry) oldest(own *account) (oldest *session) {
	for _, s := range r.sessions {
		older := oldest == nil || s.used.Load() < oldest.used.Load()
		if older && (own == nil || s.account == own) && s.unused() >= idleEnough && !s.inUse() {
			oldest = s
		}
	}
	return oldest
}

// has reports whether there is a session.
func (r *registry) has(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sessions[id] != nil
}

// find returns a session for a caller that may continue it, else nil.
func (r *registry) find(id string, sender identity) *session {
	r.mu.Lock()
	found := r.sessions[id]
	r.mu.Unlock()
	if found == nil || !sender.continues(found.sender) { // knowing an id proves nothing
		return nil
	}
	if token := sender.token; token != *found.token.Load() {
		found.token.Store(&token)
	}
	return found
}

// endSession removes a session and ends it. Once the Server is being closed, close does that.
func (r *registry) endSession(s *session) {
	r.mu.Lock()
	open := r.server.begin() // which Close waits for
	if open {
		r.remove(s)
	}
	r.mu.Unlock()
	if open {
		defer r.server.work.Done()
		s.end(errEnded)
	}
}

// close ends all sessions, and keeps others from being added.
func (r *registry) close() {
	r.mu.Lock()
	sessions := r.sessions
	r.sessions, r.closed = nil, true
	r.mu.Unlock()
	for _, s := range r.dropGuests(func(string, *guest) bool { return true }) {
		s.end(errClosing)
	}
	for _, s := range sessions {
		s.account.give(openSessions, 1)
		s.end(errClosing)
	}
}

// expire ends sessions that are unused for too long, until the Server is closed.
func (r *registry) expire() {
	for {
		idle := r.server.opts().SessionIdle
		select {
		case <-time.After(min(max(idle/10, time.Second), time.Minute)): // it may change
		case <-r.server.ctx.Done():
			return
		}
		var expired []*session
		r.mu.Lock()
		for _, s := range r.sessions {
			if !s.inUse() && s.unused() > idle {
				expired = append(expired, s)
				r.remove(s)
			}
		}
		r.mu.Unlock()
		expired = append(expired, r.dropGuests(func(_ string, g *guest) bool {
			return g.unused() > min(idle, guestIdle) && (g.session == nil || !g.session.inUse())
		})...)
		for _, s := range expired {
			s.end(errEnded)
		}
	}
}
