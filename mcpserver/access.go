package mcpserver

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpserver/auth"
)

// Access says which requests are let in. It is the one place that turns a request into an
// identity. The zero value lets in every request that reaches a loopback address under a loopback
// name.
type Access struct {
	Tokens         map[string]string // bearer tokens by holder
	Auth           auth.Any          // others that are let in; without these and Tokens nobody needs credentials
	Resource       *Resource         // where access tokens are got; may be nil
	PublicURL      string            // at which clients reach the Server; "" means that of each request
	Proxies        []netip.Prefix    // which say in X-Forwarded-For where their requests come from
	AllowedOrigins []string          // of web pages, as browsers spell them; "null" only if listed
	PublicHosts    []string          // beside loopback and the listen address; a port is optional
	Operator       *auth.Operator    // lets in whoever runs the bridge, by a cookie of this origin; may be nil

	// OperatorValues are hidden values of the operator by their lower-case names, for requests whose headers have none.
	OperatorValues map[string]json.RawMessage
}

// refusal says why a request is not let in.
type refusal struct {
	status int
	reason string
	scopes []string // that its token needs
	wrong  bool     // it has credentials, which are not accepted
}

// write answers the request with the refusal and logs it.
func (f *refusal) write(w http.ResponseWriter, r *http.Request, s *Server) {
	s.log.Log(slog.LevelInfo, "refused", "path", r.URL.Path, "address", s.opts().Access.from(r), "status", f.status, "reason", f.reason, "refused_so_far", s.refused.Add(1))
	if f.wrong {
		s.guesses.wait(r, s.opts().Access.from(r), s.ctx.Done())
	}
	if challenge := `Bearer realm="mcpbridge"`; f.status == http.StatusUnauthorized || f.scopes != nil {
		if m := s.opts().Access.Resource; m != nil {
			challenge += m.challenge(s.opts().Access.base(r), r, f)
		}
		w.Header().Set("WWW-Authenticate", challenge)
	}
	if f.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "10")
	}
	if s.opts().Refuse == nil || !s.opts().Refuse(w, r, f.status, f.reason) {
		writeError(w, f.status, f.reason)
	}
}

// checkOrigin checks Host, Origin and Sec-Fetch-Site, which keeps web pages from reaching a local
// bridge through the user's browser (MCP specification, transports, security warning). A browser
// sends no Origin with the GET of an image, a link or a script, and such a GET of another site would
// begin a session (W3C, Fetch Metadata Request Headers).
//
// A browser comes from anywhere to what is foreign, Options.Foreign: that checks itself where a request comes
// from, where it matters.
func (a *Access) checkOrigin(r *http.Request, foreign bool) *refusal {
	if forwarded(r.Context()) || r.URL.Path == peerPath {
		return nil // checked by the node that has forwarded it; the other end of a link proves that it is a node
	}
	if !a.hostAllowed(r, r.Host) {
		return &refusal{status: http.StatusForbidden, reason: "unknown name in the Host header: add it to publicHosts in the config"}
	}
	if foreign {
		return nil
	}
	origin := r.Header.Get("Origin")
	if origin != "" && !a.originAllowed(r, origin) {
		return &refusal{status: http.StatusForbidden, reason: "pages of this origin may not connect: add it to allowedOrigins in the config"}
	}
	if site := r.Header.Get("Sec-Fetch-Site"); origin == "" && (site == "cross-site" || site == "same-site") {
		return &refusal{status: http.StatusForbidden, reason: "a page of another site caused this request: only requests with the Origin of that page may be allowed"}
	}
	return nil
}

// identify returns the identity of a request with a token, "" without one, and until when that holds:
// zero means for ever.
func (s *Server) identify(r *http.Request, token string) (sender identity, until time.Time, refused *refusal) {
	o := s.opts()
	if token == "" {
		if id := o.visitor(r); id != nil {
			return s.identity(id, r), id.Expires, nil
		}
	}
	if o.auth == nil {
		return s.identity(&auth.Identity{}, r), until, nil
	}
	presented := auth.Credentials{Token: token}
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		presented.Chain = r.TLS.VerifiedChains[0]
	}
	id, err := o.auth.Authenticate(r.Context(), &presented)
	switch {
	case id != nil:
		sender = s.identity(id, r)
		if o.PassTokens {
			sender.token = token
		}
		return sender, id.Expires, nil
	case err != nil:
		refused = refusalOf(err)
	case token != "":
		refused = &refusal{status: http.StatusUnauthorized, reason: "unknown bearer token"}
	default:
		return sender, until, &refusal{status: http.StatusUnauthorized, reason: o.Access.needed()}
	}
	refused.wrong = refused.status == http.StatusUnauthorized
	return sender, until, refused
}

