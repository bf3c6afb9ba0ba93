package mcpserver

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const (
	firstEvent = "event: message\nid: 1-1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n"
	lastEvent  = "event: message\nid: 1-2\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n\n"
)

// sendEvents answers with a stream of events.
func sendEvents(w http.ResponseWriter, events string) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	io.WriteString(w, events)
	http.NewResponseController(w).Flush()
}

// Where the way to a node is lost, which goes on itself, so does its answer: the client need not know.
func TestStreamIsResumed(t *testing.T) {
	noLink := toolformat.Errorf(toolformat.Unavailable, "no link")
	for _, c := range []struct {
		name    string
		client  string   // of the session, whose length says whether it can move
		answers []string // to what follows the request: "" for no link, "503", or what a stream still has
		ends    bool     // this node does
		rest    string   // of the answer after firstEvent; "" if it breaks off there
	}{
		{"at once", "x", []string{lastEvent}, false, lastEvent},
		{"later", "x", []string{"", "503", lastEvent}, false, lastEvent},
		{"of a session that cannot move", strings.Repeat("x", maxBeginning), []string{"", lastEvent}, false, lastEvent},
		{"not kept", "x", []string{": \n\n"}, false, "it is unknown whether it ran"},
		{"this node ends", "x", []string{""}, true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNoded(t)
			n.by = "b.1"
			id := n.begin(t, c.client)
			n.server.sessions.endSession(n.server.sessions.sessions[id]) // as after this node's start
			n.set(func() { n.fate, n.alone = noLink, c.ends })
			var asked atomic.Int32
			n.carry = func(w http.ResponseWriter, r *http.Request) (sent bool, err error) {
				count := int(asked.Add(1))
				if count == 1 {
					sendEvents(w, firstEvent)
					if c.ends {
						n.server.stop(errClosing)
					}
					return true, errors.New("the link was lost")
				}
				if last := r.Header.Get("Last-Event-ID"); r.Method != http.MethodGet || last != "1-1" || r.ContentLength != 0 {
					t.Errorf("%s, Last-Event-ID %q", r.Method, last)
				}
				switch answer := c.answers[count-2]; answer {
				case "":
					return false, noLink
				case "503":
					writeError(w, http.StatusServiceUnavailable, "not now")
				default:
					sendEvents(w, answer)
				}
				return true, nil
			}
			resp := n.send(t, http.MethodPost, id, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
			defer resp.Body.Close()
			raw, err := io.ReadAll(resp.Body)
			rest, begun := strings.CutPrefix(string(raw), firstEvent)
			if !begun || !strings.Contains(rest, c.rest) || (err != nil) != (c.rest == "") || int(asked.Load()) != 1+len(c.answers) {
				t.Errorf("%q, %v after %d requests", raw, err, asked.Load())
			}
			if c.rest == lastEvent && rest != lastEvent {
				t.Errorf("%q", raw)
			}
		})
	}
}

// A request that may have run is sent to the node that has the session now until it is answered: a refusal would say that it
// has not run. Who has begun to answer it goes on with that instead.
func TestSentAgain(t *testing.T) {
	const response = `{"jsonrpc":"2.0","id":2,"result":{}}`
	for _, c := range []struct {
		name  string
		begun bool     // an answer
		steps []string // what follows: a method, and a status or what is answered
		want  string
	}{
		{"lost as a whole", false, []string{"POST 503", "POST 404", "POST " + response}, response},
		{"same node", true, []string{"GET 503", "GET " + lastEvent}, firstEvent + lastEvent},
		{"nothing is kept", true, []string{"GET 400", "POST " + lastEvent}, firstEvent + lastEvent},
		{"another node", true, []string{"GET 404", "POST 503", "POST " + lastEvent}, firstEvent + lastEvent},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNoded(t)
			n.by = "b.1"
			id := n.begin(t, "x")
			n.server.sessions.endSession(n.server.sessions.sessions[id]) // as after this node's start
			n.set(func() { n.owner = "c.1" })
			asked := 0
			n.carry = func(w http.ResponseWriter, r *http.Request) (sent bool, err error) {
				if asked++; asked == 1 {
					if c.begun {
						sendEvents(w, firstEvent)
					}
					return true, errors.New("the link was lost")
				}
				method, answer, _ := strings.Cut(c.steps[asked-2], " ")
				if r.Method != method || !repeats(r) {
					t.Errorf("%s, want %s: %v", r.Method, method, r.Header)
				}
				switch {
				case len(answer) == 3:
					status, _ := strconv.Atoi(answer)
					writeError(w, status, "not now")
				case answer[0] == '{':
					io.WriteString(w, answer)
				default:
					sendEvents(w, answer)
				}
				return true, nil
			}
			resp := n.send(t, http.MethodPost, id, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
			defer resp.Body.Close()
			raw, err := io.ReadAll(resp.Body)
			if string(raw) != c.want || resp.StatusCode != http.StatusOK || err != nil || asked != 1+len(c.steps) {
				t.Errorf("%s %q, %v after %d requests", resp.Status, raw, err, asked)
			}
		})
	}
}

