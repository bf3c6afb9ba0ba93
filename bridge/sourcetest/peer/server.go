package peer

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// The eras that a Server may speak. One that speaks both has "".
const (
	Legacy = "legacy"
	Modern = "modern"
)

// A Server is an MCP server whose answers a test writes. It answers the handshake and lists
// its tools; other requests it leaves to Take. Any number of connections may be served at
// once, over any carrier: see Serve, Child and ServeLines.
type Server struct {
	Capabilities string           // raw members beside tools
	Tools        string           // raw definitions with commas between; guarded by State
	Before       func(*Call) bool // sees each message first; true keeps the server from taking it
	Take         func(*Call)      // answers the other requests; nil answers with no content
	Heard        func(*Call)      // sees notifications, and responses to questions that are not of Ask
	State

	era      string // "" means both
	seen     []*Call
	last     int                           // number of the last connection or question
	asked    map[string]chan string        // open questions by raw id
	calls    map[string]context.CancelFunc // requests under way, by connection and raw id
	sessions map[string]chan string        // what waits for the streams of streamable HTTP
	conns    map[*conn]struct{}
	sockets  map[net.Conn]struct{} // of HTTP
	work     sync.WaitGroup
}

// NewServer returns a server of an era, or of both for "".
func NewServer(era string) *Server {
	return &Server{
		era: era, asked: map[string]chan string{}, calls: map[string]context.CancelFunc{},
		sessions: map[string]chan string{}, conns: map[*conn]struct{}{}, sockets: map[net.Conn]struct{}{},
	}
}

// conn is a connection to a server, or a session of streamable HTTP.
type conn struct {
	name string
	say  func(string) // sends a message that belongs to no request
	end  func()
}

// next numbers a connection or a question; the state is locked.
func (s *Server) next() int {
	s.last++
	return s.last
}

// Seen returns what has been sent to the server with a method, so far.
func (s *Server) Seen(method string) (some []*Call) {
	s.Read(func() {
		for _, c := range s.seen {
			if c.Method == method {
				some = append(some, c)
			}
		}
	})
	return some
}

// Count returns how often a method has been sent; Read, Update and Until may call it.
func (s *Server) Count(method string) (n int) {
	for _, c := range s.seen {
		if c.Method == method {
			n++
		}
	}
	return n
}

// UnderWay returns how many requests have not been answered; Read, Update and Until may call it.
func (s *Server) UnderWay() int { return len(s.calls) }

// Await returns Seen(method) when there are n calls.
func (s *Server) Await(t testing.TB, method string, n int) []*Call {
	t.Helper()
	s.MustUntil(t, fmt.Sprintf("%d × %s", n, method), func() bool { return s.Count(method) >= n })
	return s.Seen(method)
}

// Announce sends a message to all clients of the legacy era that have connected.
func (s *Server) Announce(msg string) {
	s.Read(func() {
		for c := range s.conns {
			c.say(msg)
		}
	})
}

// Kill ends every connection and session.
func (s *Server) Kill() {
	var ends []func()
	s.Update(func() {
		for c := range s.conns {
			ends = append(ends, c.end)
		}
		for c := range s.sockets { // before anyone learns that the sessions are gone, as with a process that ends
			c.Close()
		}
		clear(s.conns)
		clear(s.sessions)
	})
	for _, end := range ends {
		end()
	}
}

// Forget ends the sessions of streamable HTTP, not their connections.
func (s *Server) Forget() { s.Update(func() { clear(s.sessions) }) }

// open registers a connection.
func (s *Server) open(say func(string), end func()) *conn {
	c := &conn{say: say, end: end}
	s.Update(func() {
		c.name = fmt.Sprint("connection-", s.next())
		s.conns[c] = struct{}{}
	})
	return c
}

func (s *Server) close(c *conn) { s.Update(func() { delete(s.conns, c) }) }

// take has a message answered when it returns, unless it never is.
func (s *Server) take(ctx context.Context, from string, c *Call) {
	switch c.Kind() {
	case wire.Response:
		if s.answered(c) {
			return
		}
	case wire.Request:
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		c.Ctx = ctx
		s.Update(func() { s.calls[from+string(c.ID)] = cancel })
		defer s.Update(func() { delete(s.calls, from+string(c.ID)) })
	default:
		c.Ctx = ctx
		if c.Method == wire.NotificationCancelled {
			s.Read(func() {
				if cancel := s.calls[from+string(c.Params.Get(wire.RequestID))]; cancel != nil {
					cancel()
				}
			})
		}
	}
	var tools string
	s.Update(func() { s.seen, tools = append(s.seen, c), s.Tools })
	s.dispatch(c, tools)
}

// answered hands the answer to a question on, and reports whether there is one.
func (s *Server) answered(c *Call) bool {
	var waiting chan string
	s.Read(func() {
		waiting = s.asked[string(c.ID)]
		delete(s.asked, string(c.ID))
	})
	if waiting != nil {
		waiting <- cmp.Or(string(c.Error), string(c.Result))
	}
	return waiting != nil
}

const serverInfo = `"serverInfo":{"name":"peer","version":"1"}`

func (s *Server) dispatch(c *Call, tools string) {
	capabilities := `"capabilities":{` + Members(`"tools":{"listChanged":true}`, s.Capabilities) + `}`
	fresh := ""
	if c.Modern {
		fresh = `"ttlMs":0,"cacheScope":"private",`
	}
	switch {
	case s.Before != nil && s.Before(c):
	case c.Kind() != wire.Request:
		if s.Heard != nil {
			s.Heard(c)
		}
	case c.Modern && s.era == Legacy && c.Method == wire.MethodDiscover:
		c.Fail(wire.MethodNotFound, "method not found", "")
	case c.Modern && s.era == Legacy:
		c.Fail(wire.InvalidRequest, "what does this _meta mean: "+string(c.Params.Raw), "")
	case !c.Modern && s.era == Modern:
		c.Fail(wire.UnsupportedVersion, "unsupported protocol version", `,"data":{"supported":["2026-07-28"],"requested":"2025-11-25"}`)
	case c.Method == wire.MethodInitialize:
		c.Reply(`"protocolVersion":"2025-11-25",` + capabilities + `,` + serverInfo)
	case c.Method == wire.MethodDiscover:
		c.Reply(fresh + `"supportedVersions":["2026-07-28"],` + capabilities + `,"_meta":{"io.modelcontextprotocol/` + serverInfo[1:] + `}`)
	case c.Method == wire.MethodToolsList:
		c.Reply(fresh + `"tools":[` + tools + `]`)
	case s.Take == nil:
		c.Reply(`"content":[]`)
	default:
		s.Take(c)
	}
}
