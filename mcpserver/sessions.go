package mcpserver

import (
	"errors"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// create makes the session that an initialize asks for; nil when it has been refused.
func (s *Server) create(w http.ResponseWriter, r *http.Request, who identity) *session {
	if r.Header.Get(mcp.HeaderSessionID) != "" {
		writeError(w, http.StatusBadRequest, nil, "initialize starts a session: send it without Mcp-Session-Id")
		return nil
	}
	one := s.newHTTPSession(who)
	if err := s.add(one); err != nil {
		one.end()
		writeError(w, http.StatusServiceUnavailable, nil, err.Error())
		return nil
	}
	return one
}

// named finds the session that a request names; nil when it has been refused.
func (s *Server) named(w http.ResponseWriter, r *http.Request, who identity) *session {
	id := r.Header.Get(mcp.HeaderSessionID)
	if id == "" {
		writeError(w, http.StatusBadRequest, nil, "Mcp-Session-Id is missing: send initialize first")
		return nil
	}
	one := s.find(id, who)
	if one == nil || one.journal == nil { // one of legacy SSE has no streams here
		writeError(w, http.StatusNotFound, nil, "no such session: it has ended, or began with another token or context header; send initialize anew")
		return nil
	}
	return one
}

func (s *Server) find(id string, who identity) *session {
	s.mu.Lock()
	one := s.sessions[id]
	s.mu.Unlock()
	if one == nil || !who.continues(one.who) { // an id is no proof of who one is
		return nil
	}
	return one
}

// idleEnough is how long a session must have been unused to make room for a new one.
const idleEnough = time.Minute

// add registers a session. At the bound the one unused longest makes room, if there is one
// that is not in use.
func (s *Server) add(one *session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errors.New("the bridge is shutting down")
	}
	if len(s.sessions) >= s.opts.Sessions {
		var oldest *session
		for _, other := range s.sessions {
			if (oldest == nil || other.used.Load() < oldest.used.Load()) && !other.inUse() {
				oldest = other
			}
		}
		if oldest == nil || time.Since(time.Unix(0, oldest.used.Load())) < idleEnough {
			s.log.Warn("refused a session: too many are in use", "limit", s.opts.Sessions)
			return toolformat.Errorf(toolformat.Unavailable, "too many sessions: %d (limits.sessions in the config)", s.opts.Sessions)
		}
		s.log.Warn("ended the session unused longest: too many sessions", "limit", s.opts.Sessions)
		delete(s.sessions, oldest.id)
		s.wg.Go(oldest.end)
	}
	s.sessions[one.id] = one
	return nil
}

// remove ends a session.
func (s *Server) remove(one *session) {
	s.mu.Lock()
	delete(s.sessions, one.id)
	s.mu.Unlock()
	one.end()
}

// sweep ends sessions that nobody has used for long.
func (s *Server) sweep() {
	t := time.NewTicker(max(s.opts.SessionIdle/10, time.Second))
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-s.ctx.Done():
			return
		}
		var idle []*session
		s.mu.Lock()
		for id, one := range s.sessions {
			if !one.inUse() && time.Since(time.Unix(0, one.used.Load())) > s.opts.SessionIdle {
				idle = append(idle, one)
				delete(s.sessions, id)
			}
		}
		s.mu.Unlock()
		for _, one := range idle {
			one.end()
		}
	}
}

// newHTTPSession makes a session whose own voice is a GET stream.
func (s *Server) newHTTPSession(who identity) *session {
	one := s.newSession(who, nil)
	one.journal = &journal{limit: s.opts.ResumeBytes, total: &s.journals, streams: map[int64]*stream{}}
	one.standing = voice{one}
	return one
}

// inUse reports whether requests are under way or a stream is being read.
func (s *session) inUse() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.under) > 0 || s.readers.Load() > 0
}
