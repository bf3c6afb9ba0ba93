// Package mcpserver makes a bridge.Source an MCP server on every carrier: stdio,
// streamable HTTP, legacy SSE and WebSocket.
//
// A session is one client, whatever carries it: it answers the protocol's own methods
// and hands the rest to the source. A carrier brings messages in and takes what the
// session has for the client out of an outbox, in order.
package mcpserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// Options are the settings of a Server. Zero values mean the default that stands
// beside them.
type Options struct {
	Access Access // who may come in over HTTP and WebSocket

	// HiddenHeaders says which hidden values a caller brings in an HTTP header: the value's name
	// in the context, of which no two differ in letter case alone, to the header's. It is the
	// text of the header as a JSON string; one that is empty or comes twice brings nothing.
	// In the legacy era those of initialize, of the SSE stream, of the WebSocket handshake or
	// of its ticket count for the session, and a request with others is no part of it. In the
	// modern era over HTTP each request has its own.
	HiddenHeaders map[string]string

	// TicketValues names the hidden values that a request for a WebSocket ticket may set
	// for its session, in any letter case: {"context": {NAME: value}} as its body. Whoever may
	// ask for a ticket chooses them, and nobody on the connection does.
	TicketValues []string

	MessageBytes    int           // largest message taken; 64 MiB
	BatchMessages   int           // most messages in a JSON-RPC batch; 100
	CallsPerSession int           // requests under way at once; 1000
	QueueBytes      int           // how much may wait for a client that does not read; 8 MiB
	Sessions        int           // sessions over HTTP and WebSocket at once; 10,000
	SessionIdle     time.Duration // how long an HTTP session lives unused; 2 h
	ResumeBytes     int           // how much a session keeps for Last-Event-ID; 1 MiB
	ReadTimeout     time.Duration // how long the body of a request may take to come; 1 min

	// Protected is what else is served behind the door, by patterns of http.ServeMux. CallerOf
	// tells these handlers who asks. nil: nothing.
	Protected map[string]http.Handler

	Ready http.Handler // answers /readyz; nil: 200
	Log   *slog.Logger // nil: nothing is logged
}

// A Server serves one source to many clients. It may be used from many goroutines.
type Server struct {
	source   bridge.Source
	opts     Options
	log      *slog.Logger
	context  []contextHeader
	tickets  tickets
	late     late
	views    views        // of HTTP clients of the modern era
	parking  parking      // calls that wait for an answer of a modern client
	frames   sync.Pool    // write buffers of WebSocket connections
	journals atomic.Int64 // bytes in all journals

	ctx  context.Context // of all sessions
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu       sync.Mutex          // guards what follows
	sessions map[string]*session // those that clients name by id
	closed   bool
}

// New makes a server of a source, which stays its owner's to close.
func New(source bridge.Source, opts Options) *Server {
	opts.MessageBytes = cmp.Or(opts.MessageBytes, 64<<20)
	opts.BatchMessages = cmp.Or(opts.BatchMessages, 100)
	opts.CallsPerSession = cmp.Or(opts.CallsPerSession, 1000)
	opts.QueueBytes = cmp.Or(opts.QueueBytes, 8<<20)
	opts.Sessions = cmp.Or(opts.Sessions, 10_000)
	opts.SessionIdle = cmp.Or(opts.SessionIdle, 2*time.Hour)
	opts.ResumeBytes = cmp.Or(opts.ResumeBytes, 1<<20)
	opts.ReadTimeout = cmp.Or(opts.ReadTimeout, time.Minute)
	if opts.Log == nil {
		opts.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	s := &Server{source: source, opts: opts, log: opts.Log, context: contextHeaders(opts.HiddenHeaders), sessions: map[string]*session{}, parking: parking{life: parkTime, most: maxParked}}
	s.views.server = s
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.wg.Go(s.sweep)
	return s
}

// Close ends every session and waits until they have ended.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	all := s.sessions
	s.sessions = map[string]*session{}
	s.mu.Unlock()
	s.stop()
	for _, one := range all {
		one.end()
	}
	s.views.close()
	s.parking.close()
	s.wg.Wait()
	return nil
}

// start runs f in a goroutine that Close waits for; false when the server is closed.
func (s *Server) start(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.wg.Go(f)
	}
	return !s.closed
}

// newID makes an identifier that cannot be guessed: 130 random bits.
func newID() string { return rand.Text() }