// needed says what a request without credentials lacks.
func (a *Access) needed() string {
	if slices.ContainsFunc(a.Auth, func(one auth.Authenticator) bool { _, ok := one.(*auth.Certificates); return ok }) {
		return "a TLS client certificate or a bearer token is needed (tls.clientCA and tokens in the config)"
	}
	if a.Resource != nil {
		return "an access token is needed (auth in the config)"
	}
	return "a bearer token is needed (tokens in the config)"
}

// refusalOf returns the answer to credentials that are not accepted.
func refusalOf(err error) *refusal {
	f := &refusal{status: http.StatusUnauthorized, reason: err.Error()}
	if why := (*auth.Refusal)(nil); errors.As(err, &why) {
		f.scopes = why.Scopes
		switch {
		case why.Later:
			f.status = http.StatusServiceUnavailable
		case why.Scopes != nil:
			f.status = http.StatusForbidden
		}
	}
	return f
}

// authenticators returns those that decide who is let in; none means that everyone is.
func (a *Access) authenticators() auth.Any {
	if len(a.Tokens) == 0 {
		return a.Auth
	}
	var tokens []auth.Token
	for name, text := range a.Tokens {
		tokens = append(tokens, auth.Token{Name: name, Sum: sha256.Sum256([]byte(text))})
	}
	return append(auth.Any{auth.NewTokens(tokens)}, a.Auth...)
}

// admits reports whether the sender of earlier requests may go on.
func (o *settings) admits(sender *identity) bool {
	if own := o.Access.Operator; own != nil && own.Admits(sender.credential, o.admitsCredential) {
		return true
	}
	if o.auth == nil {
		return sender.credential == ""
	}
	return sender.credential != "" && o.auth.Admits(sender.credential)
}

// Knows reports whether a request is let in, and in a handler of Options.Protected whether it still is, with the same
// credentials. One with wrong credentials has cost time by then.
func (s *Server) Knows(r *http.Request) bool {
	sender, _, refused := s.identify(r, bearer(r))
	if begun, ok := r.Context().Value(identityKey{}).(identity); ok && refused == nil && sender.credential != begun.credential {
		return false
	}
	if refused != nil && refused.wrong {
		s.refused.Add(1)
		s.guesses.wait(r, s.opts().Access.from(r), s.ctx.Done())
	}
	return refused == nil
}

