package mcpserver

import (
	"io"
	"net/http"
	"strings"
)

// page is what a person sees who opens the address of a bridge without Options.Page. It names no host: the address may
// be that of a proxy.
const page = `This is mcpbridge, a server of the Model Context Protocol, for MCP clients:

/ and /mcp   streamable HTTP
/sse         HTTP+SSE, the older transport
/ws          WebSocket, for web pages with the module /mcpbridge.js

/readyz tells whether it is ready.
`

// pageOr shows the page to browsers and passes on the requests of MCP clients, whose GET asks for
// an event stream.
func (s *Server) pageOr(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		if !reads || strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
			next(w, r)
			return
		}
		if own := s.opts().Page; own != nil && strings.Contains(r.Header.Get("Accept"), "text/html") {
			own.ServeHTTP(w, r)
			return
		}
		h := w.Header()
		h.Set("Content-Type", "text/plain; charset=utf-8")
		h.Set("X-Content-Type-Options", "nosniff")
		io.WriteString(w, page)
	}
}
