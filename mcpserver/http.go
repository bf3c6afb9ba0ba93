package mcpserver

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Handler serves every HTTP carrier: /mcp, /sse and its messages, /ws, /ws/ticket, what
// Options.Behind has, /healthz and /readyz. Host and Origin are checked on every path, the token on all
// but the health checks.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", s.known(s.serveMCP))
	mux.HandleFunc("/sse", s.known(s.serveSSE))
	mux.HandleFunc(ssePath, s.known(s.serveSSEMessage))
	mux.HandleFunc("POST /ws/ticket", s.known(s.serveTicket))
	mux.HandleFunc("OPTIONS /ws/ticket", s.known(s.serveTicket))
	mux.HandleFunc("/ws", s.serveWS)
	for pattern, handler := range s.opts.Protected {
		mux.HandleFunc(pattern, s.known(func(w http.ResponseWriter, r *http.Request, who identity) {
			handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), identityKey{}, who)))
		}))
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok\n")) })
	ready := s.opts.Ready
	if ready == nil {
		ready = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok\n")) })
	}
	mux.Handle("GET /readyz", ready)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			// net/http reads what is left of a body before it sends a refusal.
			http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.opts.ReadTimeout))
		}
		if no := s.opts.Access.admit(r); no != nil {
			s.refuse(w, r, no)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// refuse turns somebody away, and says so in the log.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, no *refusal) {
	s.log.Info("refused", "path", r.URL.Path, "from", r.RemoteAddr, "status", no.status, "reason", no.reason)
	no.write(w)
}

// known lets in who has a token, with CORS for pages of allowed origins.
func (s *Server) known(next func(http.ResponseWriter, *http.Request, identity)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.allowCORS(w, r) {
			return
		}
		p, no := s.opts.Access.identify(bearer(r))
		if no != nil {
			s.refuse(w, r, no)
			return
		}
		next(w, r, s.identity(p, r))
	}
}

// serveMCP is streamable HTTP.
func (s *Server) serveMCP(w http.ResponseWriter, r *http.Request, who identity) {
	if v := r.Header.Get(wire.HeaderProtocol); v != "" && v < wire.ModernRevision && !slices.Contains(wire.Revisions, v) {
		writeError(w, http.StatusBadRequest, nil, "unsupported MCP-Protocol-Version: "+quote(v)+" (supported: "+strings.Join(wire.Revisions, ", ")+")")
		return
	}
	if r.Method != http.MethodPost && r.Header.Get(wire.HeaderProtocol) >= wire.ModernRevision {
		w.Header().Set("Allow", http.MethodPost)
		writeError(w, http.StatusMethodNotAllowed, nil, "revision "+wire.ModernRevision+" has neither a stream nor a session of its own: use POST")
		return
	}
	switch r.Method {
	case http.MethodPost:
		s.post(w, r, who)
	case http.MethodGet:
		s.get(w, r, who)
	case http.MethodDelete:
		if one := s.named(w, r, who); one != nil {
			s.remove(one)
			w.WriteHeader(http.StatusOK)
		}
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		writeError(w, http.StatusMethodNotAllowed, nil, "use POST, GET or DELETE")
	}
}

// post takes one message or a batch.
func (s *Server) post(w http.ResponseWriter, r *http.Request, who identity) {
	accept, ok := accepts(r)
	if !ok {
		writeError(w, http.StatusNotAcceptable, nil, "the client must accept application/json and text/event-stream")
		return
	}
	msg := s.readBody(w, r)
	if msg == nil {
		return
	}
	defer msg.Free()
	m, err := wire.Split(msg.B)
	if err != nil && isBatch(msg.B) {
		s.postBatch(w, r, who, msg, accept)
		return
	}
	if err != nil {
		s.unreadable(w, err)
		return
	}
	if modernPost(r, &m) {
		s.postModern(w, r, who, &m, accept)
		return
	}
	var one *session
	if m.Kind() == wire.Request && m.Method == wire.MethodInitialize {
		one = s.create(w, r, who)
	} else {
		one = s.named(w, r, who)
	}
	if one == nil {
		return
	}
	switch m.Kind() {
	case wire.Notification:
		one.notified(&m)
		w.WriteHeader(http.StatusAccepted)
	case wire.Response:
		one.asking.answered(&m)
		w.WriteHeader(http.StatusAccepted)
	case wire.Request:
		s.exchange(w, r, one, &m, accept)
	}
}

