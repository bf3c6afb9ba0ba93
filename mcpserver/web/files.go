package web

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"net/http"
	"time"
)

//go:embed mcpbridge.js
var module []byte

//go:embed mcpbridge.d.ts
var moduleTypes []byte

// Files returns the handlers of the files that pages load, by patterns of http.ServeMux.
func Files() map[string]http.Handler {
	return map[string]http.Handler{
		"/mcpbridge.js":   file("text/javascript; charset=utf-8", module),
		"/mcpbridge.d.ts": file("text/plain; charset=utf-8", moduleTypes),
	}
}

// file serves a file that changes only with the program: a copy may be kept, and is compared by its tag.
func file(kind string, content []byte) http.Handler {
	sum := sha256.Sum256(content)
	tag := `"` + hex.EncodeToString(sum[:12]) + `"`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "use GET", http.StatusMethodNotAllowed)
			return
		}
		h := w.Header()
		h.Set("Content-Type", kind)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cross-Origin-Resource-Policy", "cross-origin") // whose pages may read it, Access and CORS decide
		h.Set("Cache-Control", "no-cache")
		h.Set("Etag", tag)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	})
}
