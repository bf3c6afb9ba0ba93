package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// maxDeclared bounds what the page of a server declares of its policy, in bytes.
const maxDeclared = 8 << 10

// Sandbox says which origin the frame has in which the console shows a page of a server (MCP Apps).
type Sandbox struct {
	Origin func() string                           // the origin that the frame is loaded from; "" gives it an opaque one
	Hosts  func(r *http.Request, host string) bool // whether the console that requests a frame with r may be at a host
}

// Foreign returns what browsers come to from other sites, for mcpserver.Options.Foreign: the frame, and the page of
// an approval, which shows nothing by itself.
func Foreign(s Sandbox) map[string]http.Handler {
	return map[string]http.Handler{"/console/sandbox.html": guarded(http.HandlerFunc(s.serve)), ApprovePath: guarded(http.HandlerFunc(serveApproval))}
}

// serve serves the frame with the policy that the server has declared for its page in the query. The policy's
// sandbox makes its origin opaque wherever it is framed or opened: no cookie, storage or page of the bridge is within
// its reach. At Origin it has that one, and the console that the query names may frame it.
func (s Sandbox) serve(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	flags, ancestors := "allow-scripts allow-forms", "'self'"
	if _, host, _ := strings.Cut(s.Origin(), "://"); host != "" && strings.EqualFold(host, r.Host) {
		flags = "allow-same-origin " + flags
		if from, err := url.Parse(query.Get("from")); err == nil && isOrigin(from.Scheme+"://"+from.Host) && s.Hosts(r, from.Host) {
			ancestors += " " + from.Scheme + "://" + from.Host
		}
	}
	h := w.Header()
	h.Del("X-Frame-Options") // which cannot name another origin
	policy, err := appPolicy(query.Get("csp"))
	if err != nil {
		h.Set("Content-Security-Policy", "sandbox; frame-ancestors "+ancestors+"; default-src 'none'") // the frame shows why
		http.Error(w, "the page is not shown: "+err.Error(), http.StatusBadRequest)
		return
	}
	h.Set("Content-Security-Policy", "sandbox "+flags+"; frame-ancestors "+ancestors+"; "+policy)
	h.Set("Content-Type", "text/html; charset=utf-8")
	http.ServeFileFS(w, r, embedded, "files/sandbox.html")
}

// declared is McpUiResourceCsp of the MCP Apps specification, 2026-01-26.
type declared struct {
	ConnectDomains, ResourceDomains, FrameDomains, BaseURIDomains []string
}

// isOrigin reports whether a source may be in a policy: it has nothing that could end a directive, and stands for
// servers on the network alone.
func isOrigin(source string) bool {
	scheme, rest, found := strings.Cut(source, "://")
	host, path, _ := strings.Cut(rest, "/")
	host, port, hasPort := strings.Cut(host, ":")
	host = strings.TrimPrefix(host, "*.")
	return found && slices.Contains([]string{"https", "http", "wss", "ws"}, scheme) && host != "" && isPlain(host, ".-") &&
		(!hasPort || port == "*" || port != "" && strings.Trim(port, "0123456789") == "") && isPlain(path, "/._~%-")
}

// isPlain reports whether a text has only letters and digits of ASCII, and some other characters.
func isPlain(text, others string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return !('0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || strings.ContainsRune(others, r))
	})
}

// appPolicy returns the policy of a page that declares something of it, raw JSON or "". Inline scripts and styles
// are what such a page is made of; all else is what it declares.
func appPolicy(raw string) (string, error) {
	var d declared
	if len(raw) > maxDeclared {
		return "", fmt.Errorf("_meta.ui.csp has %d bytes, %d are allowed", len(raw), maxDeclared)
	}
	if raw != "" {
		if err := json.Unmarshal([]byte(raw), &d); err != nil {
			return "", fmt.Errorf("_meta.ui.csp: expected an object of lists of origins: %w", err)
		}
	}
	var b strings.Builder
	b.WriteString("default-src 'none'; object-src 'none'; form-action 'none'")
	for _, directive := range []struct {
		name, always string
		origins      []string
	}{
		{"script-src", "'unsafe-inline'", d.ResourceDomains},
		{"style-src", "'unsafe-inline'", d.ResourceDomains},
		{"img-src", "data:", d.ResourceDomains},
		{"media-src", "data:", d.ResourceDomains},
		{"font-src", "", d.ResourceDomains},
		{"connect-src", "", d.ConnectDomains},
		{"frame-src", "", d.FrameDomains},
		{"base-uri", "", d.BaseURIDomains},
	} {
		for _, o := range directive.origins {
			if !isOrigin(o) {
				return "", fmt.Errorf("_meta.ui.csp: %.100q is not an origin, such as https://api.example", o)
			}
		}
		sources := strings.TrimSpace(directive.always + " " + strings.Join(directive.origins, " "))
		if sources == "" {
			sources = "'none'"
		}
		b.WriteString("; " + directive.name + " " + sources)
	}
	return b.String(), nil
}
