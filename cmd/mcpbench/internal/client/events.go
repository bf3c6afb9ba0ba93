package client

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
)

// events reads server-sent events.
type events struct {
	r    *bufio.Reader
	line []byte // for one that is longer than the buffer
	data []byte
}

func newEvents(r io.Reader) *events { return &events{r: bufio.NewReaderSize(r, 64<<10)} }

// next returns the next event that has data, which is valid until the call after it.
func (e *events) next() (typ string, data []byte, err error) {
	e.data = e.data[:0]
	for lines := 0; ; {
		line, err := readLine(e.r, &e.line)
		if err != nil {
			return "", nil, err
		}
		line = bytes.TrimRight(line, "\r\n")
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(line) == 0 && lines > 0:
			return typ, e.data, nil
		case string(field) == "data":
			if lines++; lines > 1 {
				e.data = append(e.data, '\n')
			}
			e.data = append(e.data, value...)
		case string(field) == "event":
			typ = string(value)
		}
	}
}

// readLine returns the next line with its end. One that is longer than the buffer is gathered in long.
func readLine(r *bufio.Reader, long *[]byte) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	for *long = (*long)[:0]; errors.Is(err, bufio.ErrBufferFull); line, err = r.ReadSlice('\n') {
		*long = append(*long, line...)
	}
	*long = append(*long, line...)
	return *long, err
}

// sse is the carrier of 2024-11-05: requests are posted, answers come on a stream.
type sse struct {
	conn   net.Conn
	events *events
	post   *httpSession
}

func openSSE(u *url.URL, t Target) (Session, error) {
	d := net.Dialer{Deadline: t.Until}
	conn, err := d.Dial("tcp", u.Host)
	if err != nil {
		return nil, err
	}
	conn.SetDeadline(t.Until)
	s := &sse{conn: conn}
	if err := s.open(u, t); err != nil {
		conn.Close()
		return nil, fmt.Errorf("GET %s: %w", u, err)
	}
	return single{s}, nil
}

// open asks for the stream and waits for its first event, which says where to post.
func (s *sse) open(u *url.URL, t Target) error {
	var header strings.Builder
	t.Header.Write(&header)
	if _, err := fmt.Fprintf(s.conn, "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n%s\r\n", u.RequestURI(), u.Host, &header); err != nil {
		return err
	}
	head, err := readHead(bufio.NewReaderSize(s.conn, bufferSize))
	if err != nil {
		return err
	}
	if head.status != 200 || !head.events {
		return fmt.Errorf("HTTP %d instead of a stream of events", head.status)
	}
	s.events = newEvents(head.body)
	typ, data, err := s.events.next()
	if err != nil {
		return err
	}
	if typ != "endpoint" {
		return fmt.Errorf("the first event is %q instead of endpoint", typ)
	}
	endpoint, err := u.Parse(string(data))
	if err != nil {
		return err
	}
	endpoint.Host = u.Host
	s.post = newHTTP(endpoint, t)
	return nil
}

func (s *sse) write(message []byte) error { return s.post.Notify(message) }

func (s *sse) read() ([]byte, error) {
	_, data, err := s.events.next()
	return data, err
}

func (s *sse) Close() {
	s.post.drop()
	s.conn.Close()
}
