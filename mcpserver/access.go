package mcpserver

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

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