// A request that is refused, and may have run before, is not said not to have run: it may run still.
func TestRepeatedWhilePending(t *testing.T) {
	n := newNoded(t)
	id := n.begin(t, "x")
	own := n.server.sessions.sessions[id]
	defer own.endRequest(own.beginRequest(t.Context(), &wire.Message{ID: []byte("2")}, nil))
	for again, want := range map[string]bool{"": false, "1": true} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.url, strings.NewReader(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo"}}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Content-Type": {"application/json"}, "Mcp-Session-Id": {id}, headerRepeated: {again}}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		raw, _ := io.ReadAll(resp.Body)
		if unknown := strings.Contains(string(raw), "it is unknown whether it ran"); unknown != want || strings.Contains(string(raw), `"notRun":true`) == want {
			t.Errorf("repeated %q: %s", again, raw)
		}
	}
}

// What follows an answer that was refused reaches the client: that of this node, which has gone on with the session.
func TestRefusedThenAdopted(t *testing.T) {
	n := newNoded(t)
	n.by = "b.1"
	id := n.begin(t, "x")
	n.server.sessions.endSession(n.server.sessions.sessions[id]) // as after this node's start
	n.set(func() { n.fate, n.later = toolformat.Errorf(toolformat.Unavailable, "no link"), 1 })
	asked := 0
	n.carry = func(w http.ResponseWriter, r *http.Request) (sent bool, err error) {
		if asked++; asked == 1 {
			sendEvents(w, firstEvent)
			return true, errors.New("the link was lost")
		}
		writeError(w, http.StatusServiceUnavailable, "not now")
		return true, nil
	}
	resp := n.send(t, http.MethodPost, id, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if rest, begun := strings.CutPrefix(string(raw), firstEvent); !begun || !strings.Contains(rest, `"id":2,"result":{}`) || err != nil || asked != 2 {
		t.Errorf("%q, %v after %d requests", raw, err, asked)
	}
}

// A GET that was lost on its way, and goes on with a session that has moved here, gets its stream, and one that resumes
// another node's is told that nothing more comes: a client takes 404 for the end of its session.
func TestStreamSentAgain(t *testing.T) {
	for last, want := range map[string]int{"": http.StatusOK, "0-7": http.StatusOK, "1-1": http.StatusBadRequest} {
		n := newNoded(t)
		n.by = "b.1"
		id := n.begin(t, "x")
		n.server.sessions.endSession(n.server.sessions.sessions[id]) // as after this node's start
		n.set(func() { n.fate, n.later, n.sent = toolformat.Errorf(toolformat.Unavailable, "no link"), 1, true })
		if status := n.resume(t, id, last); status != want {
			t.Errorf("Last-Event-ID %q: HTTP %d", last, status)
		}
	}
}

// postTo posts a message of a session, "" for none.
func postTo(t *testing.T, s *Server, session, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(body)).WithContext(t.Context())
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Mcp-Session-Id", session)
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

// beginAt begins a session of a revision whose streams need not begin with an event.
func beginAt(t *testing.T, s *Server) (id string) {
	begun := postTo(t, s, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	return begun.Header().Get("Mcp-Session-Id")
}

// The answer of a call that runs for long survives any number of losses, and that others wait meanwhile.
func TestLostAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := newFakeNodes()
		s := New(sourcetest.NewFake(), Options{Nodes: nodes, Adoptable: true})
		defer s.Close()
		id := "b.1" + beginAt(t, s) // which has moved
		nodes.set(func() { nodes.owner = "c.1" })
		own := s.opts().accounts.of(bridge.Principal{})
		asked := 0
		nodes.carry = func(w http.ResponseWriter, r *http.Request) (sent bool, err error) {
			switch asked++; asked {
			case 1, 4:
				return false, toolformat.Errorf(toolformat.Unavailable, "no link")
			case 2:
				sendEvents(w, firstEvent)
				time.Sleep(10 * lostTime)
				room := own.most[forwardedCalls].Swap(0)
				time.AfterFunc(lostTime/2, func() { own.most[forwardedCalls].Store(room) })
			case 3:
				sendEvents(w, ": \n\n")
				time.Sleep(10 * lostTime)
			default:
				sendEvents(w, lastEvent)
				return true, nil
			}
			return true, errors.New("the link was lost")
		}
		if got, want := postTo(t, s, id, `{"jsonrpc":"2.0","id":2,"method":"ping"}`).Body.String(), firstEvent+": \n\n"+lastEvent; got != want || asked != 5 {
			t.Errorf("%q after %d requests", got, asked)
		}
		if n := own.used[forwardedCalls].Load(); n != 0 || s.Pending() != 0 {
			t.Errorf("%d are counted", n)
		}
	})
}

