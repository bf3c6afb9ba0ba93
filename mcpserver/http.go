package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// Handler serves every HTTP carrier: /mcp, /sse and its messages, /ws, /ws/ticket, the handlers of
// Options.Protected and Options.Public, /healthz and /readyz. The root does what /mcp does, and shows a
// page to a browser. Every path checks Host and Origin, and all but that page, Options.Public and the
// health checks need a token. /mcp/p/NAME, /sse/p/NAME and /ws/p/NAME are the same for a caller that asks for a profile.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", s.identified(s.serveMCP))
	mux.HandleFunc("/{$}", s.pageOr(s.identified(s.serveMCP)))
	mux.HandleFunc("/mcp/p/{profile}", s.identified(s.serveMCP))
	mux.HandleFunc("/sse", s.identified(s.serveSSE))
	mux.HandleFunc("/sse/p/{profile}", s.identified(s.serveSSE))
	mux.HandleFunc("/sse/message", s.identified(s.serveSSEMessage))
	mux.HandleFunc("/sse/p/{profile}/message", s.identified(s.serveSSEMessage))
	mux.HandleFunc("POST /ws/ticket", s.identified(s.serveTicket))
	mux.HandleFunc("OPTIONS /ws/ticket", s.identified(s.serveTicket))
	mux.HandleFunc("/ws", s.serveWS)
	mux.HandleFunc("/ws/p/{profile}", s.serveWS)
	for pattern, handler := range s.opts().Protected {
		mux.HandleFunc(pattern, s.identified(s.protected(handler)))
	}
	for pattern, handler := range s.opts().Public {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if !s.allowCORS(w, r) {
				handler.ServeHTTP(w, r)
			}
		})
	}
	for path, handler := range s.opts().Foreign {
		mux.Handle(path, handler)
	}
	mux.HandleFunc(visitPath, s.serveVisit)
	mux.HandleFunc(wellKnown, s.serveResource)
	mux.HandleFunc(wellKnown+"/", s.serveResource)
	if nodes := s.opts().Nodes; nodes != nil {
		mux.Handle(peerPath, nodes)
		mux.HandleFunc(sessionPath, s.serveNote)
		mux.HandleFunc(holdPath, amongNodes(nodes))
		for pattern, handler := range s.opts().Peers {
			mux.HandleFunc(pattern, amongNodes(handler))
		}
	}
	mux.HandleFunc("GET /healthz", healthy)
	mux.Handle("GET /readyz", s.opts().Ready)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if r.ContentLength != 0 {
			// net/http reads what is left of a body before it sends a refusal.
			control.SetReadDeadline(time.Now().Add(s.opts().ReadTimeout))
		}
		if refused := s.opts().Access.checkOrigin(r, s.isForeign(r)); refused != nil {
			refused.write(w, r, s)
		} else {
			s.below(mux, r).ServeHTTP(w, r)
		}
		// net/http flushes a short answer after this, to a client that may not read.
		control.SetWriteDeadline(time.Now().Add(writeTime))
	})
}

// amongNodes lets a handler answer other nodes, and nobody else.
func amongNodes(handler http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !forwarded(r.Context()) {
			http.NotFound(w, r)
			return
		}
		handler.ServeHTTP(w, r)
	}
}

// below returns the handler of a request, whose path a proxy may have left below that of PublicURL.
func (s *Server) below(mux *http.ServeMux, r *http.Request) http.Handler {
	if prefix := s.opts().prefix; prefix != "" && strings.HasPrefix(r.URL.Path, prefix+"/") {
		if _, pattern := mux.Handler(r); pattern == "" {
			return http.StripPrefix(prefix, mux)
		}
	}
	return mux
}

// isForeign reports whether a request is for Options.Foreign.
func (s *Server) isForeign(r *http.Request) bool {
	path := strings.TrimPrefix(r.URL.Path, s.opts().prefix)
	for own := range s.opts().Foreign {
		if path == own || strings.HasSuffix(own, "/") && strings.HasPrefix(path, own) {
			return true
		}
	}
	return false
}

// KnowsHost reports whether Access would admit a request like r with a Host header.
func (s *Server) KnowsHost(r *http.Request, host string) bool {
	return s.opts().Access.hostAllowed(r, host)
}

// protected hands requests to a handler of Options.Protected. They end when their sender is shut out.
func (s *Server) protected(handler http.Handler) func(http.ResponseWriter, *http.Request, identity) {
	return func(w http.ResponseWriter, r *http.Request, sender identity) {
		ctx, cancel := context.WithCancelCause(context.WithValue(r.Context(), identityKey{}, sender))
		defer cancel(nil)
		s.views.addPost(r, sender, cancel)
		defer s.views.removePost(r)
		handler.ServeHTTP(w, r.WithContext(ctx))
	}
}

