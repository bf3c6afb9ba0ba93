package mcpserver

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// A Resource is what tells clients where to get access tokens (RFC 9728).
type Resource struct {
	Issuers []string // of tokens
	Scopes  []string // that a token needs
}

// wellKnown is the path of the metadata, to which the path of a resource may be appended.
const wellKnown = "/.well-known/oauth-protected-resource"

// challenge returns what WWW-Authenticate says of a refusal beside the scheme. The metadata is below the
// base, where a proxy forwards it.
func (m *Resource) challenge(base string, r *http.Request, f *refusal) string {
	c := `, resource_metadata="` + base + wellKnown + (&url.URL{Path: strings.TrimSuffix(r.URL.Path, "/")}).EscapedPath() + `"`
	if len(m.Scopes) > 0 {
		c += `, scope="` + strings.Join(m.Scopes, " ") + `"`
	}
	switch {
	case f.scopes != nil:
		c += `, error="insufficient_scope"`
	case f.wrong:
		c += `, error="invalid_token"`
	default:
		return c
	}
	return c + `, error_description="` + strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return '\''
		}
		return c
	}, f.reason) + `"`
}

// serveResource answers with the metadata of the resource whose path follows wellKnown. That may begin with
// the path of the base, which is where RFC 9728 puts it.
func (s *Server) serveResource(w http.ResponseWriter, r *http.Request) {
	o := s.opts()
	m := o.Access.Resource
	if s.allowCORS(w, r) {
		return
	}
	if m == nil {
		http.NotFound(w, r)
		return
	}
	path := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, wellKnown), "/")
	if below, ok := strings.CutPrefix(path, o.prefix); ok && (below == "" || below[0] == '/') {
		path = below
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch first {
	case "", "mcp", "sse", "ws", "v1":
	default:
		http.NotFound(w, r)
		return
	}
	w.Header()["Content-Type"] = jsonType
	json.NewEncoder(w).Encode(&struct {
		Resource string   `json:"resource"`
		Issuers  []string `json:"authorization_servers"`
		Scopes   []string `json:"scopes_supported,omitempty"`
		Methods  []string `json:"bearer_methods_supported"`
		Name     string   `json:"resource_name"`
	}{o.Access.base(r) + (&url.URL{Path: path}).EscapedPath(), m.Issuers, m.Scopes, []string{"header"}, "mcpbridge"})
}