// bearer returns the token in the Authorization header, or that in X-Api-Key of a request to an endpoint
// of models by a client of Anthropic's API, which requires Anthropic-Version; "" without one.
func bearer(r *http.Request) string {
	anthropic := r.Header.Get("Anthropic-Version") != "" && strings.HasPrefix(r.URL.Path, "/v1/")
	if key := r.Header.Get("X-Api-Key"); anthropic && key != "" && r.Header.Get("Authorization") == "" {
		return key
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// hostAllowed reports whether a request could have header as its Host header.
func (a *Access) hostAllowed(r *http.Request, header string) bool {
	host := hostname(header)
	if loopback(host) {
		return true
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip == localAddr(r) {
		return true
	}
	return slices.ContainsFunc(a.PublicHosts, func(p string) bool {
		return strings.EqualFold(p, header) || strings.EqualFold(hostname(p), host) && hostname(p) == p
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

// from returns the address that a request comes from: of those that it passed on its way, the last that is
// not a proxy's. What comes before, its sender may have written.
func (a *Access) from(r *http.Request) netip.Addr {
	at, _ := netip.ParseAddrPort(r.RemoteAddr)
	from := at.Addr().Unmap()
	passed := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(passed) - 1; i >= 0 && slices.ContainsFunc(a.Proxies, func(p netip.Prefix) bool { return p.Contains(from) }); i-- {
		before, err := netip.ParseAddr(hostname(strings.TrimSpace(passed[i])))
		if err != nil {
			break
		}
		from = before.Unmap()
	}
	return from
}

// base returns the URL at which a client has reached the Server, without a slash at its end.
func (a *Access) base(r *http.Request) string {
	switch {
	case a.PublicURL != "":
		return strings.TrimSuffix(a.PublicURL, "/")
	case r.TLS != nil:
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// hostname returns a Host header without its port and brackets. What is not a port stays.
func hostname(host string) string {
	if h, port, err := net.SplitHostPort(host); err == nil && strings.Trim(port, "0123456789") == "" {
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

// identity is the sender of a message: what its credentials say, the hidden values of its headers, and
// the profile of its URL. Nothing that belongs to one identity is shown to another. The zero value is an
// anonymous sender without hidden values.
type identity struct {
	principal  bridge.Principal
	credential string // auth.Identity.Credential; "" of a sender that needs none
	claims     string // a JSON object; "" means none
	profiles   string // the only ones that it may have, each followed by a comma; "" means any that is for it
	hidden     string // a JSON object of values by their lower-case names; "" means no values
	profile    string // that it asks for, by the URL; "" means none
	token      string // only with Options.PassTokens: the bearer token; "" without one
	carrier    string // bridge.Caller.Carrier
}

// anyToken returns the identity whatever its token, which is refreshed meanwhile, and its carrier.
func (id identity) anyToken() identity {
	id.token, id.carrier = "", ""
	return id
}

// caller returns what a source is told of the sender.
func (id identity) caller() bridge.Caller {
	c := bridge.Caller{Principal: id.principal, HiddenValue: id.value, Profile: id.profile, Carrier: id.carrier, Operator: id.principal.Name == auth.OperatorName}
	if id.claims != "" {
		c.Claims = []byte(id.claims)
	}
	if id.token != "" {
		c.Token = func() string { return id.token }
	}
	if id.profiles != "" {
		c.Profiles = strings.Split(strings.TrimSuffix(id.profiles, ","), ",")
	}
	return c
}

// identityKey is the context key of an HTTP request's identity.
type identityKey struct{}

// CallerOf returns the caller that sent a request to a handler of Options.Protected: what its
// credentials say of it, its HiddenValue and the Profile that it asks for.
func CallerOf(r *http.Request) bridge.Caller {
	sender, _ := r.Context().Value(identityKey{}).(identity)
	return sender.caller()
}

// value returns a hidden value by its name, as bridge.Caller.HiddenValue does.
func (id identity) value(name string) ([]byte, bool) {
	v := wire.Lookup([]byte(id.hidden), strings.ToLower(name))
	return v, v != nil
}

// continues reports whether a message may belong to a session that begun opened: all that its
// credentials say is the same, and so is the profile, and it has no other hidden values. It need not
// repeat them.
func (id identity) continues(begun identity) bool {
	same := begun
	same.hidden, same.token, same.carrier = id.hidden, id.token, id.carrier
	if id != same {
		return false
	}
	if id.hidden == begun.hidden {
		return true
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

// identity returns the identity of a request with the credentials of id.
func (s *Server) identity(id *auth.Identity, r *http.Request) identity {
	hidden := []byte("{}")
	for _, name := range s.opts().hidden {
		values := r.Header.Values(s.opts().HiddenHeaders[name])
		if len(values) != 1 || values[0] == "" || !utf8.ValidString(values[0]) {
			continue // of two values, it is unknown which one a proxy has set
		}
		hidden = wire.SetMember(hidden, strings.ToLower(name), wire.AppendString(nil, values[0]))
	}
	own := identity{principal: id.Principal, credential: id.Credential, claims: id.Claims, profile: r.PathValue(profileWildcard), carrier: "http"}
	for _, name := range id.Profiles {
		own.profiles += name + ","
	}
	if own.principal.Name == auth.OperatorName {
		values := s.opts().Access.OperatorValues
		for _, name := range slices.Sorted(maps.Keys(values)) { // the same values make the same identity
			if wire.Lookup(hidden, name) == nil {
				hidden = wire.SetMember(hidden, name, values[name])
			}
		}
	}
	if len(hidden) > 2 {
		own.hidden = string(hidden)
	}
	return own
}
