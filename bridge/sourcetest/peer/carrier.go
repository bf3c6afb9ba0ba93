package peer

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// Serve serves over HTTP until the test ends: streamable HTTP at /mcp below the URL that it
// returns, HTTP+SSE at /sse, WebSocket at /ws. A nil network is the system's.
func (s *Server) Serve(t testing.TB, network *Network) (url string) {
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", s.http)
	mux.HandleFunc("/sse", s.sse())
	mux.HandleFunc("/ws", s.ws)
	web := httptest.NewUnstartedServer(mux)
	if network != nil {
		web.Listener.Close()
		web.Listener = network
	}
	web.Config.ConnState = func(c net.Conn, state http.ConnState) {
		s.Update(func() {
			switch state {
			case http.StateNew:
				s.sockets[c] = struct{}{}
			case http.StateClosed, http.StateHijacked:
				delete(s.sockets, c)
			}
		})
	}
	web.Start()
	t.Cleanup(func() {
		s.Kill()
		web.CloseClientConnections()
		web.Close()
		s.work.Wait()
	})
	return web.URL
}

// relaySocket is the variable that makes a program the child of Child.
const relaySocket = "MCPBRIDGE_PEER_SOCKET"

// Child returns the command of a child process on whose standard streams the server answers
// until the test ends. The TestMain of its package calls Main first.
func (s *Server) Child(t testing.TB) (command []string, env map[string]string) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s.work.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.work.Go(func() { s.ServeLines(conn) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		s.Kill()
		s.work.Wait()
	})
	return os.Args[:1], map[string]string{relaySocket: path, "GORACE": "atexit_sleep_ms=0"}
}

// Main is the child of Child, and returns in any other process. The child fails when the
// server has ended the connection.
func Main() {
	path := os.Getenv(relaySocket)
	if path == "" {
		return
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go func() {
		io.Copy(conn, os.Stdin)
		os.Exit(0)
	}()
	io.Copy(os.Stdout, conn)
	os.Exit(1)
}

// ServeLines serves a connection of lines until it ends.
func (s *Server) ServeLines(rw io.ReadWriteCloser) {
	lines := wire.NewLineReader(rw, 64<<20)
	s.duplex(func() ([]byte, error) {
		b, err := lines.Read()
		if err != nil {
			return nil, err
		}
		return b.B, nil
	}, func(m string) { io.WriteString(rw, m+"\n") }, func() { rw.Close() })
}

// duplex serves a connection that carries messages both ways, until read fails. write takes
// one message, or several as lines.
func (s *Server) duplex(read func() ([]byte, error), write func(string), end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	defer end()
	var mu sync.Mutex
	say := func(m string) {
		mu.Lock()
		defer mu.Unlock()
		write(m)
	}
	conn := s.open(say, end)
	defer s.close(conn)
	for {
		msg, err := read()
		if err != nil {
			return
		}
		c := s.newCall(msg, say, end)
		if c.Kind() != wire.Request { // in order
			s.take(ctx, conn.name, c)
			continue
		}
		work.Go(func() { s.take(ctx, conn.name, c) })
	}
}

func (s *Server) ws(w http.ResponseWriter, r *http.Request) {
	up := websocket.Upgrader{Subprotocols: []string{wire.Subprotocol}}
	conn, err := up.Upgrade(w, r, nil)
	if err != nil {
		return // it has been answered
	}
	s.work.Add(1) // the HTTP server does not wait for it
	defer s.work.Done()
	s.duplex(func() ([]byte, error) {
		_, b, err := conn.ReadMessage()
		return b, err
	}, func(m string) {
		for line := range strings.SplitSeq(m, "\n") {
			conn.WriteMessage(websocket.TextMessage, []byte(line))
		}
	}, func() { conn.Close() })
}

// sse is the legacy HTTP+SSE transport.
func (s *Server) sse() http.HandlerFunc {
	var posted sync.Map // the chan []byte of each client, by the query of its endpoint
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			in, ok := posted.Load(r.URL.RawQuery)
			if !ok {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			w.WriteHeader(http.StatusAccepted)
			in.(chan []byte) <- body
			return
		}
		ctx, end := context.WithCancel(r.Context())
		in := make(chan []byte, 10_000)
		id := fmt.Sprintf("client=%p", in)
		posted.Store(id, in)
		defer posted.Delete(id)
		say, stop := events(w)
		defer stop()
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "event: endpoint\n")
		say("/sse?" + id)
		s.duplex(func() ([]byte, error) {
			select {
			case msg := <-in:
				return msg, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}, say, end)
	}
}
