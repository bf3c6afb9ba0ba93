package keepalive_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/mcpserver/internal/keepalive"
)

// patience bounds what a test waits for; it is reached only when something is wrong.
const patience = time.Minute

var limits = keepalive.Options{BodyTimeout: patience, WriteTimeout: patience, RestTime: time.Millisecond}

// serve serves a handler, with the package or without it, and returns the address.
func serve(t testing.TB, handler http.Handler, plain bool) string {
	if !plain {
		web := httptest.NewServer(handler)
		t.Cleanup(web.Close)
		return web.Listener.Addr().String()
	}
	_, addr := start(t, handler, limits)
	return addr
}

// start starts a server with the limits of opts, and of its Server if there is one.
func start(t testing.TB, handler http.Handler, opts keepalive.Options) (*keepalive.Listener, string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	web := &http.Server{Handler: handler, ReadHeaderTimeout: patience, IdleTimeout: patience, ErrorLog: log.New(t.Output(), "", 0)}
	if opts.Server != nil {
		web.ReadHeaderTimeout, web.IdleTimeout = opts.Server.ReadHeaderTimeout, opts.Server.IdleTimeout
	}
	opts.Server, opts.Prepare = web, func(*http.Request) http.Handler { return handler }
	l := keepalive.Listen(ln, opts)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		web.Serve(l)
	}()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		l.Shutdown(ctx)
		web.Close()
		<-ended
	})
	return l, ln.Addr().String()
}

// client is a connection that sends what it is told.
type client struct {
	*testing.T
	*net.TCPConn
	in *bufio.Reader
}

func dial(t *testing.T, addr string) *client {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(patience))
	return &client{t, c.(*net.TCPConn), bufio.NewReader(c)}
}

func (c *client) post(body string) {
	fmt.Fprintf(c.TCPConn, "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// answer reads a response, and returns its body.
func (c *client) answer() (*http.Response, string) {
	c.Helper()
	resp, err := http.ReadResponse(c.in, nil)
	if err != nil {
		c.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.Fatal(err)
	}
	return resp, string(b)
}

// ends checks that the connection is closed.
func (c *client) ends() {
	c.Helper()
	if b, err := io.ReadAll(c.in); len(b) > 0 || err != nil && strings.Contains(err.Error(), "timeout") {
		c.Errorf("got %q and %v, want the end", b, err)
	}
}

// A header that is like the one before is not prepared again, whatever the length of its body, and
// one that differs is.
func TestPrepare(t *testing.T) {
	prepared := 0
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	opts := limits
	opts.Prepare = func(r *http.Request) http.Handler {
		prepared++
		name := r.Header.Get("Name")
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, name) })
	}
	web := &http.Server{ReadHeaderTimeout: patience, IdleTimeout: patience}
	web.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Method) })
	opts.Server = web
	go web.Serve(keepalive.Listen(ln, opts))
	t.Cleanup(func() { web.Close() })
	c := dial(t, ln.Addr().String())
	for _, p := range []struct {
		name, body string
		prepared   int
	}{{"a", "1", 1}, {"a", strings.Repeat("x", 2000), 1}, {"a", "", 1}, {"b", "1", 2}, {"a", "1", 3}, {"ab", "1", 4}} {
		fmt.Fprintf(c.TCPConn, "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\nName: %s\r\n\r\n%s", len(p.body), p.name, p.body)
		if _, got := c.answer(); got != p.name || prepared != p.prepared {
			t.Errorf("got %q after %d preparations, want %q after %d", got, prepared, p.name, p.prepared)
		}
	}
	fmt.Fprint(c.TCPConn, "DELETE /mcp HTTP/1.1\r\nHost: a\r\n\r\n")
	if _, got := c.answer(); got != "DELETE" {
		t.Errorf("net/http answers %q", got)
	}
	c.post("1")
	if _, got := c.answer(); got != "POST" || prepared != 4 {
		t.Errorf("%q after %d preparations: the connection has not stayed with net/http", got, prepared)
	}
}

