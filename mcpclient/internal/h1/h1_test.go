package h1_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/outbound"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient/internal/h1"
)

// server takes connections, which a test serves by hand.
type server struct {
	t     *testing.T
	l     net.Listener
	pool  *h1.Pool
	route *h1.Route
}

func newServer(t *testing.T) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, l: l, pool: newPool(time.Minute)}
	s.route = routeTo(t, s.pool, "http://"+l.Addr().String()+"/mcp")
	t.Cleanup(func() {
		l.Close()
		s.pool.Close()
	})
	return s
}

func newPool(idle time.Duration) *h1.Pool {
	return &h1.Pool{Dial: new(net.Dialer).DialContext, IdleTime: idle}
}

func routeTo(t *testing.T, p *h1.Pool, to string) *h1.Route {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	return p.Route(u, http.Header{"Content-Type": {"application/json"}})
}

// peer is the server's end of a connection.
type peer struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

func (s *server) accept() *peer {
	s.t.Helper()
	c, err := s.l.Accept()
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	return &peer{s.t, c, bufio.NewReader(c)}
}

// request reads a request with its body.
func (p *peer) request() string {
	p.t.Helper()
	req, err := http.ReadRequest(p.in)
	if err != nil {
		p.t.Fatal(err)
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(body)
}

// ended waits until the client has closed the connection.
func (p *peer) ended() {
	p.t.Helper()
	p.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := io.Copy(io.Discard, p.in); errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
		p.t.Error("the connection is still open")
	}
}

func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

// answer is what became of a request.
type answer struct {
	status int
	body   string
	err    error
}

