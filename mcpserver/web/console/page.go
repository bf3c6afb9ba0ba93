package console

import (
	"embed"
	"net/http"
	"path"
	"strings"
)

//go:embed files
var embedded embed.FS

// policy lets a page run the bridge's own scripts and styles, speak to the bridge, and show its frames, and nothing
// else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; media-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; frame-src 'self'"

// Page returns the page, for mcpserver.Options.Page.
func Page(s Sandbox) http.Handler {
	return guarded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", strings.TrimSuffix(policy+" "+s.Origin(), " "))
		http.ServeFileFS(w, r, embedded, "files/console.html")
	}))
}

// ApprovePath is where the page of an approval is, with the ID behind it.
const ApprovePath = "/approve/"

// serveApproval serves the page of an approval.
func serveApproval(w http.ResponseWriter, r *http.Request) {
	if id := strings.TrimPrefix(r.URL.Path, ApprovePath); id == "" || strings.Contains(id, "/") || r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.NotFound(w, r)
		return
	}
	http.ServeFileFS(w, r, embedded, "files/approve.html")
}

// Files returns what the page is made of, for mcpserver.Options.Public.
func Files() map[string]http.Handler {
	kinds := map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".txt": "text/plain; charset=utf-8"}
	return map[string]http.Handler{"/console/": guarded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/console/")
		kind := kinds[path.Ext(name)]
		if kind == "" || strings.Contains(name, "/") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", kind) // some systems have types of their own
		http.ServeFileFS(w, r, embedded, "files/"+name)
	}))}
}

// guarded sets the headers with which a page is neither framed, guessed at, kept, nor named to others.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Frame-Options", "DENY")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}