// A connection may wait before its first request.
func TestNewConnection(t *testing.T) {
	_, addr := start(t, http.HandlerFunc(say), limits)
	c := dial(t, addr)
	time.AfterFunc(600*time.Millisecond, func() { c.post("1") }) // longer than a tick
	if resp, _ := c.answer(); resp.StatusCode != http.StatusOK {
		t.Errorf("got %v", resp)
	}
}

// A connection that has waited goes on like one that has not, whatever comes next and in whatever pieces.
func TestRest(t *testing.T) {
	_, addr := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		fmt.Fprint(w, r.Method, " ", string(b))
	}), limits)
	long := strings.Repeat("x", 10_000)
	for name, test := range map[string]struct{ text, want string }{
		"a request":        {"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n2", "POST 2"},
		"a long one":       {"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 10000\r\n\r\n" + long, "POST " + long},
		"after empty line": {"\r\nPOST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n3", "POST 3"},
		"another kind":     {"GET /mcp HTTP/1.1\r\nHost: a\r\n\r\n", "GET "},
	} {
		for _, piece := range []int{1, len(test.text)} {
			t.Run(fmt.Sprint(name, " by ", piece), func(t *testing.T) {
				t.Parallel()
				c := dial(t, addr)
				c.post("1")
				if _, got := c.answer(); got != "POST 1" {
					t.Fatalf("got %q", got)
				}
				time.AfterFunc(1100*time.Millisecond, func() { // longer than two ticks
					for rest := test.text; rest != ""; rest = rest[min(piece, len(rest)):] {
						fmt.Fprint(c.TCPConn, rest[:min(piece, len(rest))])
					}
				})
				if _, got := c.answer(); got != test.want {
					t.Errorf("got %.50q", got)
				}
				c.post("4")
				if _, got := c.answer(); got != "POST 4" {
					t.Errorf("got %q", got)
				}
			})
		}
	}
	t.Run("the end", func(t *testing.T) {
		t.Parallel()
		c := dial(t, addr)
		c.post("1")
		c.answer()
		time.AfterFunc(1100*time.Millisecond, func() { c.CloseWrite() })
		c.ends()
	})
}

// Each limit of time ends what takes longer.
func TestLimits(t *testing.T) {
	failed := make(chan error, 1)
	limited := func(t *testing.T, change func(*keepalive.Options)) *client { // by one limit
		opts := limits
		opts.Server = &http.Server{ReadHeaderTimeout: patience, IdleTimeout: patience}
		change(&opts)
		_, addr := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				http.Error(w, "slow", http.StatusBadRequest)
				return
			}
			var err error
			for part := make([]byte, 1<<20); err == nil && r.Header.Get("More") != ""; {
				_, err = w.Write(part)
			}
			failed <- err
		}), opts)
		return dial(t, addr)
	}
	head := func(o *keepalive.Options) { o.Server.ReadHeaderTimeout = time.Millisecond }
	t.Run("new", func(t *testing.T) { limited(t, head).ends() })
	t.Run("head", func(t *testing.T) {
		c := limited(t, head)
		fmt.Fprint(c.TCPConn, "POST /mcp")
		answer, err := io.ReadAll(c.in) // of net/http, if that was given what came
		if errors.Is(err, os.ErrDeadlineExceeded) || len(answer) > 0 && !strings.HasPrefix(string(answer), "HTTP/1.1 400 ") {
			t.Errorf("got %q and %v", answer, err)
		}
	})
	t.Run("idle", func(t *testing.T) {
		c := limited(t, func(o *keepalive.Options) { o.Server.IdleTimeout = time.Millisecond })
		c.post("1")
		if err := <-failed; err != nil {
			t.Error(err)
		}
		c.answer()
		c.ends()
	})
	t.Run("body", func(t *testing.T) {
		c := limited(t, func(o *keepalive.Options) { o.BodyTimeout = time.Millisecond })
		fmt.Fprint(c.TCPConn, "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabc")
		if resp, body := c.answer(); resp.StatusCode != http.StatusBadRequest || body != "slow\n" || !resp.Close {
			t.Errorf("got %v %q", resp, body)
		}
		c.ends()
	})
	t.Run("write", func(t *testing.T) {
		c := limited(t, func(o *keepalive.Options) { o.WriteTimeout = time.Millisecond })
		fmt.Fprint(c.TCPConn, "POST /mcp HTTP/1.1\r\nHost: a\r\nMore: 1\r\nContent-Length: 0\r\n\r\n")
		if err := <-failed; err == nil {
			t.Error("a client that does not read holds its handler")
		}
	})
}