// identified passes on the requests that carry a token, with CORS for pages of allowed origins. One for a
// WebSocket may have it in a subprotocol, or a ticket.
func (s *Server) identified(next func(http.ResponseWriter, *http.Request, identity)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.allowCORS(w, r) {
			return
		}
		var sender identity
		var until time.Time
		var refused *refusal
		if websocket.IsWebSocketUpgrade(r) {
			sender, until, refused = s.identifyWS(r, websocket.Subprotocols(r))
		} else {
			sender, until, refused = s.identify(r, bearer(r))
		}
		if refused != nil {
			refused.write(w, r, s)
			return
		}
		r, cancel := limited(r, until)
		defer cancel()
		next(w, r, sender)
	}
}

// limited returns a request whose context ends at a time, unless that is zero.
func limited(r *http.Request, until time.Time) (*http.Request, context.CancelFunc) {
	if until.IsZero() {
		return r, func() {}
	}
	ctx, cancel := context.WithDeadlineCause(r.Context(), until, errExpired)
	return r.WithContext(ctx), cancel
}

func expired(until time.Time) bool { return !until.IsZero() && !time.Now().Before(until) }

// allowCORS lets the pages of an allowed origin read the answer, and reports whether the request
// was a preflight, which it answers.
func (s *Server) allowCORS(w http.ResponseWriter, r *http.Request) (preflight bool) {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, Mcp-Protocol-Version, WWW-Authenticate")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	allowed := "Accept, Authorization, Content-Type, Idempotency-Key, Last-Event-ID, Mcp-Method, Mcp-Name, Mcp-Protocol-Version, Mcp-Session-Id"
	for _, name := range s.opts().hidden {
		allowed += ", " + s.opts().HiddenHeaders[name]
	}
	for name := range strings.SplitSeq(r.Header.Get("Access-Control-Request-Headers"), ",") {
		name = strings.TrimSpace(name) // each tool has headers of its own
		if prefix := len(mcp.HeaderParamPrefix); len(name) > prefix && strings.EqualFold(name[:prefix], mcp.HeaderParamPrefix) {
			allowed += ", " + name
		}
	}
	h.Set("Access-Control-Allow-Headers", allowed)
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// serveTicket answers POST /ws/ticket.
func (s *Server) serveTicket(w http.ResponseWriter, r *http.Request, sender identity) {
	sender, err := addTicketValues(sender, http.MaxBytesReader(w, r.Body, maxTicketBody), s.opts().TicketValues)
	if err != nil {
		writeError(w, http.StatusBadRequest, err.Error())
		return
	}
	until, _ := r.Context().Deadline()
	id := s.newOwnedID(sealedTicket)
	if !s.tickets.issue(id, sender, until, s.opts().accounts.of(sender.principal)) {
		writeError(w, http.StatusServiceUnavailable, "too many unused tickets: try again in 30 s")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	json.NewEncoder(w).Encode(map[string]any{"ticket": id, "expiresIn": int(ticketLife.Seconds())})
}

// serveMCP is streamable HTTP.
func (s *Server) serveMCP(w http.ResponseWriter, r *http.Request, sender identity) {
	revision := r.Header.Get(mcp.HeaderProtocolVersion)
	modern := revision >= wire.ModernRevision
	if revision != "" && !modern && !slices.Contains(wire.Revisions, revision) {
		writeError(w, http.StatusBadRequest, fmt.Sprintf("unsupported MCP-Protocol-Version: %.40q (supported: %s)", revision, strings.Join(wire.Revisions, ", ")))
		return
	}
	if r.Method != http.MethodPost {
		var answered bool
		if w, r, answered = s.ownedElsewhere(w, r, sender, r.Header.Get(mcp.HeaderSessionID), nil, nil); answered {
			return
		}
	}
	if modern && r.Method != http.MethodPost {
		writeMethodError(w, http.MethodPost, "revision "+wire.ModernRevision+" has neither GET streams nor sessions: use POST")
		return
	}
	switch r.Method {
	case http.MethodPost:
		s.post(w, r, sender, modern)
	case http.MethodGet:
		s.get(w, r, sender)
	case http.MethodDelete:
		if target := s.namedSession(w, r, sender); target != nil {
			if err := target.bindEnding(r.Context()); err != nil { // else another node could go on with it
				w.Header().Set("Retry-After", "1")
				writeError(w, http.StatusServiceUnavailable, err.Message)
				return
			}
			s.sessions.endSession(target)
			target.tellHosts(r.Context(), peerNote{Ended: true})
			w.WriteHeader(http.StatusOK)
		}
	default:
		writeMethodError(w, "GET, POST, DELETE", "use POST, GET or DELETE")
	}
}

// messages are those of post, which ends with what it does for one.
var messages = sync.Pool{New: func() any { return new(wire.Message) }}

// post takes one message or a batch. modern means that its header is of the modern era.
func (s *Server) post(w http.ResponseWriter, r *http.Request, sender identity, modern bool) {
	accept := accepts(r)
	if accept == (accepted{}) {
		writeError(w, http.StatusNotAcceptable, "the client must accept application/json and text/event-stream")
		return
	}
	msg, ok := s.readBody(w, r, sender, s.opts().accounts.of(sender.principal))
	if !ok {
		return
	}
	m := messages.Get().(*wire.Message)
	defer func() {
		*m = wire.Message{}
		messages.Put(m)
		msg.Free()
	}()
	var err error
	*m, err = wire.Split(msg.B)
	if s.finishing.Load() && (err != nil || begins(m)) {
		w.Header().Set("Retry-After", "1")
		writeError(w, http.StatusServiceUnavailable, errFinishing.Error())
		return
	}
	if !modern {
		var answered bool
		known := m
		if err != nil {
			known = nil // a batch, or not valid, which its session answers
		}
		before := r
		if w, r, answered = s.ownedElsewhere(w, r, sender, r.Header.Get(mcp.HeaderSessionID), known, msg.B); answered {
			return
		}
		if r != before {
			accept = accepts(r)
		}
	}
	switch {
	case err != nil && isBatch(msg.B):
		s.postBatch(w, r, sender, msg.Buffer, accept)
	case err != nil:
		if s.failQuestion(r, sender, msg.B, msg.B, err) {
			writeError(w, http.StatusBadRequest, err.Error())
			return
		}
		writeUnreadable(w, err)
	case isModern(m), modern && m.Method != wire.MethodInitialize:
		if !s.modernElsewhere(w, r, sender, m, msg.B) {
			s.postModern(w, r, sender, m, accept)
		}
	default:
		s.postLegacy(w, r, sender, m, accept)
	}
}

// postLegacy takes a message of a session.
func (s *Server) postLegacy(w http.ResponseWriter, r *http.Request, sender identity, m *wire.Message, accept accepted) {
	var target *session
	if m.Kind() == wire.Request && m.Method == wire.MethodInitialize {
		target = s.createSession(w, r, sender, m)
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
	x := s.beginExchange(&exchange{session: target, account: target.account, id: m.ID}, w, r, accept)
	resp, ok := target.respond(target.ctx, m, x)
	if m.Method == wire.MethodInitialize && target.opened.Load() == nil { // it failed
		x.withdraw(mcp.HeaderSessionID)
		s.sessions.endSession(target)
	}
	x.end(&resp, ok)
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
	x := s.beginExchange(&exchange{session: target, account: target.account}, w, r, accept)
	x.finish(target.batch(target.ctx, members, x))
}

// get opens the stream on which a session sends what belongs to no request, or resumes a stream.
func (s *Server) get(w http.ResponseWriter, r *http.Request, sender identity) {
	if !accepts(r).events || r.Header.Get("Accept") == "" {
		w.Header().Set("Allow", "GET, POST, DELETE")
		writeError(w, http.StatusNotAcceptable, "a GET opens an event stream: the client must accept text/event-stream")
		return
	}
	target := s.namedSession(w, r, sender)
	if target == nil {
		return
	}
	s.serveStream(w, r, target, r.Header.Get(mcp.HeaderLastEventID))
}

// serveStream serves the stream on which a session sends what belongs to no request, as long as the session is surely
// here, or resumes that of the last event.
func (s *Server) serveStream(w http.ResponseWriter, r *http.Request, target *session, last string) {
	number, after, ok := int64(0), int64(-1), true
	if last != "" {
		number, after, ok = parseEventID(last)
	}
	if !ok {
		refuseResume(w)
		return
	}
	st := target.journal.find(number)
	if repeats(r) && !target.journal.began(number) {
		writeError(w, http.StatusNotFound, "the stream is not one of this node")
		return
	}
	if number == 0 && (st == nil || after < 0 || st.box.spent()) {
		st = target.journal.sessionStream()
	}
	if st != nil {
		ctx, done := r.Context(), func() {}
		if number == 0 {
			target.journal.setListens()
			ctx, done = target.owned(ctx)
		}
		defer done()
		st.serve(ctx, w, after)
		return
	}
	rest := target.journal.after(number, after) // of a stream that has ended
	if len(rest) == 0 {
		refuseResume(w)
		return
	}
	out := newEventWriter(w)
	target.journal.replay(out, rest)
	out.flush()
}

// refuseResume answers who resumes a stream of which nothing is left, also since its node was lost: after an empty
// answer clients would ask again and again. They end a session after 404, and some after 400 with that word.
func refuseResume(w http.ResponseWriter) {
	writeError(w, http.StatusBadRequest, "nothing more comes of the stream that Last-Event-ID names: do not resume it")
}

func parseEventID(id string) (number, seq int64, ok bool) {
	a, b, found := strings.Cut(id, "-")
	number, err1 := strconv.ParseInt(a, 10, 64)
	seq, err2 := strconv.ParseInt(b, 10, 64)
	return number, seq, found && errors.Join(err1, err2) == nil && number >= 0 && seq >= 0
}

// failQuestion ends the question to a session that is answered by a message that cannot be used, as
// questions.fail does.
func (s *Server) failQuestion(r *http.Request, sender identity, head, tail []byte, why error) bool {
	id := cmp.Or(r.Header.Get(mcp.HeaderSessionID), r.URL.Query().Get("sessionId")) // of SSE
	asked := s.sessions.find(id, sender)
	if s.opts().Nodes != nil {
		if s.failElsewhere(r, sender, id, peerNote{Head: head, Tail: tail, Unusable: why.Error()}) {
			return true
		}
		if asked == nil {
			asked = s.guestAnyway(id, sender)
		}
	}
	return asked != nil && asked.questions.fail(head, tail, why)
}

// createSession returns a new session for an initialize; nil means that it has been refused.
func (s *Server) createSession(w http.ResponseWriter, r *http.Request, sender identity, initialize *wire.Message) *session {
	if r.Header.Get(mcp.HeaderSessionID) != "" {
		writeError(w, http.StatusBadRequest, "initialize starts a session: send it without Mcp-Session-Id")
		return nil
	}
	created := s.newHTTPSession(sender)
	created.sealID(initialize)
	if !s.sessions.register(created, w) {
		return nil
	}
	return created
}

// newHTTPSession returns a session whose messages go to streams.
func (s *Server) newHTTPSession(sender identity) *session {
	created := s.newSession(sender)
	created.journal = &journal{session: created, streams: map[int64]*stream{}}
	created.back = created.journal
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

// serveSSE is the stream of the HTTP+SSE transport of revision 2024-11-05.
func (s *Server) serveSSE(w http.ResponseWriter, r *http.Request, sender identity) {
	if r.Method != http.MethodGet { // clients recognize the transport by this refusal
		writeMethodError(w, http.MethodGet, "the legacy SSE transport begins with a GET; streamable HTTP is at /mcp")
		return
	}
	sender.carrier = "sse"
	d := s.newDuplex(sender)
	d.sse = d
	d.sealID(nil)
	d.readers.Add(1)
	if !s.sessions.register(d.session, w) {
		return
	}
	out := newEventWriter(w)
	out.write("endpoint", "", []byte((&url.URL{Path: s.opts().prefix + r.URL.Path}).EscapedPath()+"/message?sessionId="+d.id))
	defer context.AfterFunc(d.ctx, d.endBox)()
	if out.flush() == nil {
		d.box.drain(r.Context().Done(), func(batch []*wire.Buffer) error {
			for _, msg := range batch {
				out.write("message", "", msg.B)
				msg.Free()
			}
			return out.flush()
		}, out.idle)
	}
	d.box.discard()
	s.sessions.endSession(d.session)
	d.close(io.EOF)
}

// serveSSEMessage takes a message for a session of the legacy SSE transport.
func (s *Server) serveSSEMessage(w http.ResponseWriter, r *http.Request, sender identity) {
	if r.Method != http.MethodPost {
		writeMethodError(w, http.MethodPost, "use POST to send a message")
		return
	}
	id := r.URL.Query().Get("sessionId")
	w, r, answered := s.ownedElsewhere(w, r, sender, id, nil, nil)
	if answered {
		return
	}
	target := s.sessions.find(id, sender)
	if target == nil || target.sse == nil || target.sse.box.isClosed() { // as its client was too slow: it may still read the rest
		writeError(w, http.StatusNotFound, "no such session: it ends with its SSE stream")
		return
	}
	msg, ok := s.readBody(w, r, sender, target.account)
	if !ok {
		return
	}
	if target.sse.box.full.Load() && !endsSomething(msg.B) {
		msg.Free()
		writeError(w, http.StatusServiceUnavailable, "too much waits for this session's stream to be read")
		return
	}
	w.WriteHeader(http.StatusAccepted)
	target.sse.receive(msg)
}

// endsSomething reports whether a message is an answer or a notification: a question waits for the one,
// and the other may cancel a request.
func endsSomething(msg []byte) bool {
	m, err := wire.Split(msg)
	return err == nil && m.Kind() != wire.Request
}