// cutWriter takes nothing any more once it is cut.
type cutWriter struct {
	http.ResponseWriter
	mu  sync.Mutex
	cut bool
}

func (w *cutWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut {
		return 0, net.ErrClosed
	}
	return w.ResponseWriter.Write(p)
}

func (w *cutWriter) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ResponseWriter.WriteHeader(status)
}

func (w *cutWriter) SetWriteDeadline(time.Time) error { return nil }
func (w *cutWriter) FlushError() error                { return nil }

// A stream on which nothing has come yet is resumed, too: the call runs once, and its client gets its response.
func TestQuietStreamIsResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, others, fake := newFakeNodes(), newFakeNodes(), sourcetest.NewFake()
		others.by = "b.1"
		s, owner := New(sourcetest.NewFake(), Options{Nodes: nodes, Adoptable: true}), New(fake, Options{Nodes: others, Adoptable: true})
		defer s.Close()
		defer owner.Close()
		nodes.set(func() { nodes.fate = toolformat.Errorf(toolformat.Unavailable, "no link") })
		asked := 0
		nodes.carry = func(w http.ResponseWriter, r *http.Request) (sent bool, err error) {
			r = r.WithContext(context.WithValue(r.Context(), forwardedKey{}, true))
			if asked++; asked == 2 {
				return false, nodes.fate
			} else if asked > 2 {
				owner.Handler().ServeHTTP(w, r)
				return true, nil
			}
			ctx, cut := context.WithTimeout(r.Context(), 2*streamAfter)
			defer cut()
			link := &cutWriter{ResponseWriter: w}
			go owner.Handler().ServeHTTP(link, r.WithContext(ctx))
			<-ctx.Done()
			link.mu.Lock()
			defer link.mu.Unlock()
			link.cut = true
			return true, errors.New("the link was lost")
		}
		id := beginAt(t, owner)
		time.AfterFunc(4*streamAfter, func() { // ends the call
			go postTo(t, owner, id, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"wait"}}`)
			time.Sleep(time.Second)
			postTo(t, owner, id, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`)
		})
		time.AfterFunc(2*streamAfter+adoptTime/10, func() {
			if n := s.Pending(); n != 1 {
				t.Errorf("%d are pending while it waits", n)
			}
		})
		got := postTo(t, s, id, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"cancelled","arguments":{"n":1}}}`)
		if body := got.Body.String(); strings.Count(body, "data:") != 1 || !strings.Contains(body, `"id":2,"result":`) || fake.Calls("cancelled") != 1 || asked != 3 {
			t.Errorf("%q after %d calls, %d requests", body, fake.Calls("cancelled"), asked)
		}
		if h := got.Header(); h.Get(headerStream) != "" || s.Pending() != 0 {
			t.Error(h, s.Pending())
		}
	})
}
