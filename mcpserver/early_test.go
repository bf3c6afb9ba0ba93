package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// early is a server over a real connection. Its source has Take take parts of a result before it
// returns a reply.
type early struct {
	*parked
	url     string
	log     lines
	arrive  func(ctx context.Context, take bridge.Taker) bridge.Reply
	session string
}

// lines is an io.Writer that passes on what is written.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

func newEarly(t *testing.T, plain bool) *early {
	e := &early{log: make(lines, 10)}
	e.parked = newMade(t, Options{Log: slog.New(slog.NewTextHandler(e.log, nil))}, func(ctx context.Context, req *bridge.Request) bridge.Reply {
		if req.Method != wire.MethodToolsCall {
			return okay(ctx, req)
		}
		return e.arrive(ctx, req.Take)
	})
	web := httptest.NewUnstartedServer(e.Handler())
	if plain {
		web.Config.ReadHeaderTimeout, web.Config.IdleTimeout = headTime, idleTime
		ln := e.Listen(web.Listener, web.Config)
		web.Listener = ln
		t.Cleanup(func() { ln.Shutdown(context.Background()) })
	}
	web.Start()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		web.CloseClientConnections()
		web.Close()
	})
	e.url = web.URL + "/mcp"
	resp := e.post(strings.Replace(fmt.Sprintf(hello, "{}"), "2025-11-25", "2025-03-26", 1), "application/json")
	resp.Body.Close()
	e.session = resp.Header.Get(mcp.HeaderSessionID)
	return e
}

func (e *early) post(msg, accept string) *http.Response {
	e.Helper()
	r, _ := http.NewRequestWithContext(e.Context(), "POST", e.url, strings.NewReader(msg))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", accept)
	if e.session != "" {
		r.Header.Set(mcp.HeaderSessionID, e.session)
	}
	if strings.Contains(msg, wire.ModernRevision) {
		r.Header.Set(mcp.HeaderProtocolVersion, wire.ModernRevision)
		r.Header.Set(mcp.HeaderMethod, wire.MethodToolsCall)
		r.Header.Set(mcp.HeaderName, "x")
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		e.Fatal(err)
	}
	return resp
}

const (
	legacyPost = `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x"}}`
	modernPost = `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
)

// What has come of a result is sent before the rest comes, in one answer with it; not over net/http, which
// would wait for a slow client.
func TestEarlyAnswer(t *testing.T) {
	result := `{"text":"` + strings.Repeat("x", 3<<20) + `"}`
	want := `{"jsonrpc":"2.0","id":"a","result":` + result + `}`
	for name, call := range map[string]string{"legacy": legacyPost, "modern": modernPost} {
		for _, plain := range []bool{true, false} {
			t.Run(fmt.Sprint(name, plain), func(t *testing.T) {
				e := newEarly(t, plain)
				seen := make(chan bool)
				e.arrive = func(ctx context.Context, take bridge.Taker) bridge.Reply {
					first := take.Take([]byte(result[:100_000]))
					if plain {
						<-seen
					}
					if second := take.Take([]byte(result[100_000:2_000_000])); first != plain || second != plain {
						t.Errorf("taken: %v and %v, want %v", first, second, plain)
					}
					return bridge.Reply{Result: []byte(result), Modern: name == "modern"}
				}
				for range 2 { // on one connection
					resp := e.post(call, "application/json, text/event-stream")
					got := make([]byte, 100_000)
					io.ReadFull(resp.Body, got)
					if plain {
						seen <- true
					}
					rest, err := io.ReadAll(resp.Body)
					if got = append(got, rest...); err != nil || string(got) != want || resp.Header.Get("Content-Type") != "application/json" {
						t.Errorf("%d bytes of %s, %v", len(got), resp.Header.Get("Content-Type"), err)
					}
					resp.Body.Close()
				}
			})
		}
	}
}

// An answer that cannot be completed is shown as broken off, never as whole.
func TestEarlyAnswerBreaksOff(t *testing.T) {
	another := bridge.Result([]byte(`{"a":1}`), nil)
	for name, c := range map[string]struct {
		reply  bridge.Reply
		reason string
	}{
		"failed":       {bridge.Failed(unavailable("the source has gone")), "the source has gone"},
		"other result": {another, "the result is not the one that has begun"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEarly(t, true)
			e.arrive = func(_ context.Context, take bridge.Taker) bridge.Reply {
				take.Take([]byte(`{"a":"` + strings.Repeat("x", 100_000)))
				return c.reply
			}
			resp := e.post(legacyPost, "application/json, text/event-stream")
			defer resp.Body.Close()
			if got, err := io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) || len(got) < 100_000 {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			for line := range e.log {
				if strings.Contains(line, "an answer broke off") && strings.Contains(line, c.reason) {
					break
				}
			}
		})
	}
}

// What must be a stream, or a part of a batch, or finds no room, is not begun early.
func TestNotEarly(t *testing.T) {
	result := `{"text":"` + strings.Repeat("x", 100_000) + `"}`
	for name, c := range map[string]struct{ call, accept, want string }{
		"stream": {legacyPost, "text/event-stream", `data: {"jsonrpc":"2.0","id":"a","result":{"text":`},
		"batch":  {"[" + legacyPost + "]", "application/json", `[{"jsonrpc":"2.0","id":"a","result":{"text":`},
		"room":   {legacyPost, "application/json", `{"jsonrpc":"2.0","id":"a","result":{"text":`},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEarly(t, true)
			e.arrive = func(_ context.Context, take bridge.Taker) bridge.Reply {
				part := []byte(result[:50_000])
				if name == "room" {
					part = make([]byte, 50_000, 2*minHeld)
				}
				if take.Take(part) {
					t.Error("it is taken")
				}
				return bridge.Result([]byte(result), nil)
			}
			resp := e.post(c.call, c.accept)
			defer resp.Body.Close()
			if got, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(got), c.want) {
				t.Errorf("%.300q, %v", got, err)
			}
		})
	}
}

// Nor is one to a client of HTTP/1.0, such as a proxy, to which one that breaks off looks whole.
func TestNotEarlyToHTTP10(t *testing.T) {
	e := newEarly(t, true)
	e.arrive = func(_ context.Context, take bridge.Taker) bridge.Reply {
		if take.Take(make([]byte, 100_000)) {
			t.Error("it is taken")
		}
		return bridge.Result([]byte(`{}`), nil)
	}
	address := strings.TrimPrefix(strings.TrimSuffix(e.url, "/mcp"), "http://")
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "POST /mcp HTTP/1.0\r\nHost: %s\r\nContent-Type: application/json\r\n%s: %s\r\nContent-Length: %d\r\n\r\n%s",
		address, mcp.HeaderSessionID, e.session, len(legacyPost), legacyPost)
	if got, err := io.ReadAll(c); err != nil || !strings.HasSuffix(string(got), "\r\n\r\n"+`{"jsonrpc":"2.0","id":"a","result":{}}`) {
		t.Errorf("%.300q, %v", got, err)
	}
}
