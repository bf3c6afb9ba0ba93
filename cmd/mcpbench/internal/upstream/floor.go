package upstream

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/mcpbridge/mcpbridge/bridge/process"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/raw"
)

// A floor is the least that a Go gateway with net/http can do: streamable HTTP in front of one server,
// with nothing changed but the id (stdio) or nothing at all (HTTP). It merges, checks and bounds
// nothing, so that a real gateway costs more, and may still be faster where it has a better idea.
type floor func(http.ResponseWriter, *http.Request) error

func (f floor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := f(w, r); err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
	}
}

// FloorHTTP returns a floor in front of a server over streamable HTTP.
func FloorHTTP(url string) http.Handler {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024, DisableCompression: true}}
	return floor(func(w http.ResponseWriter, r *http.Request) error {
		body, err := read(r.Body, r.ContentLength)
		if err != nil {
			return err
		}
		up, err := http.NewRequestWithContext(r.Context(), r.Method, url, bytes.NewReader(body))
		if err != nil {
			return err
		}
		pass(up.Header, r.Header, "Content-Type", "Accept", "Mcp-Session-Id", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name")
		answer, err := client.Do(up)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		pass(w.Header(), answer.Header, "Content-Type", "Content-Length", "Mcp-Session-Id")
		if body, err = read(answer.Body, answer.ContentLength); err != nil {
			return err
		}
		w.WriteHeader(answer.StatusCode)
		w.Write(body)
		return nil
	})
}

// Spread serves each connection by another handler, in turn: the least that a gateway in front of several
// servers can do.
func Spread(handlers []http.Handler) *http.Server {
	if len(handlers) == 1 {
		return &http.Server{Handler: handlers[0]}
	}
	type key struct{}
	next := 0
	return &http.Server{
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			next++
			return context.WithValue(ctx, key{}, handlers[next%len(handlers)])
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Context().Value(key{}).(http.Handler).ServeHTTP(w, r)
		}),
	}
}

// pass copies headers.
func pass(to, from http.Header, keys ...string) {
	for _, key := range keys {
		if v := from[key]; v != nil {
			to[key] = v
		}
	}
}

// read reads a body whose length is known unless it is negative.
func read(r io.Reader, length int64) ([]byte, error) {
	if length < 0 {
		return io.ReadAll(r)
	}
	b := make([]byte, length)
	_, err := io.ReadFull(r, b)
	return b, err
}

// FloorStdio starts a server and returns a floor in front of it. A server that ends is reported by
// ended, once, and no call after that returns.
func FloorStdio(command []string, ended func(error)) (http.Handler, error) {
	p, err := process.Start(process.Command{Path: command[0], Args: command[1:], Env: os.Environ()})
	if err != nil {
		return nil, err
	}
	f := &stdioFloor{in: make(chan []byte, 64)}
	go f.write(bufio.NewWriterSize(p.Stdin, bufferSize))
	go func() { ended(fmt.Errorf("%s has ended: %w", command[0], f.read(p.Stdout))) }()
	return floor(f.serve), nil
}

type stdioFloor struct {
	in       chan []byte
	id       atomic.Int64
	sessions atomic.Int64
	wait     sync.Map // id: waiter
}

type waiter struct {
	id     []byte // the client's
	answer chan []byte
}

// write writes what has gathered with one system call.
func (f *stdioFloor) write(w *bufio.Writer) {
	for message := range f.in {
		w.Write(message)
		if len(f.in) == 0 {
			w.Flush()
		}
	}
}

func (f *stdioFloor) read(out io.Reader) error {
	r := bufio.NewReaderSize(out, bufferSize)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return err
		}
		id := raw.Get(line, "id")
		n, _ := strconv.ParseInt(string(id), 10, 64)
		if v, ok := f.wait.LoadAndDelete(n); ok {
			w := v.(waiter)
			w.answer <- withID(line[:len(line)-1], id, w.id)
		}
	}
}

// withID returns a copy of a message, and room for a byte, in which another id stands in place of
// old, which is a part of it.
func withID(message, old, id []byte) []byte {
	at := cap(message) - cap(old)
	b := make([]byte, 0, len(message)+len(id)+1)
	b = append(append(b, message[:at]...), id...)
	return append(b, message[at+len(old):]...)
}

func (f *stdioFloor) serve(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return nil
	}
	body, err := read(r.Body, r.ContentLength)
	if err != nil {
		return err
	}
	id := raw.Get(body, "id")
	if id == nil {
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	n, c := f.id.Add(1), make(chan []byte, 1)
	f.wait.Store(n, waiter{id, c})
	f.in <- append(withID(body, id, strconv.AppendInt(nil, n, 10)), '\n')
	answer := <-c
	h := w.Header()
	h["Content-Type"], h["Content-Length"] = []string{"application/json"}, []string{strconv.Itoa(len(answer))}
	if string(raw.Get(body, "method")) == `"initialize"` {
		h.Set("Mcp-Session-Id", "floor-"+strconv.FormatInt(f.sessions.Add(1), 10))
	}
	w.Write(answer)
	return nil
}
