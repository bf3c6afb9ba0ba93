package mcpserver

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mark3labs/mcp-go/mcp"
)

// streaming is a GET of a session.
func streaming(p *parked, s *session, last string) (w *httptest.ResponseRecorder, leave func()) {
	ctx, cancel := context.WithCancel(p.Context())
	w = httptest.NewRecorder()
	served := make(chan struct{})
	go func() {
		defer close(served)
		p.serveStream(w, httptest.NewRequestWithContext(ctx, "GET", "http://127.0.0.1/mcp", nil), s, last)
	}()
	synctest.Wait()
	return w, func() { synctest.Wait(); cancel(); <-served }
}

// A client that was too slow for its GET stream gets what comes later when it resumes that.
func TestSlowStreamIsResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newMade(t, Options{}, okay)
		s := p.newHTTPSession(identity{})
		defer s.end(errEnded)
		st := s.journal.sessionStream()
		st.box.Notify("notifications/first", []byte("{}"))
		st.box.end(errSlow)
		w, leave := streaming(p, s, "0-0")
		leave()
		if !strings.Contains(w.Body.String(), "notifications/first") {
			t.Errorf("what waited is lost: %q", w.Body)
		}
		w, leave = streaming(p, s, "0-1")
		s.journal.Notify("notifications/second", []byte("{}"))
		leave()
		if got := w.Body.String(); !strings.Contains(got, "notifications/second") || strings.Contains(got, "first") || !strings.Contains(got, "id: 0-2\n") {
			t.Errorf("it gets %q", got)
		}
	})
}

// What a client has got on a GET stream does not come again when it resumes a later one.
func TestResumedFromItsBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newMade(t, Options{}, okay)
		id := p.legacy(t.Context(), "", fmt.Sprintf(hello, "{}")).Header().Get(mcp.HeaderSessionID)
		s := p.sessions.sessions[id]
		if s == nil {
			t.Fatal("no session")
		}
		_, leave := streaming(p, s, "")
		s.journal.Notify("notifications/first", []byte("{}"))
		leave()
		w, leave := streaming(p, s, "")
		leave()
		_, rest, _ := strings.Cut(w.Body.String(), "id: ")
		begin, _, _ := strings.Cut(rest, "\n")
		w, leave = streaming(p, s, begin)
		s.journal.Notify("notifications/second", []byte("{}"))
		leave()
		if got := w.Body.String(); strings.Contains(got, "first") || !strings.Contains(got, "second") {
			t.Errorf("after %q comes %q", begin, got)
		}
	})
}
