// Package client is an MCP client that costs little: no SDK, no goroutine between a call and its
// answer except over stdio, and an HTTP client written by hand, as that of net/http takes as much CPU
// as a server, which a gateway on the same machine would lack.
//
// Files: client.go (sessions and the messages that open them), http.go (streamable HTTP), events.go
// (server-sent events and the legacy SSE carrier), stdio.go (a process whose session many callers
// share), ws.go (WebSocket).
//
// A Session is for one goroutine at a time, but for those over stdio.
package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
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
	Carrier  string
	URL      string   // but for stdio
	Command  []string // for stdio
	Env      []string // for stdio: KEY=VALUE beside this program's own
	Revision string   // Legacy or Modern
	Header   http.Header
	Until    time.Time // when connections end by themselves, so that no call waits forever
}

// A Request is a call to send.
type Request struct {
	ID           int64
	Method, Name string // Name is that of the tool
	Message      []byte // all of it, on one line
}

// An Answer is the response to a request.
type Answer struct {
	Message []byte    // valid until the session's next call
	First   time.Time // when its first byte was there; zero where the carrier cannot tell
}

// A Session is an open session of MCP.
type Session interface {
	// Do sends a request and returns the answer with its id, which may be an error response.
	Do(Request) (Answer, error)
	// Notify sends a notification.
	Notify(message []byte) error
	// PID returns the process that the session runs in; 0 but for stdio.
	PID() int
	Close()
}

// Open opens a session and, in the legacy era, initializes it.
func Open(t Target) (s Session, err error) {
	switch t.Carrier {
	case Stdio:
		s, err = openStdio(t)
	case HTTP, SSE, WS:
		u, fault := url.Parse(t.URL)
		if fault != nil {
			return nil, fault
		}
		switch t.Carrier {
		case HTTP:
			s = newHTTP(u, t)
		case SSE:
			s, err = openSSE(u, t)
		case WS:
			s, err = openWS(t)
		}
	default:
		err = fmt.Errorf("carrier %q: expected http, sse, ws or stdio", t.Carrier)
	}
	if err != nil {
		return nil, err
	}
	if t.Revision != Modern {
		if err := initialize(s, t.Revision); err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

func initialize(s Session, revision string) error {
	params := `{"protocolVersion":"` + revision + `","capabilities":{},"clientInfo":{"name":"mcpbench","version":"1"}}`
	answer, err := s.Do(Request{1, "initialize", "", AppendRequest(nil, 1, "initialize", []byte(params))})
	if err == nil {
		_, err = Result(answer.Message)
	}
	if err == nil {
		err = s.Notify([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	}
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	return nil
}

// AppendRequest appends a request with raw params.
func AppendRequest(dst []byte, id int64, method string, params []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"jsonrpc":"2.0","id":`...), id, 10)
	dst = append(append(dst, `,"method":"`...), method...)
	dst = append(append(dst, `","params":`...), params...)
	return append(dst, '}')
}

// Meta returns the first member of the params of a request, with a comma; nothing in the legacy era.
func Meta(revision string) string {
	if revision != Modern {
		return ""
	}
	return `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + Modern + `","io.modelcontextprotocol/clientInfo":` +
		`{"name":"mcpbench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},`
}

// Tools returns the names of all tools that a session lists, page by page. It uses ids from 2 on.
func Tools(s Session, revision string) (names []string, err error) {
	for id, cursor := int64(2), ""; ; id++ {
		params := "{" + Meta(revision)
		if cursor != "" {
			params += `"cursor":` + cursor
		} else if params != "{" {
			params = params[:len(params)-1]
		}
		answer, err := s.Do(Request{id, "tools/list", "", AppendRequest(nil, id, "tools/list", []byte(params+"}"))})
		if err != nil {
			return nil, err
		}
		result, err := Result(answer.Message)
		if err != nil {
			return nil, err
		}
		var page struct {
			Tools      []struct{ Name string }
			NextCursor json.RawMessage
		}
		if err := json.Unmarshal(result, &page); err != nil {
			return nil, fmt.Errorf("tools/list: %w", err)
		}
		for _, tool := range page.Tools {
			names = append(names, tool.Name)
		}
		cursor = string(page.NextCursor)
		if cursor == "" || cursor == "null" || cursor == `""` {
			return names, nil
		}
	}
}

// Result returns the raw result of a response. An error response, and a result with isError, are
// errors.
func Result(response []byte) ([]byte, error) {
	var result, fault []byte
	for key, value := range raw.Members(response) {
		switch string(key) {
		case "result":
			result = value
		case "error":
			fault = value
		}
	}
	switch {
	case fault != nil && string(fault) != "null":
		return nil, fmt.Errorf("error response: %.200s", fault)
	case result == nil:
		return nil, fmt.Errorf("no result in %.200q", response)
	case string(raw.Get(result, "isError")) == "true":
		return nil, fmt.Errorf("the tool failed: %.200s", result)
	}
	return result, nil
}

// kind tells what a message is: a response (method nil), a request of the server, or a notification
// (id nil).
func kind(message []byte) (id, method []byte) {
	for key, value := range raw.Members(message) {
		switch string(key) {
		case "id":
			id = value
		case "method":
			method = value
		}
		if id != nil && method != nil {
			break
		}
	}
	return id, method
}

// answers reports whether a message is the response to the request with an id.
func answers(message []byte, want int64) bool {
	id, method := kind(message)
	var digits [20]byte
	return method == nil && string(id) == string(strconv.AppendInt(digits[:0], want, 10))
}

// reply returns the answer to what a server asks; nil for what needs none.
func reply(message []byte) []byte {
	id, method := kind(message)
	switch {
	case id == nil || method == nil:
		return nil
	case string(method) == `"ping"`:
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{}}`, id)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`, id)
}

// A stream carries messages both ways, for one goroutine.
type stream interface {
	write(message []byte) error
	read() ([]byte, error) // valid until the next read
	Close()
}

// single is a session over a stream.
type single struct{ stream }

func (s single) PID() int                    { return 0 }
func (s single) Notify(message []byte) error { return s.write(message) }

func (s single) Do(r Request) (Answer, error) {
	if err := s.write(r.Message); err != nil {
		return Answer{}, err
	}
	for {
		message, err := s.read()
		if err != nil {
			return Answer{}, err
		}
		if answers(message, r.ID) {
			return Answer{Message: message}, nil
		}
		if again := reply(message); again != nil {
			if err := s.write(again); err != nil {
				return Answer{}, err
			}
		}
	}
}
