package mcpserver

import (
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/mcpserver/auth"
)

// visitPath is where a page of the bridge begins and ends a visit of the operator.
const visitPath = "/console/visit"

// cookieName returns the name of a visit's cookie. A browser sends the cookies of a host to all of its ports,
// so that the name has the one at which the Server listens.
func cookieName(r *http.Request) string {
	addr, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if tcp, ok := addr.(*net.TCPAddr); ok {
		return "mcpbridge-" + strconv.Itoa(tcp.Port)
	}
	return "mcpbridge"
}

// visitor returns the identity of a request with the cookie of a visit, nil without one. The cookie counts
// only for pages of the bridge: to a browser, other ports of its host are the same site.
func (o *settings) visitor(r *http.Request) *auth.Identity {
	own := o.Access.Operator
	if own == nil || r.Header["Cookie"] == nil || !o.ofOwnPage(r) {
		return nil
	}
	for _, c := range r.CookiesNamed(cookieName(r)) {
		if id := own.Find(c.Value, o.admitsCredential); id != nil {
			return id
		}
	}
	return nil
}

// ofOwnPage reports whether a page of the bridge has caused a request. Only one that changes nothing may come
// without an Origin, as browsers send those within an origin.
func (o *settings) ofOwnPage(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" {
		scheme := "http://"
		if r.TLS != nil {
			scheme = "https://"
		}
		return strings.EqualFold(origin, scheme+r.Host) || o.isPublic(origin)
	}
	site := r.Header.Get("Sec-Fetch-Site")
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && (site == "same-origin" || site == "none" || site == "")
}

// isPublic reports whether an origin is that of Access.PublicURL.
func (o *settings) isPublic(origin string) bool {
	u, err := url.Parse(o.Access.PublicURL)
	return err == nil && u.Host != "" && strings.EqualFold(origin, u.Scheme+"://"+u.Host)
}

func (o *settings) admitsCredential(credential string) bool {
	return o.auth != nil && o.auth.Admits(credential)
}

// serveVisit begins a visit with a ticket in the body, {"ticket": …}, or with a bearer token of the operator,
// and ends one. It answers with the cookie.
func (s *Server) serveVisit(w http.ResponseWriter, r *http.Request) {
	o := s.opts()
	w.Header().Set("Cache-Control", "no-store")
	if o.Access.Operator == nil {
		http.NotFound(w, r)
		return
	}
	cookie, refused, ended := "", (*refusal)(nil), o.Access.Operator.Ended()
	switch {
	case !o.ofOwnPage(r):
		refused = &refusal{status: http.StatusForbidden, reason: "only the bridge's own page may do this"}
	case r.Method == http.MethodPost:
		cookie, refused = s.beginVisit(w, r)
	case r.Method == http.MethodDelete:
		for _, c := range r.CookiesNamed(cookieName(r)) {
			o.Access.Operator.End(c.Value)
		}
	default:
		writeMethodError(w, "POST, DELETE", "POST begins a visit, DELETE ends it")
		return
	}
	if o.Access.Operator.Ended() != ended {
		s.shutOut(func(sender *identity) bool { return !o.admits(sender) })
	}
	if refused != nil {
		refused.write(w, r, s)
		return
	}
	http.SetCookie(w, o.visitCookie(r, cookie))
	w.WriteHeader(http.StatusNoContent)
}

// beginVisit returns the cookie of a new visit.
func (s *Server) beginVisit(w http.ResponseWriter, r *http.Request) (string, *refusal) {
	own := s.opts().Access.Operator
	if token := bearer(r); token != "" {
		sender, until, refused := s.identify(r, token)
		switch {
		case refused != nil:
			return "", refused
		case sender.principal.Name != auth.OperatorName:
			return "", &refusal{status: http.StatusForbidden, wrong: true, reason: `this is no token of the principal "operator", who alone may use the console (mcpbridge open prints an address that needs no token)`}
		}
		return own.Begin(&auth.Identity{Credential: sender.credential, Expires: until}), nil
	}
	var body struct {
		Ticket string `json:"ticket"`
	}
	json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<10)).Decode(&body) // without a ticket it is refused
	held := ""
	for _, c := range r.CookiesNamed(cookieName(r)) {
		held = c.Value
	}
	cookie, ok := own.Redeem(body.Ticket, held)
	if !ok {
		return "", &refusal{status: http.StatusUnauthorized, wrong: true, reason: "this address has been used, and whoever used it is signed out, or it is older than 15 minutes: mcpbridge open prints a new one"}
	}
	return cookie, nil
}

// visitCookie returns a cookie for the page that has sent a request; "" removes it.
func (o *settings) visitCookie(r *http.Request, value string) *http.Cookie {
	c := &http.Cookie{Name: cookieName(r), Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil}
	if u, err := url.Parse(o.Access.PublicURL); err == nil && o.isPublic(r.Header.Get("Origin")) {
		c.Path, c.Secure = strings.TrimSuffix(u.Path, "/")+"/", u.Scheme == "https"
	}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}
