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

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
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
	if v := r.Header.Get(mcp.HeaderProtocolVersion); v != "" && v < wire.ModernRevision && !slices.Contains(wire.Revisions, v) {
		writeError(w, http.StatusBadRequest, nil, "unsupported MCP-Protocol-Version: "+quote(v)+" (supported: "+strings.Join(wire.Revisions, ", ")+")")
		return
	}
	if r.Method != http.MethodPost && r.Header.Get(mcp.HeaderProtocolVersion) >= wire.ModernRevision {
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
		w.Header().Set(mcp.HeaderSessionID, one.id)
	}
	x := (&exchange{server: s, session: one, w: w, ctx: r.Context(), accept: accept, id: m.ID}).begin()
	resp := one.respond(one.ctx, m, x)
	if one.opened.Load() == nil { // initialize failed
		x.withdraw(mcp.HeaderSessionID)
		s.remove(one)
	}
	if resp.mute {
		resp.reply.Free()
		x.finish(nil)
		return
	}
	x.finish(&resp)
}

// readBody reads a request's body whole; nil when it has been answered with an error.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) *wire.Buffer {
	if t := r.Header.Get("Content-Type"); t != "application/json" {
		if kind, _, _ := mime.ParseMediaType(t); kind != "application/json" {
			writeError(w, http.StatusUnsupportedMediaType, nil, "Content-Type must be application/json")
			return nil
		}
	}
	msg, err := wire.ReadBody(r.Body, r.ContentLength, s.opts.MessageBytes)
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

// allowCORS lets the pages of an admitted origin read the answer. It reports whether
// the request was a preflight, which is then answered.
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
	allowed := "Accept, Authorization, Content-Type, Last-Event-ID, Mcp-Method, Mcp-Name, Mcp-Protocol-Version, Mcp-Session-Id"
	for _, c := range s.context {
		allowed += ", " + c.header
	}
	for name := range strings.SplitSeq(r.Header.Get("Access-Control-Request-Headers"), ",") {
		name = strings.TrimSpace(name) // which of these there are is for each tool to say
		if prefix := len(mcp.HeaderParamPrefix); len(name) > prefix && strings.EqualFold(name[:prefix], mcp.HeaderParamPrefix) {
			allowed += ", " + name
		}
	}
	h.Set("Access-Control-Allow-Headers", allowed)
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// get opens the stream on which the session itself speaks, or the rest of one that the
// client lost.
func (s *Server) get(w http.ResponseWriter, r *http.Request, who identity) {
	if accept, _ := accepts(r); !accept.events || r.Header.Get("Accept") == "" {
		w.Header().Set("Allow", "GET, POST, DELETE")
		writeError(w, http.StatusNotAcceptable, nil, "a GET opens an event stream: the client must accept text/event-stream")
		return
	}
	one := s.named(w, r, who)
	if one == nil {
		return
	}
	last := r.Header.Get(mcp.HeaderLastEventID)
	if last == "" {
		one.voice().serve(r.Context(), w, -1)
		return
	}
	number, after, ok := parseEventID(last)
	if !ok {
		writeError(w, http.StatusBadRequest, nil, "Last-Event-ID is not one that this session gave out")
		return
	}
	st := one.journal.find(number)
	switch {
	case st != nil:
		st.serve(r.Context(), w, after)
	case number == 0:
		one.voice().serve(r.Context(), w, after)
	default:
		out := newEventWriter(w)
		for _, e := range one.journal.after(number, after) {
			out.write("message", eventID(number, e.seq), e.data)
		}
		out.flush()
	}
}

func parseEventID(id string) (number, seq int64, ok bool) {
	a, b, found := strings.Cut(id, "-")
	number, err1 := strconv.ParseInt(a, 10, 64)
	seq, err2 := strconv.ParseInt(b, 10, 64)
	return number, seq, found && errors.Join(err1, err2) == nil && number >= 0 && seq >= 0
}
