package mcpserver

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// postLegacy takes a message of a session.
func (s *Server) postLegacy(w http.ResponseWriter, r *http.Request, sender identity, m *wire.Message, accept accepted) {
	var target *session
	if m.Kind() == wire.Request && m.Method == wire.MethodInitialize {
		target = s.createSession(w, r, sender)
	} else {
		target = s.namedSession(w, r, sender)
	}
	switch {
	case target == nil:
	case target.accept(m):
		w.WriteHeader(http.StatusAccepted)
	default:
		s.answer(w, r, target, m, accept)
	}
}

// answer answers one request, which runs under its session and not under the HTTP request: a lost
// connection does not cancel it (2025-11-25, transports).
func (s *Server) answer(w http.ResponseWriter, r *http.Request, target *session, m *wire.Message, accept accepted) {
	if m.Method == wire.MethodInitialize {
		w.Header().Set(mcp.HeaderSessionID, target.id)
	}
	x := s.beginExchange(&exchange{session: target, id: m.ID}, w, r, accept)
	resp := target.respond(target.ctx, m, x)
	if target.opened.Load() == nil { // initialize failed
		x.withdraw(mcp.HeaderSessionID)
		s.sessions.endSession(target)
	}
	if resp.discard {
		resp.reply.Free()
		x.finish(nil)
		return
	}
	x.finish(&resp)
}

// postBatch takes a JSON-RPC batch. The responses are sent as one array.
func (s *Server) postBatch(w http.ResponseWriter, r *http.Request, sender identity, msg *wire.Buffer, accept accepted) {
	target := s.namedSession(w, r, sender)
	if target == nil {
		return
	}
	members, err := target.batchMembers(msg.B)
	if err != nil {
		writeUnreadable(w, err)
		return
	}
	x := s.beginExchange(&exchange{session: target}, w, r, accept)
	if responses := target.batch(target.ctx, members, x); responses != nil {
		x.finish(responses)
	} else {
		x.finish(nil)
	}
}

// get opens the stream on which a session sends what belongs to no request, or resumes a stream.
func (s *Server) get(w http.ResponseWriter, r *http.Request, sender identity) {
	if accept, _ := accepts(r); !accept.events || r.Header.Get("Accept") == "" {
		w.Header().Set("Allow", "GET, POST, DELETE")
		writeError(w, http.StatusNotAcceptable, "a GET opens an event stream: the client must accept text/event-stream")
		return
	}
	target := s.namedSession(w, r, sender)
	if target == nil {
		return
	}
	number, after, ok := int64(0), int64(-1), true
	if last := r.Header.Get(mcp.HeaderLastEventID); last != "" {
		number, after, ok = parseEventID(last)
	}
	if !ok {
		writeError(w, http.StatusBadRequest, "Last-Event-ID is not one of this session")
		return
	}
	st := target.journal.find(number)
	if number == 0 && (st == nil || after < 0) {
		st = target.journal.sessionStream()
	}
	if st != nil {
		st.serve(r.Context(), w, after)
		return
	}
	out := newEventWriter(w) // of a stream that has ended
	target.journal.replay(out, number, after)
	out.flush()
}

func parseEventID(id string) (number, seq int64, ok bool) {
	a, b, found := strings.Cut(id, "-")
	number, err1 := strconv.ParseInt(a, 10, 64)
	seq, err2 := strconv.ParseInt(b, 10, 64)
	return number, seq, found && errors.Join(err1, err2) == nil && number >= 0 && seq >= 0
}

// createSession returns a new session for an initialize; nil means that it has been refused.
func (s *Server) createSession(w http.ResponseWriter, r *http.Request, sender identity) *session {
	if r.Header.Get(mcp.HeaderSessionID) != "" {
		writeError(w, http.StatusBadRequest, "initialize starts a session: send it without Mcp-Session-Id")
		return nil
	}
	created := s.newHTTPSession(sender)
	if !s.sessions.register(created, w) {
		return nil
	}
	return created
}

// newHTTPSession returns a session whose messages go to streams.
func (s *Server) newHTTPSession(sender identity) *session {
	created := s.newSession(sender)
	created.journal = &journal{session: created, limit: s.opts.ResumeBytes, total: &s.journals, streams: map[int64]*stream{}}
	created.back = unrelated{created}
	return created
}

// namedSession returns the session that a request names; nil means that it has been refused.
func (s *Server) namedSession(w http.ResponseWriter, r *http.Request, sender identity) *session {
	id := r.Header.Get(mcp.HeaderSessionID)
	if id == "" {
		writeError(w, http.StatusBadRequest, "Mcp-Session-Id is missing: send initialize first")
		return nil
	}
	found := s.sessions.find(id, sender)
	if found == nil || found.journal == nil { // an SSE session has no streams here
		writeError(w, http.StatusNotFound, "no such session: it has ended, or began with another token or context header; send initialize again")
		return nil
	}
	return found
}