// post sends a request and reads its response in the background.
func post(ctx context.Context, r *h1.Route, body string) <-chan answer {
	done := make(chan answer, 1)
	go func() {
		resp, err := r.Send(ctx, http.MethodPost, nil, &wire.Buffer{B: []byte(body)})
		if err != nil {
			done <- answer{err: err}
			return
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		done <- answer{resp.StatusCode, string(text), err}
	}()
	return done
}

func ok(body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// want fails unless a request has been answered with 200 and body.
func want(t *testing.T, done <-chan answer, body string) {
	t.Helper()
	if a := <-done; a.err != nil || a.status != 200 || a.body != body {
		t.Errorf("got %d %.80q %v, want %.80q", a.status, a.body, a.err, body)
	}
}

// TestReuse: a connection serves the next request if the response before it has been read to its end,
// and nothing else has come.
func TestReuse(t *testing.T) {
	for name, c := range map[string]struct {
		response, body string
		kept           bool
	}{
		"length":          {ok("one"), "one", true},
		"empty":           {ok(""), "", true},
		"no content":      {"HTTP/1.1 204 No Content\r\n\r\n", "", true},
		"chunked":         {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n0\r\n\r\n", "one", true},
		"trailer":         {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n3\r\none\r\n0\r\nX: y\r\n\r\n", "one", true},
		"early hints":     {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok("one"), "one", true},
		"kept 1.0":        {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\none", "one", true},
		"1.0":             {"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\none", "one", false},
		"close":           {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\none", "one", false},
		"bytes after":     {ok("one") + "H", "one", false},
		"response after":  {ok("one") + ok("two"), "one", false},
		"switched":        {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", "", false},
		"status below":    {"HTTP/1.1 099 What\r\nContent-Length: 3\r\n\r\none", "one", false},
		"chunks go on":    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n0\r\n\r\n", "", false},
		"bytes after 204": {"HTTP/1.1 204 No Content\r\n\r\nbody", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			done := post(t.Context(), s.route, "a")
			p := s.accept()
			p.request()
			io.WriteString(p, c.response)
			if a := <-done; a.err != nil || a.body != c.body {
				t.Fatalf("got %d %q %v", a.status, a.body, a.err)
			}
			done = post(t.Context(), s.route, "b")
			if !c.kept {
				p.ended()
				p = s.accept()
			}
			if got := p.request(); got != "b" {
				t.Errorf("the request is %q", got)
			}
			io.WriteString(p, ok("next"))
			want(t, done, "next")
		})
	}
}

// TestUntilClose: a body without a length ends with its connection.
func TestUntilClose(t *testing.T) {
	s := newServer(t)
	done := post(t.Context(), s.route, "a")
	p := s.accept()
	p.request()
	io.WriteString(p, "HTTP/1.1 200 OK\r\n\r\nwhole")
	p.Close()
	want(t, done, "whole")
}

// TestIdleClosed: a connection that the server closes, or speaks on, while it is idle is not used.
func TestIdleClosed(t *testing.T) {
	for name, end := range map[string]func(*peer){
		"closed":      func(p *peer) { p.Close() },
		"unsolicited": func(p *peer) { io.WriteString(p, ok("not yours")) },
		"timeout":     func(p *peer) { io.WriteString(p, "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n") },
		"reset": func(p *peer) {
			p.Conn.(*net.TCPConn).SetLinger(0)
			p.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			done := post(t.Context(), s.route, "a")
			p := s.accept()
			p.request()
			io.WriteString(p, ok("one"))
			want(t, done, "one")
			end(p) // on loopback the client's end knows it when this returns
			done = post(t.Context(), s.route, "b")
			p = s.accept()
			if got := p.request(); got != "b" {
				t.Errorf("the request is %q", got)
			}
			io.WriteString(p, ok("two"))
			want(t, done, "two")
		})
	}
}

// TestNotRepeated: a request that may have been received is not sent again.
func TestNotRepeated(t *testing.T) {
	s := newServer(t)
	done := post(t.Context(), s.route, "a")
	p := s.accept()
	p.request()
	io.WriteString(p, ok("one"))
	want(t, done, "one")
	done = post(t.Context(), s.route, "b")
	p.request()
	p.Close()
	if a := <-done; a.err == nil || outbound.NotSent(a.err) {
		t.Errorf("got %d %q %v", a.status, a.body, a.err)
	}
	if a := <-post(t.Context(), routeTo(t, s.pool, "http://127.0.0.1:1/"), "c"); !outbound.NotSent(a.err) {
		t.Errorf("no server: %v", a.err)
	}
}

// TestIdleTime: an idle connection is closed after its time.
func TestIdleTime(t *testing.T) {
	s := newServer(t)
	s.pool.IdleTime = 20 * time.Millisecond
	for range 2 {
		var all []<-chan answer
		var peers []*peer
		for range 3 {
			all = append(all, post(t.Context(), s.route, "a"))
			peers = append(peers, s.accept())
		}
		for _, p := range peers {
			p.request()
			io.WriteString(p, ok("one"))
		}
		for i, p := range peers {
			want(t, all[i], "one")
			p.ended()
		}
	}
}

// TestSleep: a connection that was idle while the machine has slept is not used: the other end, or what is between, may
// have forgotten it.
func TestSleep(t *testing.T) {
	s := newServer(t)
	for range 2 {
		done := post(t.Context(), s.route, "a")
		p := s.accept()
		p.request()
		io.WriteString(p, ok("one"))
		want(t, done, "one")
		s.pool.Sleep(time.Hour)
	}
}

// TestClose: Close ends the idle connections, and the others when they become idle.
func TestClose(t *testing.T) {
	s := newServer(t)
	first := post(t.Context(), s.route, "a")
	p := s.accept()
	second := post(t.Context(), s.route, "a")
	q := s.accept()
	p.request()
	q.request()
	io.WriteString(p, ok("one"))
	want(t, first, "one")
	s.pool.Close()
	p.ended()
	io.WriteString(q, ok("one"))
	want(t, second, "one")
	q.ended()
}

// TestCancel: the end of the context ends a request wherever it is, and closes the connection.
func TestCancel(t *testing.T) {
	gone := errors.New("the caller has gone")
	for name, begin := range map[string]string{"waiting": "", "head": "HTTP/1.1 200 OK\r\nCont", "body": "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\no",
		"chunks": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\no"} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			done := post(ctx, s.route, "a")
			p := s.accept()
			p.request()
			io.WriteString(p, begin)
			cancel(gone)
			if a := <-done; a.err != gone {
				t.Errorf("got %d %q %v", a.status, a.body, a.err)
			}
			p.ended()
		})
	}
	s := newServer(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	done := post(ctx, s.route, strings.Repeat("x", 16<<20)) // more than the system takes at once
	p := s.accept()
	p.in.Peek(1)
	cancel(gone)
	if a := <-done; a.err != gone {
		t.Errorf("writing: got %d %q %v", a.status, a.body, a.err)
	}
	dialed, stop := context.WithCancel(t.Context())
	s.pool.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		stop()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if a := <-post(dialed, s.route, "a"); a.err == nil {
		t.Error("dialing: no error")
	}
}

// TestEarlyAnswer: a server may answer a request that it has not read.
func TestEarlyAnswer(t *testing.T) {
	for name, after := range map[string]func(*peer){"open": func(*peer) {}, "closed": func(p *peer) { p.Close() }} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			done := post(t.Context(), s.route, strings.Repeat("x", 16<<20))
			p := s.accept()
			if _, err := http.ReadRequest(p.in); err != nil {
				t.Fatal(err)
			}
			io.WriteString(p, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig")
			if name == "closed" {
				if err := p.Conn.(*net.TCPConn).CloseWrite(); err != nil { // a reset could take the answer with it
					t.Fatal(err)
				}
			}
			if a := <-done; a.err != nil || a.status != 413 || a.body != "big" {
				t.Errorf("got %d %q %v", a.status, a.body, a.err)
			}
			p.ended()
			after(p)
			done = post(t.Context(), s.route, "b")
			p = s.accept()
			p.request()
			io.WriteString(p, ok("two"))
			want(t, done, "two")
		})
	}
}

// TestLarge: large bodies pass whole, both ways, and leave the connection in order.
func TestLarge(t *testing.T) {
	var conns atomic.Int32
	h := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		w.Write(body)
	}))
	h.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	h.Start()
	defer h.Close()
	pool := newPool(time.Minute)
	defer pool.Close()
	route := routeTo(t, pool, h.URL)
	for _, size := range []int{0, 1, 16 << 10, 16<<10 + 1, 64 << 10, 1 << 20, 16 << 20} {
		body := strings.Repeat("0123456789", size/10+1)[:size]
		want(t, post(t.Context(), route, body), body)
		lent := []byte(body)
		resp, err := route.Send(t.Context(), http.MethodPost, nil, &wire.Buffer{}, lent[:size/3], lent[size/3:size-size/4], lent[size-size/4:])
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		clear(lent) // which the race detector watches
		if err != nil || string(got) != body {
			t.Errorf("in parts: got %.80q %v, want %.80q", got, err, body)
		}
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// TestLent: what was lent for a request is not read any more once its response is closed or has failed.
func TestLent(t *testing.T) {
	for name, response := range map[string]string{"early": ok("no"), "part": "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nn", "none": "", "broken": "?\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			go func() {
				p := s.accept()
				p.in.ReadString('\n')
				io.WriteString(p, response)
				if response == "" {
					p.Close()
				}
			}()
			lent := bytes.Repeat([]byte("x"), 32<<20)
			resp, err := s.route.Send(t.Context(), http.MethodPost, nil, &wire.Buffer{}, lent[:1], lent[1:])
			if err == nil {
				resp.Body.Close()
			}
			clear(lent)
		})
	}
}

