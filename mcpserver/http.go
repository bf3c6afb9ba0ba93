package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// Handler serves every HTTP carrier: /mcp, /sse and its messages, /ws, /ws/ticket, the handlers of
// Options.Protected, /healthz and /readyz. Every path checks Host and Origin, and all but the
// health checks need a token.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", s.identified(s.serveMCP))
	mux.HandleFunc("/sse", s.identified(s.serveSSE))
	mux.HandleFunc(ssePath, s.identified(s.serveSSEMessage))
	mux.HandleFunc("POST /ws/ticket", s.identified(s.serveTicket))
	mux.HandleFunc("OPTIONS /ws/ticket", s.identified(s.serveTicket))
	mux.HandleFunc("/ws", s.serveWS)
	for pattern, handler := range s.opts.Protected {
		mux.HandleFunc(pattern, s.identified(func(w http.ResponseWriter, r *http.Request, sender identity) {
			handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), identityKey{}, sender)))
		}))
	}
	mux.HandleFunc("GET /healthz", healthy)
	mux.Handle("GET /readyz", s.opts.Ready)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			// net/http reads what is left of a body before it sends a refusal.
			http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.opts.ReadTimeout))
		}
		if refused := s.opts.Access.checkOrigin(r); refused != nil {
			refused.write(w, r, s.opts.Log)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// identified passes on the requests that carry a token, with CORS for pages of allowed origins.
func (s *Server) identified(next func(http.ResponseWriter, *http.Request, identity)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.allowCORS(w, r) {
			return
		}
		p, refused := s.opts.Access.identify(bearer(r))
		if refused != nil {
			refused.write(w, r, s.opts.Log)
			return
		}
		next(w, r, s.hidden.identity(p, r))
	}
}

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
	allowed := "Accept, Authorization, Content-Type, Last-Event-ID, Mcp-Method, Mcp-Name, Mcp-Protocol-Version, Mcp-Session-Id"
	for _, c := range s.hidden {
		allowed += ", " + c.header
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
	sender, err := addTicketValues(sender, http.MaxBytesReader(w, r.Body, maxTicketBody), s.opts.TicketValues)
	if err != nil {
		writeError(w, http.StatusBadRequest, err.Error())
		return
	}
	id := s.tickets.issue(sender)
	if id == "" {
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
	if modern && r.Method != http.MethodPost {
		writeMethodError(w, http.MethodPost, "revision "+wire.ModernRevision+" has neither GET streams nor sessions: use POST")
		return
	}
	switch r.Method {
	case http.MethodPost:
		s.post(w, r, sender)
	case http.MethodGet:
		s.get(w, r, sender)
	case http.MethodDelete:
		if target := s.namedSession(w, r, sender); target != nil {
			s.sessions.endSession(target)
			w.WriteHeader(http.StatusOK)
		}
	default:
		writeMethodError(w, "GET, POST, DELETE", "use POST, GET or DELETE")
	}
}

// post takes one message or a batch.
func (s *Server) post(w http.ResponseWriter, r *http.Request, sender identity) {
	accept, ok := accepts(r)
	if !ok {
		writeError(w, http.StatusNotAcceptable, "the client must accept application/json and text/event-stream")
		return
	}
	msg := s.readBody(w, r)
	if msg == nil {
		return
	}
	defer msg.Free()
	m, err := wire.Split(msg.B)
	switch {
	case err != nil && isBatch(msg.B):
		s.postBatch(w, r, sender, msg, accept)
	case err != nil:
		writeUnreadable(w, err)
	case isModernPost(r, &m):
		s.postModern(w, r, sender, &m, accept)
	default:
		s.postLegacy(w, r, sender, &m, accept)
	}
}
