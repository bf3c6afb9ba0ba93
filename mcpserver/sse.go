package mcpserver

import (
	"context"
	"io"
	"net/http"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// ssePath is where messages of the legacy SSE transport are posted; the query names the session.
const ssePath = "/sse/message"

// serveSSE is the stream of the HTTP+SSE transport of revision 2024-11-05.
func (s *Server) serveSSE(w http.ResponseWriter, r *http.Request, sender identity) {
	if r.Method != http.MethodGet { // clients recognize the transport by this refusal
		writeMethodError(w, http.MethodGet, "the legacy SSE transport begins with a GET; streamable HTTP is at /mcp")
		return
	}
	d := s.newDuplex(sender)
	d.post = d.receive
	d.readers.Add(1)
	if !s.sessions.register(d.session, w) {
		return
	}
	out := newEventWriter(w)
	out.write("endpoint", "", []byte(ssePath+"?sessionId="+d.id))
	if out.flush() == nil {
		ctx, leave := context.WithCancel(r.Context())
		release := context.AfterFunc(d.ctx, leave)
		d.box.drain(ctx.Done(), func(batch []*wire.Buffer) error {
			for _, msg := range batch {
				out.write("message", "", msg.B)
				msg.Free()
			}
			return out.flush()
		}, out.idle)
		release()
		leave()
	}
	s.sessions.endSession(d.session)
	d.close(io.EOF)
}

// serveSSEMessage takes a message for a session of the legacy SSE transport.
func (s *Server) serveSSEMessage(w http.ResponseWriter, r *http.Request, sender identity) {
	if r.Method != http.MethodPost {
		writeMethodError(w, http.MethodPost, "use POST to send a message")
		return
	}
	target := s.sessions.find(r.URL.Query().Get("sessionId"), sender)
	if target == nil || target.post == nil {
		writeError(w, http.StatusNotFound, "no such session: it ends with its SSE stream")
		return
	}
	msg := s.readBody(w, r)
	if msg == nil {
		return
	}
	w.WriteHeader(http.StatusAccepted)
	target.post(msg)
}