// TestHeadLimit: the headers of a response are bounded, those of 1xx answers with them.
func TestHeadLimit(t *testing.T) {
	for name, line := range map[string]string{"lines": "X: y\r\n", "a line": "yyyyyyyy", "answers": "\r\nHTTP/1.1 103 Early Hints\r\n"} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			done := post(t.Context(), s.route, "a")
			p := s.accept()
			p.request()
			io.WriteString(p, "HTTP/1.1 103 Early Hints\r\n")
			for many := strings.Repeat(line, 10000); ; {
				if _, err := io.WriteString(p, many); err != nil {
					break
				}
			}
			if a := <-done; a.err == nil {
				t.Errorf("got %d %q", a.status, a.body)
			}
		})
	}
}

// TestRequest: a request is what net/http writes.
func TestRequest(t *testing.T) {
	s := newServer(t)
	host := s.l.Addr().String()
	header := http.Header{"Accept": {"a", "b"}, "User-Agent": {"x"}, "Content-Length": {"7"}, "X-Tab": {"a\tb"}, "X-Content-Length": {"0"}, "Host": {"elsewhere"}}
	for _, to := range []string{"http://" + host, "http://" + host + "/a%2Fb?q=%20#f", "http://user:pass@" + host + "/x"} {
		u, err := url.Parse(to)
		if err != nil {
			t.Fatal(err)
		}
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			var body io.Reader
			var msg *wire.Buffer
			if method == http.MethodPost {
				body, msg = strings.NewReader("{}"), &wire.Buffer{B: []byte("{}")}
			}
			read := func(send func() error) string {
				got := make(chan string, 1)
				go func() {
					p := s.accept()
					var raw bytes.Buffer
					p.in = bufio.NewReader(io.TeeReader(p.Conn, &raw))
					p.request()
					io.WriteString(p, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
					got <- raw.String()
				}()
				if err := send(); err != nil {
					t.Fatal(err)
				}
				return sorted(<-got)
			}
			theirs := read(func() error {
				req, err := http.NewRequest(method, "", body)
				req.URL, req.Host, req.Header = u, u.Host, header
				if err == nil {
					_, err = (&http.Transport{DisableCompression: true}).RoundTrip(req)
				}
				return err
			})
			ours := read(func() error {
				_, err := s.pool.Route(u, nil).Send(t.Context(), method, header, msg)
				return err
			})
			if ours != theirs {
				t.Errorf("%s %s:\n%s\nnet/http sends:\n%s", method, to, ours, theirs)
			}
		}
	}
	for _, v := range []string{"a\r\nb", "a\x00", "\x7f"} {
		if _, err := s.route.Send(t.Context(), http.MethodGet, http.Header{"X": {v}}, nil); err == nil {
			t.Errorf("%q is sent", v)
		}
	}
}

