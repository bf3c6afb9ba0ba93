package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// panicking is a source that panics in the calls that a test names: Open, List, Close, or a
// method of Do.
type panicking map[string]bool

func (p panicking) Open(context.Context, *bridge.Caller) (bridge.Session, error) {
	return p, p.call("Open")
}
func (p panicking) Close() error { return p.call("Close") }
func (p panicking) List(_ context.Context, kind bridge.ListKind) (*bridge.List, error) {
	return bridge.NewList(kind, nil), p.call("List")
}

func (p panicking) Do(_ context.Context, req *bridge.Request) bridge.Reply {
	p.call(req.Method)
	return bridge.Result([]byte(`{}`), nil)
}

func (p panicking) call(name string) error {
	if p[name] {
		panic(name + " is broken")
	}
	return nil
}

// newPanicking returns a server of a source that panics in calls, and its log, to be read when the
// server is closed.
func newPanicking(t *testing.T, calls ...string) (*parked, *bytes.Buffer) {
	sourcetest.NoLeaks(t)
	source, log := panicking{}, new(bytes.Buffer)
	for _, call := range calls {
		source[call] = true
	}
	p := &parked{T: t, Server: New(source, Options{Log: slog.New(slog.NewTextHandler(log, nil))})}
	t.Cleanup(func() { p.Close() })
	return p, log
}

// late is a source that takes a while to open, as one of servers that only start.
type late struct {
	panicking
	wait func()
}

func (l late) Open(context.Context, *bridge.Caller) (bridge.Session, error) {
	l.wait()
	return l.panicking, nil
}

// What is piped in is answered by servers that only start.
func TestPipedRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := New(late{wait: func() { time.Sleep(pipedGrace - time.Second) }}, Options{})
		defer server.Close()
		var out bytes.Buffer
		in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}` + "\n" +
			`{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n")
		if err := server.ServeStdio(t.Context(), in, &out); err != nil || !strings.Contains(out.String(), `"id":2,"result"`) {
			t.Errorf("%v: %s", err, &out)
		}
	})
}

// A client that closes its end of stdio is not kept waiting by its subscriptions/listen, which has no end, but by what
// is yet to be answered.
func TestListenEndsWithInput(t *testing.T) {
	const rest = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}` + "\n"
	listen := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + rest
	call := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t",` + rest
	for in, want := range map[string]time.Duration{listen: 0, listen + call: time.Second} {
		synctest.Test(t, func(t *testing.T) {
			server := New(made(func(context.Context, *bridge.Request) bridge.Reply {
				time.Sleep(time.Second) // in the bubble
				return bridge.Result([]byte(`{"content":[]}`), nil)
			}), Options{})
			defer server.Close()
			var out bytes.Buffer
			begun := time.Now()
			err := server.ServeStdio(t.Context(), strings.NewReader(in), &out)
			if took := time.Since(begun); err != nil || took != want {
				t.Errorf("%v after %v, want %v", err, took, want)
			}
			if got := out.String(); !strings.Contains(got, "subscriptions/acknowledged") || strings.Contains(got, `"content"`) != (want > 0) {
				t.Errorf("%s", got)
			}
		})
	}
}

// A panic of the source fails the request that it belongs to, and no other. Its cause is for the
// log alone.
func TestSourcePanics(t *testing.T) {
	const (
		initialize = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-03-26"}}`
		modern     = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}}}`
		call       = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`
	)
	for _, c := range []struct{ name, broken, msg string }{
		{"initialize", "Open", initialize},
		{"list", "List", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`},
		{"call", "tools/call", call},
		{"batch", "tools/call", `[` + call + `]`},
		{"notification", "notifications/roots/list_changed", `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`},
		{"view", "Open", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modern + `}}`},
		{"list of a view", "List", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modern + `}}`},
		{"call that may ask", "tools/call", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t",` + modern + `}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, log := newPanicking(t, c.broken)
			toServer, in := io.Pipe()
			out, fromServer := io.Pipe()
			ended := make(chan error, 1)
			go func() { ended <- p.ServeStdio(t.Context(), toServer, fromServer) }()
			lines := bufio.NewScanner(out)
			send := func(msg string) string {
				io.WriteString(in, msg+"\n")
				if !strings.Contains(msg, `"id"`) {
					return ""
				}
				lines.Scan()
				return strings.Trim(lines.Text(), "[]")
			}
			if c.broken != "Open" {
				send(initialize)
			}
			answer := send(c.msg)
			if code := string(wire.Lookup([]byte(answer), "error", "code")); answer != "" && (code != "-32603" || strings.Contains(answer, "broken")) {
				t.Errorf("the answer is %s", answer)
			}
			if answer := send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`); !strings.Contains(answer, `"result"`) {
				t.Errorf("the answer to another request is %s", answer)
			}
			in.Close()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			p.Close()
			if !strings.Contains(log.String(), c.broken+" is broken") {
				t.Errorf("the log has no cause: %s", log)
			}
		})
	}
}

// A panic while sessions and views end does not keep others from ending.
func TestSourcePanicsInClose(t *testing.T) {
	p, log := newPanicking(t, "Close")
	for i := range 3 {
		if status, body := p.post(t.Context(), "", fmt.Sprint("t", i), ""); status != 200 {
			t.Fatalf("%d %s", status, body)
		}
		h := p.newHTTPSession(identity{})
		m, _ := wire.Split([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`))
		if resp, _ := h.respond(t.Context(), &m, h.back); resp.reply.Err != nil || p.sessions.add(h) != nil {
			t.Fatalf("%+v", resp)
		}
	}
	p.Close()
	if n := strings.Count(log.String(), "Close is broken"); n != 4 {
		t.Errorf("%d calls of Close have panicked, want 3 of sessions and 1 of a view: %s", n, log)
	}
}

// The requests that wait for a source which panics as it opens fail, and it is opened again for
// later ones.
func TestOpenPanics(t *testing.T) {
	inSlowViews(t, func(t *testing.T, s *slowViews) {
		first, second := s.list(t.Context(), "ann"), s.list(t.Context(), "ann")
		s.source.let <- errPanic
		for _, reply := range []bridge.Reply{<-first, <-second} {
			if reply.Err == nil || reply.Err.Code != toolformat.Internal || reply.Err.Message != "internal error" {
				t.Errorf("got %+v", reply.Err)
			}
		}
		again := s.list(t.Context(), "ann")
		s.source.let <- nil
		reply := <-again
		if _, views := s.left(); reply.Err != nil || views != 1 {
			t.Errorf("%d views: %v", views, reply.Err)
		}
		time.Sleep(2 * viewIdle) // of the bubble's clock
		synctest.Wait()
	})
}

// errPanic makes a slowSource panic.
var errPanic = errors.New("panic")