// exchange answers one request: as JSON, or as a stream of events once something
// belongs to it or it takes long.
func (s *Server) exchange(w http.ResponseWriter, r *http.Request, one *session, m *wire.Message, accept accepted) {
	// A lost connection is no cancellation (2025-11-25, transports): the request runs
	// under its session, not under the HTTP request.
	if m.Method == wire.MethodInitialize {
		w.Header().Set(wire.HeaderSession, one.id)
	}
	x := (&exchange{server: s, session: one, w: w, ctx: r.Context(), accept: accept, id: m.ID}).begin()
	resp := one.respond(one.ctx, m, x)
	if one.opened.Load() == nil { // initialize failed
		x.withdraw(wire.HeaderSession)
		s.remove(one)
	}
	if resp.mute {
		resp.reply.Free()
		x.finish(nil)
		return
	}
	x.finish(&resp)
}

var jsonType = []string{"application/json"}

// readBody reads a request's body whole; nil when it has been answered with an error.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) *wire.Buffer {
	if t := r.Header.Get("Content-Type"); t != "application/json" {
		if kind, _, _ := mime.ParseMediaType(t); kind != "application/json" {
			writeError(w, http.StatusUnsupportedMediaType, nil, "Content-Type must be application/json")
			return nil
		}
	}
	limit := s.opts.MessageBytes
	if r.ContentLength > int64(limit) {
		s.tooLarge(w)
		return nil
	}
	msg := wire.NewBodyBuffer(r.ContentLength)
	err := wire.ReadAll(msg, r.Body, limit)
	if err == nil {
		http.NewResponseController(w).SetReadDeadline(time.Time{})
	}
	switch {
	case err != nil:
		s.badBody(w, err)
	case len(msg.B) == 0:
		writeError(w, http.StatusBadRequest, nil, "the request body is empty")
	default:
		return msg
	}
	msg.Free()
	return nil
}

func (s *Server) badBody(w http.ResponseWriter, err error) {
	var long *wire.TooLongError
	if errors.As(err, &long) {
		s.tooLarge(w)
		return
	}
	writeError(w, http.StatusBadRequest, nil, "the request body did not arrive whole")
}

func (s *Server) tooLarge(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	writeError(w, http.StatusRequestEntityTooLarge, nil, "the message is larger than "+strconv.Itoa(s.opts.MessageBytes)+" bytes (limits.messageBytes in the config)")
}

// unreadable answers what is no JSON-RPC message.
func (s *Server) unreadable(w http.ResponseWriter, err error) {
	w.Header()["Content-Type"] = jsonType
	w.WriteHeader(http.StatusBadRequest)
	w.Write(appendUnreadable(nil, err))
}

// appendUnreadable is the error response to what is no JSON-RPC message.
func appendUnreadable(dst []byte, err error) []byte {
	var e *wire.Error
	if !errors.As(err, &e) {
		e = &wire.Error{Code: wire.InvalidRequest, Message: err.Error()}
	}
	return wire.AppendError(dst, e.ID, e.Code, e.Message, nil)
}

// writeError answers with an HTTP status and a JSON-RPC error that explains it, which
// is what MCP clients show.
func writeError(w http.ResponseWriter, status int, id []byte, message string) {
	w.Header()["Content-Type"] = jsonType
	w.WriteHeader(status)
	w.Write(wire.AppendError(nil, id, -32000, message, nil))
}

func quote(s string) string {
	if len(s) > 40 {
		s = s[:40]
	}
	return strconv.Quote(s)
}

// accepted is what a client takes as an answer.
type accepted struct{ json, events bool }

// accepts reads the Accept header. A client that sends none takes anything.
func accepts(r *http.Request) (a accepted, ok bool) {
	header := strings.Join(r.Header.Values("Accept"), ",")
	if header == "application/json, text/event-stream" || header == "" {
		return accepted{true, true}, true
	}
	for part := range strings.SplitSeq(header, ",") {
		kind, _, _ := strings.Cut(part, ";")
		switch strings.ToLower(strings.TrimSpace(kind)) {
		case "*/*":
			a = accepted{true, true}
		case "application/json", "application/*":
			a.json = true
		case "text/event-stream", "text/*":
			a.events = true
		}
	}
	return a, a.json || a.events
}

// create makes the session that an initialize asks for; nil when it has been refused.
func (s *Server) create(w http.ResponseWriter, r *http.Request, who identity) *session {
	if r.Header.Get(wire.HeaderSession) != "" {
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
	id := r.Header.Get(wire.HeaderSession)
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