// The context of a request ends when its client leaves, and a request that comes early is not taken
// for that.
func TestLeave(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan error, 1)
	release := make(chan struct{})
	_, addr := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		begun <- struct{}{}
		select {
		case <-r.Context().Done():
			ended <- r.Context().Err()
		case <-release:
			io.WriteString(w, "ok")
		}
	}), limits)
	c := dial(t, addr)
	c.post("1")
	<-begun
	c.post("2") // while the first is under way
	time.AfterFunc(1100*time.Millisecond, func() { release <- struct{}{} })
	if _, got := c.answer(); got != "ok" {
		t.Errorf("got %q", got)
	}
	<-begun
	release <- struct{}{}
	if _, got := c.answer(); got != "ok" {
		t.Errorf("got %q", got)
	}
	c.post("3")
	<-begun
	c.Close()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("the context does not end with the client")
	}
}

// A connection that has been watched goes on to serve requests.
func TestWatched(t *testing.T) {
	_, addr := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if b, _ := io.ReadAll(r.Body); string(b) == "slow" {
			timer := time.NewTimer(1100 * time.Millisecond) // longer than two ticks
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-r.Context().Done():
			}
		}
		io.WriteString(w, "ok")
	}), limits)
	c := dial(t, addr)
	for _, body := range []string{"slow", "fast", "slow", "fast"} {
		c.post(body)
		if _, got := c.answer(); got != "ok" {
			t.Errorf("got %q", got)
		}
	}
}

// Shutdown closes idle connections at once, lets requests end, and closes the rest when its
// context ends.
func TestShutdown(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	l, addr := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		begun <- struct{}{}
		if string(b) == "quick" {
			<-release
		} else {
			<-r.Context().Done()
		}
		io.WriteString(w, "ok")
	}), limits)
	unused, quick, stuck := dial(t, addr), dial(t, addr), dial(t, addr)
	quick.post("quick")
	<-begun
	stuck.post("stuck")
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	down := make(chan struct{})
	go func() {
		defer close(down)
		l.Shutdown(ctx)
	}()
	unused.ends()
	release <- struct{}{}
	if resp, got := quick.answer(); got != "ok" || !resp.Close {
		t.Errorf("got %q, close %v", got, resp.Close)
	}
	quick.ends()
	cancel()
	<-down
	stuck.ends()
}

// A body that the handler has not read does not keep the client from reading the answer.
func TestUnreadBody(t *testing.T) {
	_, addr := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "no", http.StatusRequestEntityTooLarge)
	}), limits)
	c := dial(t, addr)
	go c.post(strings.Repeat("x", 8<<20))
	if resp, got := c.answer(); got != "no\n" || !resp.Close {
		t.Errorf("got %q, close %v", got, resp.Close)
	}
	c.ends()
}

// A client that announces a long body and waits gets the answer of a handler that does not read it.
func TestUnsentBody(t *testing.T) {
	_, addr := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "no", http.StatusRequestEntityTooLarge)
	}), limits)
	c := dial(t, addr)
	fmt.Fprint(c.TCPConn, "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 999999999999\r\n\r\n{")
	if resp, got := c.answer(); got != "no\n" || !resp.Close {
		t.Errorf("got %q, close %v", got, resp.Close)
	}
	c.ends()
}

