package client

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// bufferSize is small, as thousands of idle sessions have a buffer each; long bodies pass it by.
const bufferSize = 8 << 10

// httpSession is a session over streamable HTTP, on a connection of its own that is kept alive.
type httpSession struct {
	host, head string // head is the part of the request that is always the same
	sid        string // Mcp-Session-Id, from the server
	modern     bool
	until      time.Time
	conn       net.Conn
	r          *bufio.Reader
	request    []byte
	answer     []byte
	events     *events // reads the answers that are streams
}

func newHTTP(u *url.URL, t Target) *httpSession {
	var head strings.Builder
	fmt.Fprintf(&head, " %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n", u.RequestURI(), u.Host)
	if t.Carrier == HTTP {
		fmt.Fprintf(&head, "Mcp-Protocol-Version: %s\r\n", t.Revision)
	}
	t.Header.Write(&head)
	return &httpSession{host: u.Host, head: head.String(), modern: t.Revision == Modern, until: t.Until}
}

// send sends a request and returns the head of its answer. The body must be read to its end.
func (s *httpSession) send(method string, r Request) (*response, error) {
	b := append(append(s.request[:0], method...), s.head...)
	if s.sid != "" {
		b = append(append(append(b, "Mcp-Session-Id: "...), s.sid...), "\r\n"...)
	}
	if s.modern {
		b = append(append(append(b, "Mcp-Method: "...), r.Method...), "\r\n"...)
		if r.Name != "" {
			b = append(append(append(b, "Mcp-Name: "...), r.Name...), "\r\n"...)
		}
	}
	b = strconv.AppendInt(append(b, "Content-Length: "...), int64(len(r.Message)), 10)
	b = append(append(b, "\r\n\r\n"...), r.Message...)
	s.request = b
	for {
		fresh := s.conn == nil
		if fresh {
			if err := s.dial(); err != nil {
				return nil, err
			}
		}
		_, err := s.conn.Write(b)
		if err == nil {
			_, err = s.r.Peek(1)
		}
		if err == nil {
			return readHead(s.r)
		}
		s.drop()
		if fresh || errors.Is(err, net.ErrClosed) || isTimeout(err) {
			return nil, err
		} // else the server has closed an idle connection: once more on a fresh one
	}
}

func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

func (s *httpSession) dial() error {
	d := net.Dialer{Deadline: s.until}
	conn, err := d.Dial("tcp", s.host)
	if err != nil {
		return err
	}
	conn.SetDeadline(s.until)
	s.conn = conn
	if s.r == nil {
		s.r = bufio.NewReaderSize(conn, bufferSize)
	} else {
		s.r.Reset(conn)
	}
	return nil
}

func (s *httpSession) drop() {
	if s.conn != nil {
		s.conn.Close()
		s.conn = nil
	}
}

func (s *httpSession) Do(r Request) (Answer, error) {
	head, err := s.send("POST", r)
	if err != nil {
		return Answer{}, err
	}
	if head.sid != "" {
		s.sid = head.sid
	}
	if head.status != 200 {
		text, _ := io.ReadAll(io.LimitReader(head.body, 300))
		s.drop()
		return Answer{}, fmt.Errorf("HTTP %d: %s", head.status, text)
	}
	if head.length != 0 {
		s.r.Peek(1)
	}
	first := time.Now()
	if head.events {
		err = s.readEvents(head, r.ID)
	} else if s.answer, err = head.read(s.answer[:0]); err == nil && !answers(s.answer, r.ID) {
		err = fmt.Errorf("not the answer to id %d: %.200q", r.ID, s.answer)
	}
	if err != nil || head.close {
		s.drop()
	}
	return Answer{s.answer, first}, err
}

// readEvents reads the answer from a stream of events, and the stream to its end.
func (s *httpSession) readEvents(head *response, id int64) error {
	if s.events == nil {
		s.events = newEvents(nil)
	}
	s.events.r.Reset(head.body)
	for {
		_, data, err := s.events.next()
		if err != nil {
			return fmt.Errorf("the stream ended before the answer: %w", err)
		}
		if answers(data, id) {
			s.answer = append(s.answer[:0], data...)
			_, err := io.Copy(io.Discard, s.events.r)
			return err
		}
	}
}

func (s *httpSession) Notify(message []byte) error {
	head, err := s.send("POST", Request{Method: "notifications/initialized", Message: message})
	if err != nil {
		return err
	}
	text, err := io.ReadAll(head.body)
	if err != nil || head.close {
		s.drop()
	}
	if head.status/100 != 2 {
		return fmt.Errorf("HTTP %d: %.300s", head.status, text)
	}
	return nil
}

func (s *httpSession) PID() int { return 0 }

// Close ends the session at the server, too.
func (s *httpSession) Close() {
	if s.sid != "" {
		if head, err := s.send("DELETE", Request{}); err == nil {
			io.Copy(io.Discard, head.body)
		}
	}
	s.drop()
}

// response is the head of an HTTP response.
type response struct {
	status int
	length int64 // of the body, -1 when not told
	events bool
	close  bool // after the body
	sid    string
	body   io.Reader
}

func readHead(r *bufio.Reader) (*response, error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	h := &response{length: -1}
	if len(line) < len("HTTP/1.1 200\n") || !bytes.HasPrefix(line, []byte("HTTP/1.")) {
		return nil, fmt.Errorf("not HTTP/1: %q", line)
	}
	if h.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return nil, fmt.Errorf("not a status: %q", line)
	}
	chunked := false
	for {
		if line, err = r.ReadSlice('\n'); err != nil {
			return nil, err
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			break
		}
		key, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case is(key, "content-length"):
			if h.length, err = strconv.ParseInt(string(value), 10, 64); err != nil || h.length < 0 {
				return nil, fmt.Errorf("not a length: %q", line)
			}
		case is(key, "transfer-encoding"):
			chunked = is(value, "chunked")
		case is(key, "content-type"):
			h.events = bytes.HasPrefix(value, []byte("text/event-stream"))
		case is(key, "connection"):
			h.close = is(value, "close")
		case is(key, "mcp-session-id"):
			h.sid = string(value)
		}
	}
	switch {
	case chunked:
		h.length, h.body = -1, &chunks{httputil.NewChunkedReader(r), r}
	case h.length >= 0:
		h.body = io.LimitReader(r, h.length)
	case h.status == 204 || h.status == 304:
		h.body = strings.NewReader("")
	default:
		h.close, h.body = true, r
	}
	return h, nil
}

func is(b []byte, s string) bool { return len(b) == len(s) && strings.EqualFold(string(b), s) }

// read appends the body.
func (h *response) read(b []byte) ([]byte, error) {
	if h.length < 0 {
		buffer := bytes.NewBuffer(b)
		_, err := buffer.ReadFrom(h.body)
		return buffer.Bytes(), err
	}
	if int64(cap(b)) < h.length {
		b = make([]byte, h.length)
	}
	b = b[:h.length]
	_, err := io.ReadFull(h.body, b)
	return b, err
}

// chunks reads a chunked body with the empty line after its last chunk.
type chunks struct {
	io.Reader
	after *bufio.Reader
}

func (c *chunks) Read(p []byte) (int, error) {
	if c.after == nil {
		return 0, io.EOF
	}
	n, err := c.Reader.Read(p)
	if err != io.EOF {
		return n, err
	}
	for { // trailers
		line, err := c.after.ReadSlice('\n')
		if err != nil {
			return n, io.ErrUnexpectedEOF
		}
		if len(line) <= len("\r\n") {
			c.after = nil
			return n, io.EOF
		}
	}
}
