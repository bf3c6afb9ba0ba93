package e2etest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/mcpserver"
)

// hello is the first message of a raw client.
const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`

// exchange sends a message and returns the response.
type exchange func(msg []byte) []byte

// fronts connect raw clients, which cost as little as possible, over each carrier.
var fronts = []struct {
	name string
	dial func(testing.TB, bridge.Source) exchange
}{
	{"stdio", dialPipes}, {"http", dialHTTP}, {"sse", dialSSE}, {"ws", dialWS},
}

func dialPipes(t testing.TB, source bridge.Source) exchange {
	s := mcpserver.New(source, mcpserver.Options{})
	toServer, in := io.Pipe()
	out, fromServer := io.Pipe()
	done := make(chan struct{})
	go func() {
		s.ServeStdio(context.Background(), toServer, fromServer)
		close(done)
	}()
	t.Cleanup(func() {
		in.Close()
		<-done
		s.Close()
	})
	r := bufio.NewReaderSize(out, 256<<10)
	return func(msg []byte) []byte {
		in.Write(append(msg[:len(msg):len(msg)], 10))
		line, err := r.ReadSlice('\n')
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
}

func dialHTTP(t testing.TB, source bridge.Source) exchange {
	url, session := serve(t, source)+"/mcp", ""
	buf := make([]byte, 1<<20)
	return func(msg []byte) []byte {
		resp := post(t, url, session, msg)
		defer resp.Body.Close()
		if session == "" {
			session = resp.Header.Get("Mcp-Session-Id")
		}
		n, err := io.ReadFull(resp.Body, buf)
		if err != io.ErrUnexpectedEOF || resp.StatusCode != 200 {
			t.Fatal(resp.StatusCode, err)
		}
		return buf[:n]
	}
}

func post(t testing.TB, url, session string, msg []byte) *http.Response {
	req, err := http.NewRequest("POST", url, strings.NewReader(string(msg)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header["Content-Type"] = []string{"application/json"}
	req.Header["Accept"] = []string{"application/json, text/event-stream"}
	if session != "" {
		req.Header["Mcp-Session-Id"] = []string{session}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func dialSSE(t testing.TB, source bridge.Source) exchange {
	url := serve(t, source)
	resp, err := http.Get(url + "/sse")
	if err != nil {
		t.Fatal(err)
	}
	events := wire.NewEventReader(resp.Body, 1<<20)
	next := func() []byte {
		e, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		return e.Data.B
	}
	url += string(next())
	return func(msg []byte) []byte {
		r := post(t, url, "", msg)
		io.Copy(io.Discard, r.Body)
		r.Body.Close()
		return next()
	}
}

func dialWS(t testing.TB, source bridge.Source) exchange {
	d := websocket.Dialer{Subprotocols: []string{"mcp"}}
	conn, _, err := d.Dial("ws"+strings.TrimPrefix(serve(t, source), "http")+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return func(msg []byte) []byte {
		conn.WriteMessage(websocket.TextMessage, msg)
		_, b, err := conn.ReadMessage()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
}

// BenchmarkCall measures one tools/call: at the source itself, over one carrier (direct), and
// through a bridge with a carrier on either side (up/down) or only to the server (up/in-process).
func BenchmarkCall(b *testing.B) {
	for _, size := range []int{32, 64 << 10} {
		name := fmt.Sprintf("%dB", size)
		b.Run(name+"/in-process", func(b *testing.B) { benchSession(b, sourcetest.NewFake(), size) })
		for _, up := range carriers[:2] {
			b.Run(name+"/"+up.name+"/in-process", func(b *testing.B) { benchSession(b, bridged(b, up.config(b)), size) })
		}
		for _, down := range fronts {
			b.Run(name+"/direct/"+down.name, func(b *testing.B) {
				benchExchange(b, down.dial(b, sourcetest.NewFake()), size)
			})
			for _, up := range carriers[:2] {
				b.Run(name+"/"+up.name+"/"+down.name, func(b *testing.B) {
					benchExchange(b, down.dial(b, bridged(b, up.config(b))), size)
				})
			}
		}
	}
}

// bridged returns a bridge of one server on a link that its callers share.
func bridged(b *testing.B, cfg mcpclient.Config) bridge.Source {
	cfg.Sharing = mcpclient.Shared
	return bridge.New(bridge.Options{}, bridge.Member{Name: "one", Source: dial(b, cfg)})
}

func message(size int) []byte {
	return []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"` + strings.Repeat("x", size) + `"}}}`)
}

func benchExchange(b *testing.B, do exchange, size int) {
	do([]byte(hello))
	msg := message(size)
	do(msg)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		if got := do(msg); len(got) < size {
			b.Fatalf("%s", got)
		}
	}
}

func benchSession(b *testing.B, source bridge.Source, size int) {
	s, err := source.Open(b.Context(), &bridge.Caller{ID: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	m, err := wire.Split(message(size))
	if err != nil {
		b.Fatal(err)
	}
	if _, err := s.List(b.Context(), bridge.Tools); err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context()) // as fronts do
	defer cancel()
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		r := s.Do(ctx, &bridge.Request{Method: m.Method, Params: &m.Params, Target: "echo"})
		if r.Err != nil {
			b.Fatal(r.Err)
		}
		r.Free()
	}
}