// Answers of all sizes arrive as they were written.
func TestWriteParts(t *testing.T) {
	part := bytes.Repeat([]byte("0123456789abcdef"), 1<<14)
	_, addr := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		var head, size int
		fmt.Sscan(string(b), &head, &size)
		w.Header().Set("Content-Length", fmt.Sprint(head+size+1))
		w.Write(part[:head])
		w.(interface{ WriteParts(...[]byte) (int, error) }).WriteParts(part[:size], []byte("}"))
	}), limits)
	c := dial(t, addr)
	for _, head := range []int{0, 10, 2 << 10, 3 << 10} {
		for _, size := range []int{0, 1, 2 << 10, 64 << 10, len(part)} {
			c.post(fmt.Sprint(head, size))
			if resp, got := c.answer(); got != string(part[:head])+string(part[:size])+"}" || resp.ContentLength < 0 {
				t.Errorf("%d and %d bytes: got %d of %d", head, size, len(got), resp.ContentLength)
			}
		}
	}
}

// What a client does not take soon is kept, and precedes what is written later.
func TestWriteSoon(t *testing.T) {
	type soonWriter interface {
		WriteSoon(time.Duration, ...[]byte) (time.Duration, error)
	}
	const size = 16 << 20 // more than the system takes at once
	part := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	for name, c := range map[string]struct{ rest, want string }{"rest": {"z", "az"}, "end": {"", "a"}} {
		t.Run(name, func(t *testing.T) {
			waited := make(chan bool)
			_, addr := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				soon := w.(soonWriter)
				if left, err := soon.WriteSoon(patience, []byte("a")); left <= 0 || err != nil {
					t.Errorf("what the system takes: left %v, %v", left, err)
				}
				own := bytes.Clone(part)
				if left, err := soon.WriteSoon(10*time.Millisecond, own[:1000], own[1000:]); left != 0 || err != nil {
					t.Errorf("what it does not take: left %v, %v", left, err)
				}
				clear(own)
				close(waited)
				io.WriteString(w, c.rest)
			}), limits)
			client := dial(t, addr)
			client.post("")
			<-waited
			if _, got := client.answer(); got != c.want[:1]+string(part)+c.want[1:] {
				t.Errorf("%d bytes, %.40q", len(got), got)
			}
		})
	}
}

// A deadline that is near ends what is being written. An answer that is complete by then ends as others do.
func TestWriteDeadline(t *testing.T) {
	written := make(chan error, 1)
	_, addr := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size, _ := strconv.Atoi(r.Header.Get("Size"))
		control, set := http.NewResponseController(w), make(chan struct{})
		io.WriteString(w, "begun")
		control.Flush()
		go func() {
			defer close(set)
			control.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
		}()
		_, err := w.Write(make([]byte, size))
		<-set
		wait(r.Context(), 20*time.Millisecond) // until it has passed
		written <- err
	}), limits)
	c := dial(t, addr)
	for _, size := range []int{0, 0, 16 << 20} { // the last is more than the system takes at once
		fmt.Fprintf(c.TCPConn, "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nSize: %d\r\n\r\n", size)
		select {
		case err := <-written:
			if (err != nil) != (size > 0) {
				t.Errorf("%d bytes: %v", size, err)
			}
		case <-time.After(patience / 2):
			t.Fatalf("%d bytes are still being written", size)
		}
		if size == 0 {
			if _, got := c.answer(); got != "begun" {
				t.Errorf("got %q", got)
			}
		}
	}
}

// An answer that is not as long as it says ends its connection.
func TestWrongLength(t *testing.T) {
	_, addr := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Length", "4000")
		w.Write(make([]byte, 3000))
	}), limits)
	c := dial(t, addr)
	c.post("1")
	resp, err := http.ReadResponse(c.in, nil)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(resp.Body); len(b) != 3000 || err != io.ErrUnexpectedEOF {
		t.Errorf("got %d bytes and %v", len(b), err)
	}
}

// Header values cannot begin another header.
func TestHeaderInjection(t *testing.T) {
	_, addr := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("A", "b\r\nC: d")
	}), limits)
	c := dial(t, addr)
	c.post("")
	if resp, _ := c.answer(); resp.Header.Get("C") != "" || resp.Header.Get("A") == "" {
		t.Errorf("got %v", resp.Header)
	}
}
