// Package client is an MCP client that costs little: no SDK, no goroutine between a call and its
// answer except over stdio, and an HTTP client written by hand, as that of net/http takes as much CPU
// as a server, which a gateway on the same machine would lack.
//
// Files: client.go (sessions and their messages), http.go (streamable HTTP), stream.go (stdio, whose
// session many callers share, WebSocket, and the legacy SSE carrier).
package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/raw"
)

// The carriers of MCP.
const (
	HTTP  = "http" // streamable HTTP
	SSE   = "sse"  // HTTP with server-sent events, of 2024-11-05
	WS    = "ws"
	Stdio = "stdio"
)

// The revisions of MCP that a client can speak, one an era.
const (
	Legacy = "2025-06-18" // initialize and sessions
	Modern = "2026-07-28" // stateless, _meta in each request
)

// A Target is a server and how to speak to it.
type Target struct {
	Carrier string
	URL     string    // but for stdio; a user name in it is sent as bearer token over HTTP
	Command []string  // for stdio
	Env     []string  // for stdio: KEY=VALUE beside this program's own
	Modern  bool      // it is spoken to as in revision Modern
	Until   time.Time // when connections end by themselves, so that no call waits forever
}

// A Request is a call to send. It can be sent again, with another id.
type Request struct {
	ID      int64
	Method  string
	Name    string // of the tool
	Params  []byte
	message []byte
	answer  chan raw.Message // over stdio
}

// An Answer is what came back. It is valid until the session's next call.
type Answer struct {
	Result []byte
	Bytes  int       // of the whole response
	First  time.Time // when its first byte was there; zero where the carrier cannot tell
}

// A Session is an open session of MCP, for one goroutine at a time, or for many over stdio.
type Session struct {
	carrier
	PID  int    // the process of a stdio session, else 0
	Meta string // what the params of each request begin with, with a comma; "" in the legacy era
}

type carrier interface {
	// exchange sends a request and returns the response to it.
	exchange(*Request) (response raw.Message, first time.Time, err error)
	notify(message []byte) error
	Close()
}

// Open opens a session and, in the legacy era, initializes it.
func Open(t Target) (s *Session, err error) {
	s = &Session{}
	switch t.Carrier {
	case HTTP:
		s.carrier, err = newHTTP(t)
	case SSE:
		s.carrier, err = openSSE(t)
	case WS:
		s.carrier, err = openWS(t)
	case Stdio:
		s.carrier, s.PID, err = openStdio(t)
	default:
		err = fmt.Errorf("carrier %q: expected http, sse, ws or stdio", t.Carrier)
	}
	if err != nil {
		return nil, err
	}
	if t.Modern {
		s.Meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + Modern + `","io.modelcontextprotocol/clientInfo":` +
			`{"name":"mcpbench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},`
		return s, nil
	}
	_, err = s.Call(&Request{ID: 1, Method: "initialize", Params: []byte(`{"protocolVersion":"` + Legacy +
		`","capabilities":{},"clientInfo":{"name":"mcpbench","version":"1"}}`)})
	if err == nil {
		err = s.notify([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("initialize: %w", err)
	}
	return s, nil
}

// Call sends a request and returns its answer. An error response, and a result with isError, are errors.
func (s *Session) Call(r *Request) (Answer, error) {
	b := strconv.AppendInt(append(r.message[:0], `{"jsonrpc":"2.0","id":`...), r.ID, 10)
	b = append(append(append(b, `,"method":"`...), r.Method...), `","params":`...)
	r.message = append(append(b, r.Params...), '}')
	m, first, err := s.exchange(r)
	switch {
	case err != nil:
	case m.Error != nil && string(m.Error) != "null":
		err = fmt.Errorf("error response: %.200s", m.Error)
	case m.Result == nil:
		err = fmt.Errorf("no result in the answer to id %d", r.ID)
	case string(raw.Get(m.Result, "isError")) == "true":
		err = fmt.Errorf("the tool failed: %.200s", m.Result)
	}
	return Answer{m.Result, m.Bytes, first}, err
}

// List calls tools/list, with ids above that of r, and hands over its pages up to the last.
func (s *Session) List(r *Request, page func(Answer) error) error {
	r.Method = "tools/list"
	for member := ""; ; {
		r.ID++
		r.Params = append(append(append(r.Params[:0], '{'), s.Meta...), member...)
		r.Params = append(bytes.TrimSuffix(r.Params, []byte(",")), '}')
		answer, err := s.Call(r)
		if err == nil {
			err = page(answer)
		}
		if err != nil {
			return err
		}
		cursor := string(raw.Get(answer.Result, "nextCursor"))
		if cursor == "" || cursor == "null" || cursor == `""` {
			return nil
		}
		member = `"cursor":` + cursor
	}
}

// Tools returns the names of all tools that a session lists. It uses ids from 2 on.
func (s *Session) Tools() (names []string, err error) {
	err = s.List(&Request{ID: 1}, func(a Answer) error {
		var page struct{ Tools []struct{ Name string } }
		err := json.Unmarshal(a.Result, &page)
		for _, tool := range page.Tools {
			names = append(names, tool.Name)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("tools/list: %w", err)
	}
	return names, nil
}

// answers reports whether a message is the response to the request with an id.
func answers(m raw.Message, want int64) bool {
	var digits [20]byte
	return m.Method == nil && string(m.ID) == string(strconv.AppendInt(digits[:0], want, 10))
}

// reply returns the answer to what a server asks, nil for what needs none. Of a client without
// capabilities it may ask only whether it is there.
func reply(m raw.Message) []byte {
	if m.ID == nil || m.Method == nil {
		return nil
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
}
