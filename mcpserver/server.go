package mcpserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Server serves one source to many clients. Its methods may be called by many goroutines at
// once.
type Server struct {
	source   bridge.Source
	settings atomic.Pointer[settings]
	updating sync.Mutex // held by Update

	tickets  tickets
	upgrader streamUpgrader
	sessions registry
	views    viewPool         // of HTTP clients of the modern era
	parking  parking          // calls that wait for an answer of a modern client
	workers  workers          // of the requests of connections that carry both ways
	frames   sync.Pool        // unused write buffers of WebSocket connections, which frameWriter writes
	log      *bridge.Throttle // in front of Options.Log, for what clients cause at will
	guesses  guesses          // of credentials
	refused  atomic.Int64     // requests not let in

	forwarded atomic.Int64 // requests that other nodes are answering, without streams
	finishing atomic.Bool  // no request begins any more

	slowTime    time.Duration // how long a WebSocket client may take nothing from a full outbox
	recheckTime time.Duration

	ctx  context.Context // ends with the Server
	stop context.CancelCauseFunc
	work sync.WaitGroup // goroutines that Close waits for

	mu     sync.Mutex // guards closed
	closed bool
}

// New returns a Server of source, which must stay open until the Server is closed. It may be nil if every client
// is a Stream with a Source of its own.
func New(source bridge.Source, opts Options) *Server {
	s := &Server{
		source: source, slowTime: slowTime, recheckTime: recheckTime,
		tickets:  tickets{issued: map[string]ticket{}},
		upgrader: streamUpgrader{waiting: map[*exchange]time.Time{}},
		parking:  newParking(),
	}
	s.settings.Store(newSettings(opts, nil))
	s.log = &bridge.Throttle{To: s.opts().Log, Burst: 10, Every: time.Second}
	s.ctx, s.stop = context.WithCancelCause(context.Background())
	s.sessions = registry{server: s, sessions: map[string]*session{}, guests: map[string]*guest{}}
	s.views = viewPool{server: s, ctx: s.ctx, posts: map[*http.Request]post{}}
	s.work.Go(s.sessions.expire)
	return s
}

// Close ends every session, answers the pending requests with an error, and waits until nothing of
// the Server runs any more. The handlers of HTTP requests still write their answers then.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.sessions.close()
	s.views.close()
	s.stop(errClosing)
	s.parking.close()
	s.work.Wait()
	return nil
}

// Refused returns how many requests and connections were not let in so far, or were refused by a limit.
func (s *Server) Refused() int64 { return s.refused.Load() + s.opts().accounts.whole.lacks.Load() }

// Pending returns how many requests of clients are being answered, here or by other nodes, or wait for an
// answer of their client. Streams are not counted, as they last as long as their clients want: neither GETs nor requests of
// subscriptions/listen.
func (s *Server) Pending() int {
	whole := s.opts().accounts.whole
	return int(whole.used[pendingCalls].Load() + whole.used[parkedCalls].Load() + s.forwarded.Load())
}

// Finish makes the Server refuse what begins from now on, so that Pending becomes 0: over HTTP with 503 and Retry-After, as
// another node, or the next run, may carry it out. What goes on with something that has begun is taken: answers to
// questions, cancellations, streams, requests about tasks.
func (s *Server) Finish() { s.finishing.Store(true) }

// errFinishing is why a request is refused after Finish.
var errFinishing = errors.New("this bridge is about to end, and takes nothing new: try again")

// begins reports whether a request is not about one that has begun.
func begins(m *wire.Message) bool {
	return m.Kind() == wire.Request && !isTaskMethod(m.Method) && m.Params.Get(wire.RequestState) == nil
}

// begin counts work that Close waits for, and reports false when the Server is closed.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.work.Add(1)
	}
	return !s.closed
}

// start runs f in a goroutine that Close waits for, and reports false when the Server is closed.
func (s *Server) start(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.work.Go(f)
	}
	return !s.closed
}

// open opens a source for a caller, nil that of the Server. Nothing else in this package calls a source but
// through the session that it returns.
func (s *Server) open(ctx context.Context, source bridge.Source, caller *bridge.Caller) (_ bridge.Session, failure *toolformat.Error) {
	defer s.recovered("Open", func(e *toolformat.Error) { failure = e })
	if source == nil {
		source = s.source
	}
	session, err := source.Open(ctx, caller)
	if refused := (*toolformat.Error)(nil); errors.As(err, &refused) {
		return nil, refused
	}
	if err != nil {
		return nil, shuttingDown(err)
	}
	return &sourceSession{session, s}, nil
}

// sourceSession is a session of the source. It makes a panic in the source, which would end the
// process in most goroutines, an internal error of the call.
type sourceSession struct {
	bridge.Session
	server *Server
}

func (s *sourceSession) List(ctx context.Context, kind bridge.ListKind) (_ *bridge.List, err error) {
	defer s.server.recovered("List", func(e *toolformat.Error) { err = e })
	return s.Session.List(ctx, kind)
}

func (s *sourceSession) Do(ctx context.Context, req *bridge.Request) (reply bridge.Reply) {
	defer s.server.recovered(req.Method, func(e *toolformat.Error) { reply = bridge.Failed(e) })
	return s.Session.Do(ctx, req)
}

func (s *sourceSession) Close() (err error) {
	defer s.server.recovered("Close", func(e *toolformat.Error) { err = e })
	return s.Session.Close()
}

// recovered must be deferred: it ends a panic, whose cause goes to the log, and calls fail.
func (s *Server) recovered(call string, fail func(*toolformat.Error)) {
	if p := recover(); p != nil {
		s.opts().Log.Error("the source has panicked", "in", call, "panic", p, "stack", string(debug.Stack()))
		fail(toolformat.Errorf(toolformat.Internal, "internal error"))
	}
}

