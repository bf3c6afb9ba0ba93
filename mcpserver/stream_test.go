package mcpserver

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
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
		p := newInBubble(t, Options{}, okay)
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
		p := newInBubble(t, Options{}, okay)
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

// longLogs are the messages of a log that exceed a queue of 16 KiB.
func longLogs(back bridge.Back) {
	for range 100 {
		back.Notify(wire.NotificationMessage, []byte(`{"level":"info","data":"`+strings.Repeat("x", 1<<10)+`"}`))
	}
}

// A client that has gone gets the response to its call when it comes back, however much it has missed: before the end of
// the call, or after it.
func TestGoneClientIsAnswered(t *testing.T) {
	for name, early := range map[string]bool{"before": true, "after": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gone, back := make(chan struct{}), make(chan struct{})
				p := newInBubble(t, Options{QueueBytes: 16 << 10}, func(_ context.Context, req *bridge.Request) bridge.Reply {
					if req.Method == wire.MethodToolsCall {
						req.Back.Notify("notifications/first", []byte("{}"))
						<-gone
						longLogs(req.Back)
						<-back
					}
					return bridge.Result([]byte("{}"), nil)
				})
				id := p.legacy(t.Context(), "", fmt.Sprintf(hello, "{}")).Header().Get(mcp.HeaderSessionID)
				ctx, leave := context.WithCancel(t.Context())
				answered := make(chan struct{})
				go func() {
					defer close(answered)
					p.legacy(ctx, id, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`)
				}()
				synctest.Wait()
				leave()
				synctest.Wait()
				close(gone)
				synctest.Wait()
				if !early {
					close(back)
					<-answered
				}
				w, leave := streaming(p, p.sessions.sessions[id], "1-1")
				if early {
					close(back)
					<-answered
				}
				leave()
				if got := w.Body.String(); !strings.Contains(got, `"id":1,"result"`) {
					t.Errorf("it gets %d bytes without the response, %.200q", len(got), got)
				}
			})
		})
	}
}

// A list change reaches a client that has gone, or was too slow, when it comes back.
func TestListChangeIsKept(t *testing.T) {
	for name, fill := range map[string]func(*journal){
		"gone": func(j *journal) { longLogs(j) },
		"slow": func(j *journal) { j.sessionStream().box.end(errSlow) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newInBubble(t, Options{QueueBytes: 16 << 10}, okay)
				s := p.newHTTPSession(identity{})
				defer s.end(errEnded)
				_, leave := streaming(p, s, "")
				leave()
				fill(s.journal)
				s.journal.Notify(wire.NotificationToolsChanged, nil)
				w, leave := streaming(p, s, "0-0")
				leave()
				if got := w.Body.String(); !strings.Contains(got, wire.NotificationToolsChanged) {
					t.Errorf("it gets %d bytes without the change, %.200q", len(got), got)
				}
			})
		})
	}
}

// So does one that waited when the client became too slow: its reader ends, or something else comes first.
func TestWaitingListChangeIsKept(t *testing.T) {
	for name, next := range map[string]func(*stream){
		"reader": func(st *stream) { st.attach(func() {})() },
		"other":  func(st *stream) { st.session.journal.Notify("notifications/x", []byte("{}")) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newInBubble(t, Options{}, okay)
				s := p.newHTTPSession(identity{})
				defer s.end(errEnded)
				st := s.journal.sessionStream()
				s.journal.Notify(wire.NotificationToolsChanged, nil)
				s.journal.Notify(wire.NotificationProgress, []byte(`{"progressToken":"notifications/y"}`))
				st.box.end(errSlow)
				next(st)
				w, leave := streaming(p, s, "")
				leave()
				if got := w.Body.String(); strings.Count(got, wire.NotificationToolsChanged) != 1 || strings.Contains(got, "/y") {
					t.Errorf("it gets %q", got)
				}
			})
		})
	}
}

// Whatever else waited then comes to a client that resumes the stream, and so does what came later.
func TestRestOfSlowStreamIsKept(t *testing.T) {
	for name, next := range map[string]func(*stream){
		"reader": func(st *stream) { st.attach(func() {})() },
		"other":  func(st *stream) { st.session.journal.Notify("notifications/x", []byte("{}")) },
		"both": func(st *stream) {
			gone := st.attach(func() {})
			st.session.journal.Notify("notifications/x", []byte("{}"))
			gone()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newInBubble(t, Options{}, okay)
				s := p.newHTTPSession(identity{})
				defer s.end(errEnded)
				st := s.journal.sessionStream()
				s.journal.Notify(wire.NotificationMessage, []byte(`{"data":"waited"}`))
				st.box.end(errSlow)
				next(st)
				s.journal.Notify(wire.NotificationMessage, []byte(`{"data":"later"}`))
				w, leave := streaming(p, s, "0-0")
				leave()
				if got := w.Body.String(); strings.Count(got, "waited") != 1 || strings.Count(got, "later") != 1 {
					t.Errorf("it gets %q", got)
				}
			})
		})
	}
}

// What is said of a task reaches a client without a GET stream on that of its latest request for the result of one, and a
// client with a GET stream on that one.
func TestTaskIsToldOnResult(t *testing.T) {
	const (
		status   = `{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"a","status":"working"}}`
		progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`
	)
	for name, c := range map[string]struct {
		listens bool
		accept  string
		told    bool // on the stream of the request
	}{
		"without":   {false, "", true},
		"with":      {true, "", false},
		"JSON only": {false, "application/json", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s *session
				p := newInBubble(t, Options{}, func(_ context.Context, req *bridge.Request) bridge.Reply {
					if req.Method == wire.MethodTasksResult {
						m, _ := wire.Split([]byte(status))
						s.journal.Notify(m.Method, m.Params.Raw)
						m, _ = wire.Split([]byte(progress))
						s.journal.Notify(m.Method, m.Params.Raw)
						s.journal.Notify("notifications/message", []byte(`{"data":"other"}`))
					}
					return bridge.Result([]byte("{}"), nil)
				})
				s = p.sessions.sessions[p.legacy(t.Context(), "", fmt.Sprintf(hello, "{}")).Header().Get(mcp.HeaderSessionID)]
				stream, leave := httptest.NewRecorder(), func() {}
				if c.listens {
					stream, leave = streaming(p, s, "")
				}
				r := httptest.NewRequestWithContext(t.Context(), "POST", "http://127.0.0.1/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tasks/result","params":{"taskId":"a"}}`))
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set(mcp.HeaderSessionID, s.id)
				if c.accept != "" {
					r.Header.Set("Accept", c.accept)
				}
				w := httptest.NewRecorder()
				p.Handler().ServeHTTP(w, r)
				s.journal.Notify(wire.NotificationProgress, []byte(`{"progressToken":1,"progress":2}`)) // after the result
				leave()
				got := w.Body.String()
				if i := strings.Index(got, progress); (i > strings.Index(got, status)) != c.told || i > strings.Index(got, `"id":1,"result"`) || strings.Contains(got, "other") {
					t.Errorf("the request is answered by %q", got)
				}
				got = stream.Body.String()
				if told := strings.Contains(got, status) && strings.Contains(got, progress); told != c.listens {
					t.Errorf("the GET stream has %q", got)
				}
			})
		})
	}
}

// halfPipe is a connection in memory that closes like one over TCP, so that its POSTs are served as those are.
type halfPipe struct{ *peer.Network }

func (p halfPipe) Accept() (net.Conn, error) {
	conn, err := p.Network.Accept()
	return struct {
		net.Conn
		closer
	}{conn, closer{}}, err
}

type closer struct{}

func (closer) CloseWrite() error { return nil }

// A client whose connection is lost, which nothing has told it or the server, resumes a stream at once: it does not wait
// for what is written to the connection that is lost.
func TestHungStreamIsResumedAtOnce(t *testing.T) {
	for name, c := range map[string]struct{ method, body, last string }{
		"GET":  {"GET", "", "0-1"},
		"POST": {"POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`, "1-1"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				more, end := make(chan struct{}), make(chan struct{})
				p, network := newInBubble(t, Options{}, func(ctx context.Context, req *bridge.Request) bridge.Reply {
					if req.Method == wire.MethodToolsCall {
						req.Back.Notify("notifications/first", []byte("{}"))
						<-more
						req.Back.Notify("notifications/second", []byte("{}"))
						select {
						case <-end:
						case <-ctx.Done():
							t.Error("the call has ended: ", context.Cause(ctx))
						}
					}
					return bridge.Result([]byte("{}"), nil)
				}), peer.NewNetwork()
				web := httptest.NewUnstartedServer(p.Handler())
				web.Listener.Close()
				web.Config.ReadHeaderTimeout, web.Config.IdleTimeout = headTime, idleTime
				web.Listener = p.listen(halfPipe{network}, web.Config)
				web.Start()
				defer web.Close()
				id := p.legacy(t.Context(), "", fmt.Sprintf(hello, "{}")).Header().Get(mcp.HeaderSessionID)
				open := func(method, body, fields string) (net.Conn, *bufio.Scanner) {
					conn, err := network.Dial(t.Context(), "", "")
					if err != nil {
						t.Fatal(err)
					}
					fmt.Fprintf(conn, "%s /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json, text/event-stream\r\n%s: %s\r\n%s\r\n%s", method, mcp.HeaderSessionID, id, fields, body)
					return conn, bufio.NewScanner(conn)
				}
				until := func(in *bufio.Scanner, text string) {
					for in.Scan() && !strings.Contains(in.Text(), text) {
					}
					if !strings.Contains(in.Text(), text) {
						t.Errorf("%s does not come: %v", text, in.Err())
					}
				}
				fields := ""
				if c.body != "" {
					fields = fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n", len(c.body))
				}
				lost, in := open(c.method, c.body, fields)
				defer lost.Close()
				s := p.sessions.sessions[id]
				if c.body == "" {
					synctest.Wait()
					s.journal.Notify("notifications/first", []byte("{}"))
				}
				until(in, "notifications/first")
				if c.body == "" {
					go func() { <-more; s.journal.Notify("notifications/second", []byte("{}")) }()
				}
				close(more)
				synctest.Wait() // it is being written
				begun := time.Now()
				for range 2 { // both of which ask for it
					conn, in := open("GET", "", "Last-Event-ID: "+c.last+"\r\n")
					defer conn.Close()
					until(in, "notifications/second")
				}
				if waited := time.Since(begun); waited > time.Second {
					t.Errorf("it waits %v", waited)
				}
				close(end)
				synctest.Wait()
			})
		})
	}
}
