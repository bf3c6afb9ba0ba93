package mcpserver

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// Access says which requests are let in. It is the one place that turns a request into an
// identity. The zero value lets in every request that reaches a loopback address under a loopback
// name.
type Access struct {
	Tokens         map[string]string // bearer tokens by holder; empty means that no token is needed
	AllowedOrigins []string          // of web pages, as browsers spell them; "null" only if listed
	PublicHosts    []string          // beside loopback and the listen address; a port is optional
}

// refusal says why a request is not let in.
type refusal struct {
	status int
	reason string
}

// write answers the request with the refusal and logs it.
func (f *refusal) write(w http.ResponseWriter, r *http.Request, s *Server) {
	s.log.Log(slog.LevelInfo, "refused", "path", r.URL.Path, "from", r.RemoteAddr, "status", f.status, "reason", f.reason)
	if f.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="mcpbridge"`)
	}
	if s.opts().Refuse == nil || !s.opts().Refuse(w, r, f.status, f.reason) {
		writeError(w, f.status, f.reason)
	}
}

// checkOrigin checks Host, Origin and Sec-Fetch-Site, which keeps web pages from reaching a local
// bridge through the user's browser (MCP specification, transports, security warning). A browser
// sends no Origin with the GET of an image, a link or a script, and such a GET of another site would
// begin a session (W3C, Fetch Metadata Request Headers).
func (a *Access) checkOrigin(r *http.Request) *refusal {
	if !a.hostAllowed(r) {
		return &refusal{http.StatusForbidden, "unknown name in the Host header: add it to publicHosts in the config"}
	}
	origin := r.Header.Get("Origin")
	if origin != "" && !a.originAllowed(r, origin) {
		return &refusal{http.StatusForbidden, "pages of this origin may not connect: add it to allowedOrigins in the config"}
	}
	if site := r.Header.Get("Sec-Fetch-Site"); origin == "" && (site == "cross-site" || site == "same-site") {
		return &refusal{http.StatusForbidden, "a page of another site caused this request: only requests with the Origin of that page may be allowed"}
	}
	return nil
}

// identify returns the principal that holds a token.
func (a *Access) identify(token string) (bridge.Principal, *refusal) {
	if len(a.Tokens) == 0 {
		return bridge.Principal{}, nil
	}
	if token == "" {
		return bridge.Principal{}, &refusal{http.StatusUnauthorized, "a bearer token is needed (tokens in the config)"}
	}
	got := sha256.Sum256([]byte(token))
	holder := ""
	for name, want := range a.Tokens { // all of them, so that the time tells nothing
		sum := sha256.Sum256([]byte(want))
		if subtle.ConstantTimeCompare(got[:], sum[:]) == 1 {
			holder = name
		}
	}
	if holder == "" {
		return bridge.Principal{}, &refusal{http.StatusUnauthorized, "unknown bearer token"}
	}
	return bridge.Principal{Name: holder}, nil
}

// knows reports whether a principal is one that identify returns.
func (a *Access) knows(p bridge.Principal) bool {
	_, holder := a.Tokens[p.Name]
	return holder == (len(a.Tokens) > 0)
}

// Knows reports whether a request carries one of the tokens.
func Knows(tokens map[string]string, r *http.Request) bool {
	_, refused := (&Access{Tokens: tokens}).identify(bearer(r))
	return refused == nil
}

// bearer returns the token in the Authorization header, "" without one.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

func (a *Access) hostAllowed(r *http.Request) bool {
	host := hostname(r.Host)
	if loopback(host) {
		return true
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip == localAddr(r) {
		return true
	}
	return slices.ContainsFunc(a.PublicHosts, func(p string) bool {
		return strings.EqualFold(p, r.Host) || strings.EqualFold(hostname(p), host) && hostname(p) == p
	})
}

func (a *Access) originAllowed(r *http.Request, origin string) bool {
	if slices.ContainsFunc(a.AllowedOrigins, func(o string) bool { return strings.EqualFold(o, origin) }) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && loopback(u.Hostname()) && localAddr(r).IsLoopback()
}

// localAddr returns the address on which a request arrived.
func localAddr(r *http.Request) netip.Addr {
	addr, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if tcp, ok := addr.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// hostname returns a Host header without its port and brackets.
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

const (
	ticketLife = 30 * time.Second
	maxTickets = 1000
)

// tickets let in one WebSocket connection each, for a short time: a browser cannot send a header
// with a WebSocket, and a token in a URL would end up in logs.
type tickets struct {
	mu     sync.Mutex // guards issued
	issued map[string]ticket
}

type ticket struct {
	holder  identity
	account *account // of the holder's principal
	expires time.Time
}

// issue returns a new ticket. At the bound the oldest of the same principal is no longer valid; ""
// means that there is none to make room.
func (t *tickets) issue(holder identity, own *account) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, oldest := time.Now(), ""
	for id, issued := range t.issued {
		switch {
		case now.After(issued.expires):
			t.remove(id)
		case issued.account == own && (oldest == "" || issued.expires.Before(t.issued[oldest].expires)):
			oldest = id
		}
	}
	for !own.take(unusedTickets, 1) {
		if oldest == "" {
			return ""
		}
		t.remove(oldest)
		oldest = ""
	}
	id := newID()
	t.issued[id] = ticket{holder, own, now.Add(ticketLife)}
	return id
}

// remove removes a ticket, if there is one of that id; t.mu is held.
func (t *tickets) remove(id string) (removed ticket, ok bool) {
	if removed, ok = t.issued[id]; ok {
		delete(t.issued, id)
		removed.account.give(unusedTickets, 1)
	}
	return removed, ok
}

// shutOut removes the tickets of principals.
func (t *tickets) shutOut(gone func(bridge.Principal) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, issued := range t.issued {
		if gone(issued.holder.principal) {
			t.remove(id)
		}
	}
}

// redeem returns the holder of a ticket, which is valid once.
func (t *tickets) redeem(id string) (holder identity, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	found, ok := t.remove(id)
	return found.holder, ok && time.Now().Before(found.expires)
}

// identity is the sender of a message: the principal of its token, and the hidden values of its
// headers, and the profile of its URL. Nothing that belongs to one identity is shown to another. The zero value is an
// anonymous sender without hidden values.
type identity struct {
	principal bridge.Principal
	hidden    string // a JSON object of values by their lower-case names; "" means no values
	profile   string // that it asks for, by the URL; "" means none
}

// identityKey is the context key of an HTTP request's identity.
type identityKey struct{}

// CallerOf returns the caller that sent a request to a handler of Options.Protected: its
// Principal, its HiddenValue and the Profile that it asks for.
func CallerOf(r *http.Request) bridge.Caller {
	sender, _ := r.Context().Value(identityKey{}).(identity)
	return bridge.Caller{Principal: sender.principal, HiddenValue: sender.value, Profile: sender.profile}
}

// value returns a hidden value by its name, as bridge.Caller.HiddenValue does.
func (id identity) value(name string) ([]byte, bool) {
	v := wire.Lookup([]byte(id.hidden), strings.ToLower(name))
	return v, v != nil
}

// continues reports whether a message may belong to a session that begun opened: it has the same
// principal and profile, and no other hidden values. It need not repeat them.
func (id identity) continues(begun identity) bool {
	if id.principal != begun.principal || id.profile != begun.profile {
		return false
	}
	for name, value := range wire.Members([]byte(id.hidden)) {
		if was, _ := begun.value(name); !bytes.Equal(was, value) {
			return false
		}
	}
	return true
}

// profileWildcard is the part of a pattern of http.ServeMux that names a profile.
const profileWildcard = "profile"

// identity returns the identity of a principal's request.
func (s *Server) identity(p bridge.Principal, r *http.Request) identity {
	hidden := []byte("{}")
	for _, name := range s.opts().hidden {
		values := r.Header.Values(s.opts().HiddenHeaders[name])
		if len(values) != 1 || values[0] == "" || !utf8.ValidString(values[0]) {
			continue // of two values, it is unknown which one a proxy has set
		}
		hidden = wire.SetMember(hidden, strings.ToLower(name), wire.AppendString(nil, values[0]))
	}
	own := identity{principal: p, profile: r.PathValue(profileWildcard)}
	if len(hidden) > 2 {
		own.hidden = string(hidden)
	}
	return own
}

// maxTicketBody bounds a request for a ticket, in bytes.
const maxTicketBody = 64 << 10

// addTicketValues adds to an identity the hidden values in the body of a request for a ticket,
// {"context": {NAME: value}}. They override those of headers. Only the names of allowed may
// occur.
func addTicketValues(sender identity, body io.Reader, allowed []string) (identity, error) {
	raw, err := io.ReadAll(body)
	if err != nil {
		return sender, fmt.Errorf("the request body is longer than %d bytes or incomplete", maxTicketBody)
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return sender, nil
	}
	var request struct {
		Context map[string]json.RawMessage `json:"context"`
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&request); err != nil {
		return sender, fmt.Errorf(`expected {"context": {NAME: value}}: %w`, err)
	}
	hidden := []byte(cmp.Or(sender.hidden, "{}"))
	for _, name := range slices.Sorted(maps.Keys(request.Context)) {
		if !slices.ContainsFunc(allowed, func(known string) bool { return strings.EqualFold(known, name) }) {
			return sender, fmt.Errorf(`context.%.100s: no hidden value of this name comes from the session ("from": "session" in the config)`, name)
		}
		hidden = wire.SetMember(hidden, strings.ToLower(name), request.Context[name])
	}
	sender.hidden = string(hidden)
	return sender, nil
}