var (
	errCancelled = errors.New("canceled by the client")                    // why a request ends
	errEnded     = errors.New("the session has ended")                     // why a session's requests end
	errShutOut   = errors.New("the credentials are not accepted any more") // the same, of a sender who had been let in
	errExpired   = errors.New("the token has expired")                     // why a stream ends
	errAnswered  = errors.New("the request is answered")                   // why its context ends
)

// errClosing is why a Server's connections end.
const errClosing closingError = "the bridge is shutting down"

// A closingError is an [http.ErrServerClosed], by which the handlers of Options.Protected know it.
type closingError string

func (e closingError) Error() string { return string(e) }
func (closingError) Unwrap() error   { return http.ErrServerClosed }

// endedHere reports whether a request whose context has ended for a reason was ended by the Server, not by its client.
func endedHere(reason error) bool {
	return reason == errEnded || reason == errShutOut || reason == errClosing || reason == errExpired
}

func unavailable(format string, args ...any) *toolformat.Error {
	return toolformat.Errorf(toolformat.Unavailable, format, args...)
}

// shuttingDown is the answer to requests that come too late to be carried out; cause, if any, is for the log.
func shuttingDown(cause error) *toolformat.Error {
	e := unavailable("%v", errClosing).Because(cause)
	e.NotRun = true
	return e
}

// idleEnough is how long a session or a view must be unused to make room for a new one.
const idleEnough = time.Minute

// newID makes an identifier that cannot be guessed: 130 random bits.
func newID() string { return rand.Text() }

// Options configure a Server. A field that is zero means the default in its comment.
type Options struct {
	Access Access // which HTTP requests and WebSocket connections are let in

	// HiddenHeaders maps the names of hidden values to the HTTP headers that carry them; no two
	// names may differ in letter case alone. A value is the header's text as a JSON string; a
	// header that is empty or occurs twice carries no value. A session of the legacy era has the
	// values of its initialize, SSE stream, WebSocket handshake or ticket, and requests with
	// other values do not belong to it. A request of the modern era over HTTP has its own.
	HiddenHeaders map[string]string

	// TicketValues names, in any letter case, the hidden values that the body of a request for a
	// WebSocket ticket may set for its session: {"context": {NAME: value}}. The caller that
	// requests the ticket chooses them; nothing on the connection can change them.
	TicketValues []string

	MessageBytes    int           // bounds a message; 64 MiB
	BatchMessages   int           // bounds the messages of a JSON-RPC batch; 100
	CallsPerSession int           // bounds the pending requests of a session; 1000
	QueueBytes      int           // bounds the memory of what waits for a client that does not read; 8 MiB
	Sessions        int           // bounds the sessions over HTTP and WebSocket; 10,000
	SessionIdle     time.Duration // how long an unused HTTP session is kept; 2 h
	ResumeBytes     int           // bounds what a session keeps for Last-Event-ID; 1 MiB
	ReadTimeout     time.Duration // bounds reading the body of an HTTP request; 1 min

	// Protected maps patterns of http.ServeMux to handlers that Access protects as it does MCP.
	// CallerOf tells them the caller: that asks for the profile which the wildcard {profile} of a
	// pattern matches. A request's context ends when its sender is shut out, and with [http.ErrServerClosed]
	// as its cause when the Server closes. One for a WebSocket may have its token in a subprotocol, or a
	// ticket, as at /ws.
	Protected map[string]http.Handler

	// PassTokens tells the source the bearer tokens of callers (bridge.Caller.Token).
	PassTokens bool

	// Foreign maps paths, and with a slash at their end what is below them, to handlers to which browsers
	// come from other sites, by links or in frames, without credentials: Access only checks the Host.
	Foreign map[string]http.Handler

	// Public maps patterns of http.ServeMux to handlers of what everybody may read, without a token.
	Public map[string]http.Handler

	Page http.Handler // what a browser sees at the root; nil means a text

	// Lend is called for a client, with an Ask, that lends tools for the first time, with a lock held.
	// nil means that clients cannot lend tools.
	Lend func(client *bridge.Caller) Lender

	// Refuse writes the answer to a request that Access does not let in, for a path whose API
	// has errors of another shape than MCP. It writes nothing and reports false for any other
	// path. nil means that every path is MCP's.
	Refuse func(w http.ResponseWriter, r *http.Request, status int, reason string) bool

	Nodes     Nodes                   // of the fleet that the Server is of; nil means none
	Peers     map[string]http.Handler // by patterns of http.ServeMux: of requests of other nodes, which Ask sends
	Adoptable bool                    // sessions of the legacy era have nothing of their own in the source, so that another node can go on with them

	Ready http.Handler // answers /readyz; nil means 200
	Log   *slog.Logger // nil means no log
}

func (o Options) withDefaults() Options {
	o.MessageBytes = cmp.Or(o.MessageBytes, 64<<20)
	o.BatchMessages = cmp.Or(o.BatchMessages, 100)
	o.CallsPerSession = cmp.Or(o.CallsPerSession, 1000)
	o.QueueBytes = cmp.Or(o.QueueBytes, 8<<20)
	o.Sessions = cmp.Or(o.Sessions, 10_000)
	o.SessionIdle = cmp.Or(o.SessionIdle, 2*time.Hour)
	o.ResumeBytes = cmp.Or(o.ResumeBytes, 1<<20)
	o.ReadTimeout = cmp.Or(o.ReadTimeout, time.Minute)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Ready == nil {
		o.Ready = http.HandlerFunc(healthy)
	}
	return o
}

func healthy(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok\n")) }
