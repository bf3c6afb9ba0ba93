package peer

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// http is streamable HTTP, with sessions in the legacy era.
func (s *Server) http(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		s.stream(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	dropped := false
	say, end := events(w)
	defer end()
	c := s.newCall(body, say, func() { dropped = true })
	c.Header = r.Header
	from, ok := s.from(w, r, c)
	if !ok {
		return
	}
	s.take(r.Context(), from, c)
	switch {
	case c.Kind() != wire.Request:
		w.WriteHeader(http.StatusAccepted)
	case dropped:
		panic(http.ErrAbortHandler)
	case c.Modern && !c.answered && r.Context().Err() != nil: // closing the stream is the cancellation
		s.take(r.Context(), from, s.newCall([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+string(c.ID)+`}}`), nil, nil))
	}
}

// from returns the session of a message, or else what it came from, unless it has refused it.
func (s *Server) from(w http.ResponseWriter, r *http.Request, c *Call) (name string, ok bool) {
	switch {
	case c.Modern && s.era != Legacy:
		return r.RemoteAddr, checkHeaders(w, r, c)
	case s.era == Modern:
		refuse(w, http.StatusBadRequest, c, wire.UnsupportedVersion, `"data":{"supported":["2026-07-28"],"requested":"2025-11-25"}`)
		return "", false
	case c.Method == wire.MethodInitialize:
		queue := make(chan string, 10_000)
		session := s.open(func(m string) { queue <- m }, func() {})
		s.Update(func() { s.sessions[session.name] = queue })
		w.Header().Set(mcp.HeaderSessionID, session.name)
		return session.name, true
	}
	return r.Header.Get(mcp.HeaderSessionID), s.queue(w, r, c) != nil
}

// queue returns what waits for the stream of a session, unless it has refused the request.
func (s *Server) queue(w http.ResponseWriter, r *http.Request, c *Call) (queue chan string) {
	name := r.Header.Get(mcp.HeaderSessionID)
	if s.Read(func() { queue = s.sessions[name] }); queue != nil {
		return queue
	}
	if name == "" {
		refuse(w, http.StatusBadRequest, c, -32000, `"data":"Mcp-Session-Id is missing"`)
	} else {
		refuse(w, http.StatusNotFound, c, -32001, `"data":"no such session"`)
	}
	return nil
}

// stream is a GET or DELETE of a session.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	queue := s.queue(w, r, &Call{})
	if queue == nil || r.Method == http.MethodDelete {
		return
	}
	say, end := events(w)
	defer end()
	say("")
	for {
		select {
		case m := <-queue:
			say(m)
		case <-r.Context().Done():
			return
		}
	}
}

// checkHeaders refuses a request of the modern era whose headers are not those of its body.
func checkHeaders(w http.ResponseWriter, r *http.Request, c *Call) bool {
	name := cmp.Or(c.Name(), c.URI(), c.text(wire.TaskID))
	for header, want := range map[string]string{mcp.HeaderProtocolVersion: wire.ModernRevision, "Mcp-Method": c.Method, "Mcp-Name": name, mcp.HeaderSessionID: ""} {
		if got := r.Header.Get(header); got != want {
			refuse(w, http.StatusBadRequest, c, wire.HeaderMismatch, fmt.Sprintf(`"data":%q`, header+" is "+got))
			return false
		}
	}
	return true
}

// refuse answers with an HTTP status and an error.
func refuse(w http.ResponseWriter, status int, c *Call, code int, more string) {
	id := "null"
	if c.ID != nil {
		id = string(c.ID)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"refused",%s}}`, id, code, more)
}

// events returns what makes a response a stream with its first message, of which "" is a
// comment, until end. Lines of a message are events that leave together.
func events(w http.ResponseWriter) (say func(string), end func()) {
	var mu sync.Mutex
	ended := false
	say = func(msg string) {
		mu.Lock()
		defer mu.Unlock()
		if ended {
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		if msg == "" {
			io.WriteString(w, ":\n\n")
		} else {
			io.WriteString(w, "data: "+strings.ReplaceAll(msg, "\n", "\n\ndata: ")+"\n\n")
		}
		w.(http.Flusher).Flush()
	}
	return say, func() {
		mu.Lock()
		defer mu.Unlock()
		ended = true
	}
}
