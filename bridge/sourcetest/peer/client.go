package peer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A Client is a client's connection to an MCP server. Its methods may be called at once.
type Client struct {
	In    <-chan Received                             // what the server sends; closed when the connection has ended
	Send  func(msg []byte, headers http.Header) error // the headers are for streamable HTTP
	Leave func(id string)                             // closes the response of streamable HTTP to a request
	Close func() error                                // ends the connection and waits until In is closed
	End   func() error                                // is Close, but ends the session of streamable HTTP first
}

// Received is a message of a server, or the reason why no more come.
type Received struct {
	Stream string // the raw id of the request in whose HTTP response it came; "" on a connection
	Status int    // of HTTP
	Raw    []byte
	Err    error
}

// inbox bounds what has been received and not read.
const inbox = 16 << 10

// newClient receives what next returns until it fails, which end makes it do.
func newClient(next func() ([]byte, error), send func(msg []byte) error, end func() error) *Client {
	in := make(chan Received, inbox)
	go func() {
		defer close(in)
		for {
			raw, err := next()
			if err != nil {
				in <- Received{Err: err}
				return
			}
			in <- Received{Raw: bytes.Clone(raw)}
		}
	}()
	closed := sync.OnceValue(func() error {
		err := end()
		for range in { // until it is closed
		}
		return err
	})
	return &Client{
		In: in, Leave: func(string) {}, Close: closed, End: closed,
		Send: func(msg []byte, _ http.Header) error { return send(msg) },
	}
}

// Lines is a client of a server that writes lines to r and reads them from w. end makes the
// server end, and waits until it has.
func Lines(r io.Reader, w io.Writer, end func() error) *Client {
	lines := wire.NewLineReader(r, 64<<20)
	return newClient(func() ([]byte, error) {
		b, err := lines.Read()
		if err != nil {
			return nil, err
		}
		return b.B, nil
	}, func(msg []byte) error {
		_, err := w.Write(append(bytes.Clone(msg), '\n'))
		return err
	}, end)
}

// DialWS connects to the WebSocket at a URL of HTTP, until ctx ends.
func DialWS(ctx context.Context, url string, headers http.Header) (*Client, error) {
	d := websocket.Dialer{Subprotocols: []string{wire.Subprotocol}}
	conn, _, err := d.DialContext(ctx, "ws"+strings.TrimPrefix(url, "http"), headers)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { conn.Close() })
	conn.SetPingHandler(func(text string) error { // by default a second without progress ends all writes
		conn.WriteControl(websocket.PongMessage, []byte(text), time.Now().Add(patience))
		return nil
	})
	return newClient(func() ([]byte, error) {
		_, b, err := conn.ReadMessage()
		return b, err
	}, func(msg []byte) error { return conn.WriteMessage(websocket.TextMessage, msg) }, conn.Close), nil
}

// DialSSE connects to the HTTP+SSE transport of a server at a URL, until ctx ends.
func DialSSE(ctx context.Context, url string, headers http.Header) (*Client, error) {
	web := &http.Client{Transport: &http.Transport{}}
	resp, err := Do(ctx, web, http.MethodGet, url, nil, headers)
	if err != nil {
		return nil, err
	}
	next := EventData(resp.Body)
	path, err := next()
	if err != nil {
		resp.Body.Close()
		return nil, err
	}
	to, err := resp.Request.URL.Parse(string(path))
	if err != nil {
		resp.Body.Close()
		return nil, err
	}
	return newClient(next, func(msg []byte) error {
		return accepted(Do(ctx, web, http.MethodPost, to.String(), msg, headers))
	}, func() error {
		defer web.CloseIdleConnections()
		return resp.Body.Close()
	}), nil
}

// EventData returns a function that reads the next event that has data.
func EventData(body io.Reader) func() ([]byte, error) {
	events := wire.NewEventReader(body, 64<<20)
	return func() ([]byte, error) {
		for {
			e, err := events.Next()
			if err != nil {
				return nil, err
			}
			if e.Data != nil && len(e.Data.B) > 0 {
				return e.Data.B, nil
			}
		}
	}
}

