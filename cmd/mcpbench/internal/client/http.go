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
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/raw"
)

const (
	bufferSize = 8 << 10 // small, as thousands of idle sessions have a buffer each; long bodies pass it by
	maxMessage = 1 << 30
)

// httpSession is a session over streamable HTTP, on a connection of its own that is kept alive.
type httpSession struct {
	host, head string // head is the part of the request that is always the same
	modern     bool
	until      time.Time
	id         string // from the server
	conn       net.Conn
	r          *bufio.Reader
	request    []byte
	response
}

// response is what is read of a response.
type response struct {
	failed  string // the status, unless it tells of success
	length  int    // of the body, -1 when not told
	chunked bool
	events  bool
	close   bool // the connection, after the body
	first   time.Time
	body    []byte
}

func newHTTP(t Target) (*httpSession, error) {
	u, err := url.Parse(t.URL)
	if err != nil {
		return nil, err
	}
	revision := Legacy
	if t.Modern {
		revision = Modern
	}
	head := fmt.Sprintf(" %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n", u.RequestURI(), u.Host)
	if t.Carrier == HTTP {
		head += "Mcp-Protocol-Version: " + revision + "\r\n"
	}
	if token := u.User.Username(); token != "" {
		head += "Authorization: Bearer " + token + "\r\n"
	}
	return &httpSession{host: u.Host, head: head, modern: t.Modern, until: t.Until, r: bufio.NewReaderSize(nil, bufferSize)}, nil
}

// send sends a request and reads the response to its end.
func (s *httpSession) send(method string, r *Request) error {
	b := append(append(s.request[:0], method...), s.head...)
	header := func(key, value string) {
		if value != "" {
			b = append(append(append(append(b, key...), ": "...), value...), "\r\n"...)
		}
	}
	header("Mcp-Session-Id", s.id)
	if s.modern {
		header("Mcp-Method", r.Method)
		header("Mcp-Name", r.Name)
	}
	b = strconv.AppendInt(append(b, "Content-Length: "...), int64(len(r.message)), 10)
	b = append(append(b, "\r\n\r\n"...), r.message...)
	s.request = b
	for {
		fresh := s.conn == nil
		if fresh {
			d := net.Dialer{Deadline: s.until}
			conn, err := d.Dial("tcp", s.host)
			if err != nil {
				return err
			}
			conn.SetDeadline(s.until)
			s.conn = conn
			s.r.Reset(conn)
		}
		_, err := s.conn.Write(b)
		if err == nil {
			_, err = s.r.Peek(1)
		}
		if err == nil {
			if err = s.readHead(); err == nil {
				err = s.readBody()
			}
			if err != nil || s.close {
				s.drop()
			}
			if err == nil && s.failed != "" {
				err = fmt.Errorf("%s: %.300s", s.failed, s.body)
			}
			return err
		}
		s.drop()
		if timeout := net.Error(nil); fresh || errors.As(err, &timeout) && timeout.Timeout() {
			return err
		} // else the server has closed an idle connection: once more on a fresh one
	}
}

func (s *httpSession) drop() {
	if s.conn != nil {
		s.conn.Close()
		s.conn = nil
	}
}

func (s *httpSession) exchange(r *Request) (m raw.Message, first time.Time, err error) {
	if err := s.send("POST", r); err != nil {
		return m, first, err
	}
	if s.events {
		m = find(s.body, r.ID)
	} else {
		m = raw.Parse(s.body)
	}
	if !answers(m, r.ID) {
		err = fmt.Errorf("not the answer to id %d: %.200q", r.ID, s.body)
	}
	return m, s.first, err
}

func (s *httpSession) notify(message []byte) error {
	return s.send("POST", &Request{Method: "notifications/initialized", message: message})
}

// Close ends the session at the server, too.
func (s *httpSession) Close() {
	if s.id != "" {
		s.send("DELETE", &Request{})
	}
	s.drop()
}

// readHead reads the head of a response.
func (s *httpSession) readHead() error {
	line, err := s.r.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(line, []byte("HTTP/1.")) || len(line) < len("HTTP/1.1 200\n") {
		return fmt.Errorf("not HTTP/1: %q", line)
	}
	s.response = response{length: -1, body: s.body[:0]}
	switch status := string(line[9:12]); {
	case status == "204":
		s.length = 0
	case status[0] != '2':
		s.failed = strings.TrimSpace(string(line))
	}
	for {
		if line, err = s.r.ReadSlice('\n'); err != nil {
			return err
		}
		key, value, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case len(key) == 0:
			return nil
		case is(key, "content-length"):
			if s.length, err = strconv.Atoi(string(value)); err != nil || s.length < 0 || s.length > maxMessage {
				return fmt.Errorf("not a length: %q", line)
			}
		case is(key, "transfer-encoding"):
			s.chunked = is(value, "chunked")
		case is(key, "content-type"):
			s.events = bytes.HasPrefix(value, []byte("text/event-stream"))
		case is(key, "connection"):
			s.close = is(value, "close")
		case is(key, "mcp-session-id"):
			s.id = string(value)
		}
	}
}

func is(b []byte, s string) bool { return len(b) == len(s) && bytes.EqualFold(b, []byte(s)) }

// readBody reads the body that follows a head.
func (s *httpSession) readBody() (err error) {
	if s.length != 0 {
		s.r.Peek(1)
	}
	s.first = time.Now()
	if s.length >= 0 && !s.chunked {
		s.body = slices.Grow(s.body, s.length)[:s.length]
		_, err = io.ReadFull(s.r, s.body)
		return err
	}
	body, b := io.Reader(s.r), bytes.NewBuffer(s.body)
	if s.chunked {
		body = httputil.NewChunkedReader(s.r)
	} else {
		s.close = true
	}
	_, err = b.ReadFrom(body)
	for trailer := []byte("…"); s.chunked && err == nil && len(trailer) > len("\r\n"); {
		trailer, err = s.r.ReadSlice('\n')
	}
	s.body = b.Bytes()
	return err
}