// sorted returns a request with its headers in order.
func sorted(request string) string {
	head, body, _ := strings.Cut(request, "\r\n\r\n")
	lines := strings.Split(head, "\r\n")
	slices.Sort(lines[1:])
	return strings.Join(lines, "\n") + "\n\n" + body
}

// TestMany: many requests at once, some of them canceled, each get their own answer.
func TestMany(t *testing.T) {
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case bytes.HasSuffix(body, []byte("1")):
			w.(http.Flusher).Flush() // chunked
		case bytes.HasSuffix(body, []byte("2")):
			w.Header().Set("Connection", "close")
		}
		w.Write(body)
	}))
	defer h.Close()
	pool := newPool(5 * time.Millisecond)
	defer pool.Close()
	route := routeTo(t, pool, h.URL)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for j := range 100 {
				ctx, cancel := context.WithCancel(t.Context())
				body := fmt.Sprintf("%d %d", i, j)
				if j%7 == 3 {
					body = strings.Repeat(body, 10000)
				}
				done := post(ctx, route, body)
				if j%10 == 9 {
					cancel()
				}
				if a := <-done; (j%10 != 9 || a.err == nil) && (a.err != nil || a.body != body) {
					t.Errorf("got %.80q %v, want %.80q", a.body, a.err, body)
				}
				cancel()
			}
		})
	}
	wg.Wait()
}