// Do makes an HTTP request of an MCP client.
func Do(ctx context.Context, web *http.Client, method, url string, msg []byte, headers http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(msg))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	maps.Copy(req.Header, headers)
	return web.Do(req)
}

// A StatusError is a response to a message that asks for none, when it is not a success.
type StatusError struct {
	Status int
	Body   string
}

func (e *StatusError) Error() string { return fmt.Sprintf("HTTP %d: %s", e.Status, e.Body) }

// accepted reads the response to a message that asks for none.
func accepted(resp *http.Response, err error) error {
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		err = &StatusError{resp.StatusCode, string(body)}
	}
	return err
}

// streamable is a client of streamable HTTP.
type streamable struct {
	http.Client
	url     string
	headers http.Header // sent with each request
	ctx     context.Context
	work    sync.WaitGroup
	in      chan Received

	mu      sync.Mutex // guards what follows
	session string
	leave   map[string]func()
}

// HTTP is a client of streamable HTTP until ctx ends. In the legacy era it opens the stream of
// its session. Without a session it sends only requests.
func HTTP(ctx context.Context, url string, headers http.Header) *Client {
	ctx, end := context.WithCancel(ctx)
	s := &streamable{
		Client: http.Client{Transport: &http.Transport{}}, url: url, headers: headers,
		ctx: ctx, in: make(chan Received, inbox), leave: map[string]func(){},
	}
	closed := sync.OnceValue(func() error {
		end()
		s.work.Wait()
		close(s.in)
		s.CloseIdleConnections()
		return nil
	})
	return &Client{
		In: s.in, Send: s.send, Close: closed,
		Leave: func(id string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.leave[id]()
		},
		End: func() error { return errors.Join(s.notify(http.MethodDelete, nil, nil), closed()) },
	}
}

// send sends a message; the response to a request is received later.
func (s *streamable) send(msg []byte, headers http.Header) error {
	id := string(wire.Lookup(msg, "id"))
	isRequest := id != "" && wire.Lookup(msg, "method") != nil
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case isRequest:
		ctx, cancel := context.WithCancel(s.ctx)
		s.leave[id] = cancel
		headers = s.with(headers)
		s.work.Go(func() { s.request(ctx, id, msg, headers) })
	case s.session != "":
		return s.notify(http.MethodPost, msg, headers)
	}
	return nil
}

// with returns headers with those of every request.
func (s *streamable) with(headers http.Header) http.Header {
	all := http.Header{}
	maps.Copy(all, headers)
	maps.Copy(all, s.headers)
	if s.session != "" {
		all.Set(mcp.HeaderSessionID, s.session)
	}
	return all
}

// notify makes a request that is not answered with messages.
func (s *streamable) notify(method string, msg []byte, headers http.Header) error {
	return accepted(Do(s.ctx, &s.Client, method, s.url, msg, s.with(headers)))
}

func (s *streamable) request(ctx context.Context, id string, msg []byte, headers http.Header) {
	resp, err := Do(ctx, &s.Client, http.MethodPost, s.url, msg, headers)
	if err != nil {
		if ctx.Err() == nil {
			s.in <- Received{Stream: id, Err: err}
		}
		return
	}
	if session := resp.Header.Get(mcp.HeaderSessionID); session != "" {
		s.mu.Lock()
		s.session = session
		headers := s.with(nil)
		s.mu.Unlock()
		stream, err := Do(s.ctx, &s.Client, http.MethodGet, s.url, nil, headers)
		if err == nil {
			s.work.Go(func() { s.read(stream, "") })
		}
	}
	s.read(resp, id)
}

// read receives the messages of a response.
func (s *streamable) read(resp *http.Response, id string) {
	defer resp.Body.Close()
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		if b, err := io.ReadAll(resp.Body); err == nil && len(b) > 0 {
			s.in <- Received{Stream: id, Status: resp.StatusCode, Raw: b}
		}
		return
	}
	for next := EventData(resp.Body); ; {
		raw, err := next()
		if err != nil {
			return
		}
		s.in <- Received{Stream: id, Status: resp.StatusCode, Raw: bytes.Clone(raw)}
	}
}
