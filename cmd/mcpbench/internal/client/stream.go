package client

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge/process"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/raw"
)

// stdio is a session with a process of its own, which many callers may share.
type stdio struct {
	p     *process.Process
	alarm *time.Timer
	ended chan struct{} // closed when read has returned

	writing sync.Mutex
	line    []byte // being written

	mu   sync.Mutex
	wait map[int64]*Request // by id
}

func openStdio(t Target) (carrier, int, error) {
	p, err := process.Start(process.Command{Path: t.Command[0], Args: t.Command[1:], Env: append(os.Environ(), t.Env...)})
	if err != nil {
		return nil, 0, err
	}
	s := &stdio{p: p, wait: map[int64]*Request{}, ended: make(chan struct{})}
	s.alarm = time.AfterFunc(time.Until(t.Until), p.Stop)
	go s.read()
	return s, p.PID(), nil
}

// read hands each answer to its caller until the process ends.
func (s *stdio) read() {
	defer close(s.ended)
	lines := bufio.NewScanner(s.p.Stdout)
	lines.Buffer(make([]byte, 128<<10), maxMessage)
	for lines.Scan() {
		m := raw.Parse(bytes.Clone(lines.Bytes())) // it may be a banner
		if again := reply(m); again != nil {
			s.notify(again)
		}
		id, _ := strconv.ParseInt(string(m.ID), 10, 64)
		s.mu.Lock()
		r := s.wait[id]
		if r != nil && answers(m, id) {
			delete(s.wait, id)
			r.answer <- m
		}
		s.mu.Unlock()
	}
}

func (s *stdio) exchange(r *Request) (m raw.Message, first time.Time, err error) {
	if r.answer == nil {
		r.answer = make(chan raw.Message, 1)
	}
	s.mu.Lock()
	s.wait[r.ID] = r
	s.mu.Unlock()
	if s.notify(r.message) == nil {
		select {
		case m = <-r.answer:
			return m, first, nil
		case <-s.ended:
		}
	}
	s.Close()
	return m, first, fmt.Errorf("the process has ended: %s", s.p.Tail())
}

func (s *stdio) notify(message []byte) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.line = append(append(s.line[:0], message...), '\n')
	_, err := s.p.Stdin.Write(s.line)
	return err
}

func (s *stdio) Close() {
	s.alarm.Stop()
	s.p.Stop()
	<-s.ended
}

// A stream carries messages both ways, for one goroutine.
type stream interface {
	write(message []byte) error
	read() ([]byte, error) // valid until the next read
	Close()
}

// streamed is a carrier over a stream.
type streamed struct{ stream }

func (s streamed) notify(message []byte) error { return s.write(message) }

func (s streamed) exchange(r *Request) (m raw.Message, first time.Time, err error) {
	for send := r.message; err == nil; send = reply(m) {
		if send != nil {
			err = s.write(send)
		}
		if err == nil {
			var message []byte
			message, err = s.read()
			m = raw.Parse(message)
		}
		if err == nil && answers(m, r.ID) {
			break
		}
	}
	return m, first, err
}

// buffers are shared by the connections that do not write at the moment.
var buffers = sync.Pool{}

// ws is MCP over WebSocket, a message a text frame.
type ws struct {
	conn    *websocket.Conn
	message bytes.Buffer
}

func openWS(t Target) (carrier, error) {
	ctx, cancel := context.WithDeadline(context.Background(), t.Until)
	defer cancel()
	d := websocket.Dialer{Subprotocols: []string{"mcp"}, ReadBufferSize: bufferSize, WriteBufferSize: 64 << 10, WriteBufferPool: &buffers}
	conn, answer, err := d.DialContext(ctx, t.URL, nil)
	if err != nil {
		if answer != nil {
			err = fmt.Errorf("%w: %s", err, answer.Status)
		}
		return nil, err
	}
	conn.NetConn().SetDeadline(t.Until)
	return streamed{&ws{conn: conn}}, nil
}

func (s *ws) write(message []byte) error {
	return s.conn.WriteMessage(websocket.TextMessage, message)
}

func (s *ws) read() ([]byte, error) {
	_, r, err := s.conn.NextReader()
	if err == nil {
		s.message.Reset()
		_, err = s.message.ReadFrom(r)
	}
	return s.message.Bytes(), err
}

func (s *ws) Close() { s.conn.Close() }

// sse is the carrier of 2024-11-05: requests are posted, answers come on a stream.
type sse struct {
	cancel context.CancelFunc // ends the stream
	lines  *bufio.Scanner
	event  event
	post   *httpSession
}

func openSSE(t Target) (carrier, error) {
	ctx, cancel := context.WithDeadline(context.Background(), t.Until)
	s := &sse{cancel: cancel}
	if err := s.open(ctx, t); err != nil {
		cancel()
		return nil, fmt.Errorf("GET %s: %w", t.URL, err)
	}
	return streamed{s}, nil
}

// open asks for the stream and waits for its first event, which says where to post.
func (s *sse) open(ctx context.Context, t Target) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, t.URL, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "text/event-stream")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	s.lines = bufio.NewScanner(answer.Body)
	s.lines.Buffer(nil, maxMessage)
	path, err := s.read()
	if s.event.name != "endpoint" {
		return fmt.Errorf("HTTP %s: the first event is %q instead of endpoint", answer.Status, s.event.name)
	}
	endpoint, bad := r.URL.Parse(string(path))
	if err = cmp.Or(err, bad); err != nil {
		return err
	}
	endpoint.Host, t.URL = r.URL.Host, endpoint.String()
	s.post, err = newHTTP(t)
	return err
}

func (s *sse) write(message []byte) error { return s.post.notify(message) }

func (s *sse) read() ([]byte, error) {
	for s.event = (event{data: s.event.data[:0]}); s.lines.Scan(); {
		if s.event.add(s.lines.Bytes()) {
			return s.event.data, nil
		}
	}
	return nil, cmp.Or(s.lines.Err(), io.ErrUnexpectedEOF)
}

func (s *sse) Close() {
	s.post.Close()
	s.cancel()
}

// An event is one of a stream of server-sent events.
type event struct {
	name string
	data []byte
}

// find returns the response with an id among the events of a body.
func find(events []byte, id int64) (m raw.Message) {
	var e event
	for line := range bytes.Lines(events) {
		if !e.add(line) {
			continue
		}
		if m = raw.Parse(e.data); answers(m, id) {
			break
		}
		e = event{}
	}
	return m
}

// add adds a line and reports whether the event has ended, which one without data does not.
func (e *event) add(line []byte) (ended bool) {
	if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
		return len(e.data) > 0
	}
	key, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(key) {
	case "event":
		e.name = string(value)
	case "data":
		e.data = append(e.data, value...)
	}
	return false
}
