package mcpserver

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// Access says who may come in. It is the one place that turns a request into an
// identity. The zero value lets in whoever reaches a loopback address by a loopback
// name.
type Access struct {
	Tokens         map[string]string // bearer tokens by the name of who holds them; none: nobody is asked
	AllowedOrigins []string          // origins of web pages that may connect, as browsers spell them; "null" only when it is here
	PublicHosts    []string          // names under which the bridge is reached beside loopback and its own addresses, with or without a port
}

// refusal is why somebody may not come in.
type refusal struct {
	status int
	reason string
}

func (r *refusal) write(w http.ResponseWriter) {
	if r.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="mcpbridge"`)
	}
	writeError(w, r.status, nil, r.reason)
}

// admit checks Host and Origin, which keep web pages from reaching a local bridge
// through the user's browser (MCP specification, transports, security warning).
func (d *Access) admit(r *http.Request) *refusal {
	if !d.hostAllowed(r) {
		return &refusal{http.StatusForbidden, "the Host header names a host that this bridge does not answer for (publicHosts in the config)"}
	}
	if origin := r.Header.Get("Origin"); origin != "" && !d.originAllowed(r, origin) {
		return &refusal{http.StatusForbidden, "pages of this origin may not connect (allowedOrigins in the config)"}
	}
	return nil
}

// identify finds out whose token came with the request.
func (d *Access) identify(token string) (bridge.Principal, *refusal) {
	if len(d.Tokens) == 0 {
		return bridge.Principal{}, nil
	}
	if token == "" {
		return bridge.Principal{}, &refusal{http.StatusUnauthorized, "a bearer token is needed (tokens in the config)"}
	}
	got := sha256.Sum256([]byte(token))
	found := ""
	for name, want := range d.Tokens { // all of them, so that time tells nothing
		sum := sha256.Sum256([]byte(want))
		if subtle.ConstantTimeCompare(got[:], sum[:]) == 1 {
			found = name
		}
	}
	if found == "" {
		return bridge.Principal{}, &refusal{http.StatusUnauthorized, "the bearer token is not known"}
	}
	return bridge.Principal{Name: found}, nil
}

// Knows reports whether a request carries one of the tokens.
func Knows(tokens map[string]string, r *http.Request) bool {
	_, no := (&Access{Tokens: tokens}).identify(bearer(r))
	return no == nil
}

// bearer is the token in the Authorization header; "" when there is none.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

func (d *Access) hostAllowed(r *http.Request) bool {
	host := hostname(r.Host)
	if loopback(host) {
		return true
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip == localAddr(r) {
		return true
	}
	return slices.ContainsFunc(d.PublicHosts, func(p string) bool {
		return strings.EqualFold(p, r.Host) || strings.EqualFold(hostname(p), host) && hostname(p) == p
	})
}

func (d *Access) originAllowed(r *http.Request, origin string) bool {
	if slices.ContainsFunc(d.AllowedOrigins, func(o string) bool { return strings.EqualFold(o, origin) }) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && loopback(u.Hostname()) && localAddr(r).IsLoopback()
}

// localAddr is the address on which the request came in.
func localAddr(r *http.Request) netip.Addr {
	addr, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if tcp, ok := addr.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// hostname is a Host header without its port and brackets.
func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
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

const (
	ticketLife = 30 * time.Second
	maxTickets = 1000
)

// tickets admit one WebSocket each, soon: a browser cannot send a header with one, and
// a token in a URL would end up in logs.
type tickets struct {
	mu    sync.Mutex // guards given
	given map[string]ticket
}

type ticket struct {
	holder identity
	until  time.Time
}

// give makes a ticket; "" when too many are out.
func (t *tickets) give(who identity) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	for id, one := range t.given {
		if now.After(one.until) {
			delete(t.given, id)
		}
	}
	if len(t.given) >= maxTickets {
		return ""
	}
	if t.given == nil {
		t.given = map[string]ticket{}
	}
	id := newID()
	t.given[id] = ticket{holder: who, until: now.Add(ticketLife)}
	return id
}

// use takes a ticket, which is good once.
func (t *tickets) use(id string) (identity, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one, ok := t.given[id]
	delete(t.given, id)
	return one.holder, ok && time.Now().Before(one.until)
}

// serveTicket answers POST /ws/ticket.
func (s *Server) serveTicket(w http.ResponseWriter, r *http.Request, who identity) {
	who, err := s.withSession(http.MaxBytesReader(w, r.Body, maxTicketBody), who)
	if err != nil {
		writeError(w, http.StatusBadRequest, nil, err.Error())
		return
	}
	id := s.tickets.give(who)
	if id == "" {
		writeError(w, http.StatusServiceUnavailable, nil, "too many tickets are out: try again in 30 s")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	json.NewEncoder(w).Encode(map[string]any{"ticket": id, "expiresIn": int(ticketLife.Seconds())})
}
