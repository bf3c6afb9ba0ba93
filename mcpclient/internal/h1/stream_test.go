package h1_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// TestStream: events are received while the response goes on, and Close ends it.
func TestStream(t *testing.T) {
	s := newServer(t)
	go func() {
		p := s.accept()
		p.request()
		io.WriteString(p, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n")
		p.ended()
	}()
	resp, err := s.route.Send(t.Context(), http.MethodGet, http.Header{"Accept": {"text/event-stream"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := wire.NewEventReader(resp.Body, 1<<20).Next()
	if err != nil || string(e.Data.B) != "1" {
		t.Errorf("got %v %v", e, err)
	}
	resp.Body.Close()
	if _, err := resp.Body.Read(make([]byte, 1)); err != http.ErrBodyReadAfterClose {
		t.Errorf("after Close: %v", err)
	}
}

// TestLateEnd: the end of a stream that comes after its last event has been taken leaves the connection
// for the next request. One that does not end, or goes on for long, is closed.
func TestLateEnd(t *testing.T) {
	event := "9\r\ndata: 1\n\n\r\n"
	for name, rest := range map[string]string{"end": "0\r\n\r\n", "event": event + "0\r\n\r\n", "none": "", "events": strings.Repeat(event, 10000), "broken": "x\r\n", "answer": "0\r\n\r\n" + ok("not yours")} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			for range 100 { // in case the machine stands still for too long
				resp := make(chan *http.Response)
				go func() {
					r, err := s.route.Send(t.Context(), http.MethodGet, http.Header{"Accept": {"text/event-stream"}}, nil)
					if err != nil {
						t.Error(err)
					}
					resp <- r
				}()
				p := s.accept()
				p.request()
				io.WriteString(p, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"+event)
				body := (<-resp).Body
				if _, err := io.ReadFull(body, make([]byte, len("data: 1\n\n"))); err != nil {
					t.Fatal(err)
				}
				go io.WriteString(p, rest)
				body.Close()
				if _, err := body.Read(make([]byte, 1)); err != http.ErrBodyReadAfterClose {
					t.Errorf("after Close: %v", err)
				}
				s.pool.AwaitLate()
				done := post(t.Context(), s.route, "next")
				if name == "end" || name == "event" {
					p.SetReadDeadline(time.Now().Add(time.Minute))
					if _, err := p.in.Peek(1); err != nil {
						q := s.accept()
						q.request()
						io.WriteString(q, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
						<-done
						continue
					}
				} else {
					p.ended()
					p = s.accept()
				}
				if got := p.request(); got != "next" {
					t.Errorf("the request is %q", got)
				}
				io.WriteString(p, ok("one"))
				want(t, done, "one")
				return
			}
			t.Error("the connection is never kept")
		})
	}
}
