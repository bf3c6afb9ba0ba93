package keepalive_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
)

// A body whose time is over just as its handler needs no more of it does not end the connection.
func TestBodyTimeoutTooLate(t *testing.T) {
	opts := limits
	opts.BodyTimeout = time.Millisecond
	_, addr := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Wait") != "" {
			wait(r.Context(), 1600*time.Millisecond) // longer than three ticks
		}
		io.WriteString(w, "ok")
	}), opts)
	c := dial(t, addr)
	fmt.Fprint(c.TCPConn, "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nWait: 1\r\n\r\n")
	for range 2 {
		if resp, got := c.answer(); got != "ok" || resp.Close {
			t.Errorf("got %q, close %v", got, resp.Close)
		}
		c.post("1")
	}
}

// wait lets sweeps see what a connection does.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// A client that has left is noticed by what cannot be written to it, even if it had sent more.
func TestLeaveBeforeWrite(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan struct{})
	_, addr := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		begun <- struct{}{}
		for part := make([]byte, 1<<16); ; {
			if _, err := w.Write(part); err != nil {
				break
			}
		}
		<-r.Context().Done()
		close(ended)
	}), limits)
	c := dial(t, addr)
	fmt.Fprint(c.TCPConn, "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n1P")
	<-begun
	c.Close()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("the context does not end")
	}
}

// Shutdown ends the context of a request that does not end in time.
func TestShutdownEndsContext(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan struct{})
	l, addr := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
		close(ended)
	}), limits)
	dial(t, addr).post("1")
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l.Shutdown(ctx)
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("the context does not end")
	}
}

// Whatever a client does when it leaves, nothing of its connection stays.
func TestLeaveAnywhere(t *testing.T) {
	sourcetest.NoLeaks(t)
	_, addr := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b := make([]byte, 5)
		io.ReadFull(r.Body, b)
		switch string(b) {
		case "stuck":
			<-r.Context().Done()
		case "write":
			for _, err := w.Write(make([]byte, 1<<20)); err == nil; _, err = w.Write(make([]byte, 1<<20)) {
			}
		case "panic":
			panic("for the test")
		}
		io.WriteString(w, "ok")
	}), limits)
	head := "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: "
	var clients sync.WaitGroup
	for _, sent := range []string{
		"", "PO", head, head + "5\r\n\r\n", head + "5\r\n\r\nab", head + "5\r\n\r\nquick", head + "5\r\n\r\nquick\r",
		head + "5\r\n\r\nstuck", head + "5\r\n\r\nwrite", head + "5\r\n\r\npanic", head + "999999999999999\r\n\r\nquick",
		"GET /mcp HTTP/1.1\r\nHost: a\r\n\r\n", "GET /mcp HT",
	} {
		for i := range 16 {
			c := dial(t, addr)
			clients.Go(func() {
				if i&1 != 0 {
					c.post("quick")
					c.answer()
				}
				io.WriteString(c.TCPConn, sent)
				if i&2 != 0 { // else at once
					wait(t.Context(), time.Duration(i)*100*time.Millisecond)
				}
				if i&4 != 0 { // reset
					c.SetLinger(0)
				}
				c.Close()
			})
		}
	}
	clients.Wait()
}

// Requests and answers of many connections are not mixed up, while handlers are watched, and the
// server ends.
func TestMany(t *testing.T) {
	sourcetest.NoLeaks(t)
	l, addr := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		var written chan error
		if len(b)%3 == 0 { // as a stream does
			written = make(chan error)
			go func() {
				defer close(written)
				for i := range 5 {
					wait(r.Context(), time.Duration(100*i)*time.Millisecond)
					w.Write(b)
					http.NewResponseController(w).Flush()
				}
			}()
			<-written
			return
		}
		if len(b)%3 == 1 {
			wait(r.Context(), 510*time.Millisecond)
		}
		w.Write(b)
	}), limits)
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			c := dial(t, addr)
			for n := range 4 {
				body := strings.Repeat(string(rune('a'+i%26)), 10*i+n+1)
				want := body
				if len(body)%3 == 0 {
					want = strings.Repeat(body, 5)
				}
				c.post(body)
				resp, err := http.ReadResponse(c.in, nil)
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := io.ReadAll(resp.Body); string(got) != want || err != nil {
					t.Errorf("got %.80q and %v", got, err)
				}
			}
		})
	}
	all.Wait()
	c := dial(t, addr)
	c.post("1234")
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, errors.New("late"))
	defer cancel()
	l.Shutdown(ctx)
	if ctx.Err() != nil {
		t.Error(context.Cause(ctx))
	}
}

// A handler that panics ends its own connection, without the end of its answer, and no other.
func TestPanic(t *testing.T) {
	_, addr := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch b, _ := io.ReadAll(r.Body); string(b) {
		case "abort":
			io.WriteString(w, "begun")
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		case "panic":
			panic("of a handler")
		case "late":
			wait(r.Context(), 1600*time.Millisecond) // until the client is watched
			panic("of a handler")
		}
		io.WriteString(w, "ok")
	}), limits)
	other := dial(t, addr)
	for _, body := range []string{"abort", "panic", "late"} {
		c := dial(t, addr)
		c.post("1")
		c.answer()
		c.post(body)
		if resp, err := http.ReadResponse(c.in, nil); err == nil {
			if b, err := io.ReadAll(resp.Body); string(b) != "begun" || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("got %q and %v, want the end in the middle", b, err)
			}
		} else if body == "abort" {
			t.Error(err)
		}
		c.ends()
		other.post("1")
		if _, got := other.answer(); got != "ok" {
			t.Errorf("got %q on another connection", got)
		}
	}
}
