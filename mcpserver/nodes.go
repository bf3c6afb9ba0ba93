package mcpserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Nodes are the nodes of a fleet, each with a Server like this one, behind a balancer that gives any request
// to any of them. The connections of the Listener are those of other nodes, for requests that these have
// forwarded, with Host and Origin checked; its address is the name of this run. The Handler accepts links of
// other nodes, at /peer.
//
// Each start of a node is another run of it. Errors are of the type *toolformat.Error unless it says so.
type Nodes interface {
	net.Listener
	http.Handler

	// Seal returns text that only nodes of the fleet can make or read, for a purpose: data, and that
	// this run of this node has sealed it.
	Seal(purpose string, data []byte) string

	// Open returns what Seal has sealed, and which run of which node did: "" for this one, unless another is known to
	// have gone on with a session of it.
	Open(purpose, sealed string) (data []byte, run string, ok bool)

	// Forward lets another run answer a request. If that has got it, sent is true and err of any type:
	// its answer was lost, and may have begun. Else an error is NotFound if that run has ended. Requests of one key have
	// similar headers.
	Forward(w http.ResponseWriter, r *http.Request, run, key string) (sent bool, err error)

	// Owner returns the run that has gone on with a session of this one, "" if none has. An error is Unavailable if that
	// cannot be told.
	Owner(ctx context.Context, id string) (run string, err error)

	// Adopt returns the run that goes on with a session of one that has ended: "" for this one, if no
	// other has asked before. Of a session that this run has, run is itself. One more session of which NATS is told is one
	// that may allows. An error is NotFound if nobody may go on with it, or this one may not, and Unavailable if that
	// cannot be told, or the run has not ended.
	Adopt(ctx context.Context, id, run string, may func() bool) (owner string, err error)

	// Term returns for how long no other run goes on with sessions of this one, unless its process ends: not at all
	// unless left is positive. The context ends when one may.
	Term() (term context.Context, left time.Duration)

	// Bind makes sure that no other run goes on with a session of this one.
	Bind(ctx context.Context, id string) error
}

const (
	peerPath      = "/peer"
	holdPath      = "/peer/hold" // where nodes ask others to let them keep their sessions
	sealedSession = "session"    // purpose of the ids of sessions
	sealedState   = "state"      // purpose of the ends of requestStates
	sealedTicket  = "ticket"     // purpose of tickets
	sealedTask    = "task"       // purpose of the ids of tasks
	sealedMark    = "mark"       // purpose of the marks of guests
	sealedKept    = "kept"       // purpose of those of NewID

	// headerRepeated marks a forwarded request that may have run before.
	headerRepeated = "Mcpbridge-Repeated"
	// headerStream has the id, as of an event, before the first event of the stream that answers a forwarded request.
	headerStream = "Mcpbridge-Stream"

	adoptTime = time.Second      // that it may take to find out who goes on with a session; then the client tries again
	lostTime  = 10 * time.Second // the same for a request that was sent to a node which is lost since then
)

// forwardedKey marks the context of connections of other nodes.
type forwardedKey struct{}

func markForwarded(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, forwardedKey{}, true)
}

// forwarded reports whether another node has forwarded the request of a context.
func forwarded(ctx context.Context) bool { return ctx.Value(forwardedKey{}) != nil }

// repeats reports whether a request of a node may have run before.
func repeats(r *http.Request) bool { return r.Header.Get(headerRepeated) != "" }

// digest is of what the senders of a session's messages have in common.
func (id *identity) digest() [sha256.Size]byte {
	return sha256.Sum256([]byte(strings.Join([]string{id.principal.Name, id.credential, id.claims, id.profiles, id.profile}, "\x00")))
}

// ownedElsewhere lets the node that has a session answer a request, or answers it for that, and reports whether
// it has been answered. body is what has been read of it, nil if nothing, and m the message in it, nil if it is
// a batch or not valid. If it reports false, the session is here or nowhere: one whose node has ended may be here
// then. The request to go on with says whether it may have run; to is where its answer goes.
func (s *Server) ownedElsewhere(w http.ResponseWriter, r *http.Request, sender identity, id string, m *wire.Message, body []byte) (to http.ResponseWriter, next *http.Request, answered bool) {
	nodes := s.opts().Nodes
	if nodes == nil || id == "" {
		return w, r, false
	}
	f := s.newForwarding(w, r, sender.principal, m, body)
	f.key = id
	if f.belongsHere(sender, m) {
		return w, r, true
	}
	if s.sessions.has(id) {
		return w, r, f.lapsed(nodes, sender)
	}
	if m != nil && !forwarded(r.Context()) && guestsCall(r, m) {
		if host := s.guest(id, sender); host != nil && s.answerGuest(w, r, host, m) {
			return w, r, true
		}
		f.call = true
	}
	answered = f.answerSession(nodes, sender)
	if f.sent && !answered {
		r = f.repeated()
	}
	return f.w, r, answered
}

// answerSession is ownedElsewhere for a request whose session is not here.
func (f *forwarding) answerSession(nodes Nodes, sender identity) (answered bool) {
	s, r, id := f.server, f.r, f.key
	introduction, run, own := f.open(sender)
	if own && run == "" && len(introduction) > 0 {
		var err error
		if run, err = f.movedTo(nodes); err != nil {
			return f.fail(err)
		}
	}
	if run == "" || !own {
		return false
	}
	movable := len(introduction) > 0 && sender.hidden == "" && s.opts().Adoptable
	if f.call && movable {
		s.countForGuest(id, run, sender, bytes.Clone(introduction))
	}
	if !forwarded(r.Context()) && f.to(run) {
		return true
	}
	if f.crowded {
		return f.fail(f.lost)
	}
	if !movable {
		introduction = nil
	}
	if !movable && !f.begun {
		if f.lost == nil || toolformat.AsError(f.lost).Code == toolformat.NotFound {
			return f.ended()
		}
		return f.fail(f.lost)
	}
	answered, err := f.adopt(nodes, sender, run, introduction)
	switch {
	case answered:
		return true
	case err != nil && toolformat.AsError(err).Code == toolformat.NotFound:
		return f.ended()
	case err != nil:
		return f.fail(err)
	}
	// The session carries a request that may have run out again only if that has no further effect, and
	// answers so. What else was posted it does not know.
	return f.sent && r.Method == http.MethodPost && !f.asks() && f.fail(f.lost)
}

// adopt lets the run that goes on with the session of another one answer the request, or makes this one go on with it:
// without an error it is here then, unless answered. It waits for a moment, as a node that was killed may start again at
// once, so that it is known to have ended. What was sent there waits until that is known anyhow: where it is safe to do
// so it is carried out again, and its client need not know. Where that run lives, and only the way to it was lost, it goes on
// with an answer that has begun. Without an introduction no other run can go on with the session.
func (f *forwarding) adopt(nodes Nodes, sender identity, run string, introduction []byte) (answered bool, err error) {
	if f.r.Method != http.MethodGet {
		f.server.forwarded.Add(1)
		f.waits = true
		defer func() {
			f.server.forwarded.Add(-1)
			f.waits = false
		}()
	}
	until := time.Now().Add(adoptTime)
	if f.sent {
		until = time.Now().Add(lostTime)
	}
	for pause := adoptTime / 5; ; pause = min(2*pause, adoptTime) {
		before := f.sent
		f.heard = false
		answered, err = f.tryAdopt(nodes, sender, run, introduction, until)
		switch {
		case answered || err == nil || toolformat.AsError(err).Code == toolformat.NotFound:
			return answered, err
		case f.heard || f.sent && !before: // the answer was lost just now
			until = time.Now().Add(lostTime)
		case !f.sent && (f.crowded || err == errAlone), time.Until(until) < pause:
			return false, err
		}
		select {
		case <-time.After(pause):
		case <-f.r.Context().Done():
			return false, err
		case <-f.server.ctx.Done():
			return false, err
		}
	}
}

// tryAdopt is adopt without a wait.
func (f *forwarding) tryAdopt(nodes Nodes, sender identity, run string, introduction []byte, until time.Time) (answered bool, err error) {
	ctx, done := context.WithDeadline(f.r.Context(), until)
	defer done()
	term, left := nodes.Term()
	owner, err := "", f.lost
	switch {
	case left <= 0:
		err = errAlone
	case introduction != nil:
		owner, err = nodes.Adopt(ctx, f.key, run, func() bool { return f.account.mayStay(maxStaying) })
	}
	switch {
	case err == nil && owner == "":
		err = f.server.adopt(ctx, f.key, sender, introduction, term)
	case err == nil: // NATS names the owner, which answers itself. The session outlives it if it has ended just now.
		if f.resume(owner) || !f.resumable() && f.to(owner) {
			return true, nil
		}
		err = unavailable("%v", f.lost)
	case toolformat.AsError(err).Code != toolformat.NotFound && f.resume(run):
		return true, nil
	}
	return false, err
}

// movedTo returns the run that has gone on with a session which this one has begun, and does not have: "" if none has.
func (f *forwarding) movedTo(nodes Nodes) (run string, err error) {
	ctx, done := context.WithTimeout(f.r.Context(), adoptTime)
	defer done()
	return nodes.Owner(ctx, f.key)
}

// lapsed lets the node answer the request that has gone on with the session meanwhile, or answers it, if another may
// have.
func (f *forwarding) lapsed(nodes Nodes, sender identity) (answered bool) {
	s := f.server
	own := s.sessions.find(f.key, sender)
	if own == nil || !own.movable.Load() {
		return false
	}
	term, left := nodes.Term()
	switch {
	case left <= 0:
		return f.fail(errAlone)
	case own.isOf(term):
		return false
	}
	ctx, done := context.WithTimeout(f.r.Context(), adoptTime)
	defer done()
	owner, err := nodes.Adopt(ctx, f.key, s.run(), func() bool { return true }) // limits.sessions bounds those
	switch {
	case err == nil && owner == "":
		own.goOn(term)
		return false
	case err != nil && toolformat.AsError(err).Code != toolformat.NotFound:
		return f.fail(err)
	}
	s.sessions.endSession(own)
	return owner != "" && (f.to(owner) || f.fail(f.lost))
}

// errAlone is why a session is not served that another node may go on with.
var errAlone = errors.New("this node has reached neither NATS nor the other nodes for too long")

// open opens the id of the session that the request names. own is false unless it is one of the sender's; run is
// "" if this one has sealed it.
func (f *forwarding) open(sender identity) (introduction []byte, run string, own bool) {
	data, run, ok := f.server.opts().Nodes.Open(sealedSession, f.key)
	sum := sender.digest()
	introduction, own = bytes.CutPrefix(data, sum[:])
	return introduction, run, ok && own
}

// forwarding is a request on its way to the node that has what it goes on with.
type forwarding struct {
	server  *Server
	account *account // of the sender's principal
	w       http.ResponseWriter
	r       *http.Request
	key     string        // of requests with similar headers
	message *wire.Message // in it; nil if it has none, or a batch
	body    []byte        // what has been read of it; nil means nothing
	call    bool          // a guest can answer it
	begun   bool          // w has a part of an answer, with which another goes on
	sent    bool          // a node may have carried it out
	waits   bool          // in adopt, which counts it
	heard   bool          // an answer has begun, or gone on, since adopt has looked
	crowded bool          // too many wait for other nodes
	lost    error         // why there is no answer
}

func (s *Server) newForwarding(w http.ResponseWriter, r *http.Request, sender bridge.Principal, m *wire.Message, body []byte) *forwarding {
	return &forwarding{server: s, account: s.opts().accounts.of(sender), w: w, r: r, message: m, body: body}
}

// to forwards the request to a run, and reports whether it has been answered, or its client has left. If the request
// may have run before, a refusal does not count as an answer, since it would say that the request has not run.
func (f *forwarding) to(run string) (answered bool) {
	r := f.r
	if f.sent {
		r = f.repeated()
	}
	if f.body != nil {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(f.body)), int64(len(f.body))
	}
	w, ok := f.w.(*relayed)
	if !ok {
		w = &relayed{ResponseWriter: f.w}
	}
	w.id = ""
	sent := f.forward(w, r, run, f.sent && f.asks())
	f.sent = f.sent || sent
	switch {
	case f.crowded:
		return false
	case f.lost == nil || f.r.Context().Err() != nil:
		return true
	case !w.begun:
		return false
	case !f.asks() || !w.goOn():
		panic(http.ErrAbortHandler) // so that the client sees that it is not whole
	}
	f.w, f.begun = w, true
	return w.answers(f.message)
}

// resumable reports whether the run that has begun a stream of events may go on with it.
func (f *forwarding) resumable() bool {
	w, ok := f.w.(*relayed)
	return ok && w.id != ""
}

// resume lets a run go on with the stream of events that it has begun, as the client could, and reports whether the request
// has been answered.
func (f *forwarding) resume(run string) (answered bool) {
	if !f.resumable() {
		return false
	}
	w, r := f.w.(*relayed), f.repeated()
	r.Method, r.Body, r.ContentLength = http.MethodGet, http.NoBody, 0
	r.Header.Set(mcp.HeaderLastEventID, w.id)
	f.forward(w, r, run, true)
	switch {
	case f.crowded:
		return false
	case f.r.Context().Err() != nil:
		return true
	case w.refused == http.StatusNotFound: // it is another run's
		w.id = ""
	case w.refused == http.StatusBadRequest: // it has ended, and its events are not kept any more
		return f.to(run)
	case w.refused != 0:
	case !w.goOn():
		panic(http.ErrAbortHandler)
	case w.answers(f.message):
		return true
	case f.lost == nil:
		return f.fail(errors.New("the rest of the answer is lost"))
	}
	return false
}

// forward forwards a request to a run, and sets crowded or lost if its answer is not whole, or a refusal while it is to be
// patient.
func (f *forwarding) forward(w *relayed, r *http.Request, run string, patient bool) (sent bool) {
	kind := forwardedCalls
	if f.r.Method == http.MethodGet {
		kind = forwardedStreams
	}
	if f.crowded = !f.account.take(kind, 1); f.crowded {
		f.lost = f.account.exhausted("requests that wait for other nodes", kind)
		return false
	}
	defer f.account.give(kind, 1)
	if kind == forwardedCalls && !f.waits {
		f.server.forwarded.Add(1)
		defer f.server.forwarded.Add(-1)
	}
	if w.patient, w.refused = patient, 0; patient {
		w.later = http.Header{}
	}
	sent, f.lost = f.server.opts().Nodes.Forward(w, r, run, f.key)
	f.heard = f.heard || w.refused == 0 && len(w.later) > 0
	if w.patient = false; w.refused != 0 && f.lost == nil {
		f.lost = unavailable("node %s has not answered: HTTP %d", run, w.refused)
	}
	return sent
}

// repeated returns the request to be carried out again: what was posted says that it may have run before. Requests of one
// connection share their headers.
func (f *forwarding) repeated() *http.Request {
	again := f.r.Clone(f.r.Context())
	if f.r.Method == http.MethodPost {
		again.Header.Set(headerRepeated, "1")
	}
	if f.begun {
		again.Header.Set("Accept", "text/event-stream")
	}
	return again
}

// asks reports whether the message is a request of MCP, which has an answer.
func (f *forwarding) asks() bool { return f.message != nil && f.message.Kind() == wire.Request }

// ended answers a request that was sent to a node that has ended, since it may have run. Any other is not
// answered: what it names is nowhere.
func (f *forwarding) ended() (answered bool) {
	return f.sent && f.r.Method == http.MethodPost && f.fail(f.lost)
}

// fail answers a request whose node is lost, or cannot be reached.
func (f *forwarding) fail(why error) (answered bool) {
	f.server.log.Log(slog.LevelWarn, "a node that owns something is lost, or cannot be reached", "cause", why)
	switch {
	case f.server.ctx.Err() != nil && f.resumable():
		panic(http.ErrAbortHandler) // its client can go on with the stream at another node
	case f.sent && f.asks():
		m := f.message
		resp := response{id: m.ID, reply: bridge.Failed(unavailable("the node that carried out %s was lost: it is unknown whether it ran", m.Method))}
		if f.begun {
			out := newEventWriter(f.w)
			out.write("message", "", resp.encode().B)
			out.flush()
			break
		}
		f.w.Header()["Content-Type"] = jsonType
		f.w.Write(resp.encode().B)
	case f.sent && f.r.Method == http.MethodPost:
		writeError(f.w, http.StatusBadGateway, "the node that carried this out was lost: it is unknown whether it ran")
	case f.crowded:
		f.w.Header().Set("Retry-After", "1")
		writeError(f.w, http.StatusServiceUnavailable, why.Error())
	default:
		f.w.Header().Set("Retry-After", "1")
		writeError(f.w, http.StatusServiceUnavailable, "the node that has what this request goes on with cannot be reached: try again")
	}
	return true
}

// newOwnedID returns an id for a purpose that says which node has what it names.
func (s *Server) newOwnedID(purpose string) string {
	if nodes := s.opts().Nodes; nodes != nil {
		return nodes.Seal(purpose, nil)
	}
	return newID()
}

// modernElsewhere lets the node that has what a request goes on with, a parked call or a task, answer it, and
// reports whether it has been answered. body is the whole message.
func (s *Server) modernElsewhere(w http.ResponseWriter, r *http.Request, sender identity, m *wire.Message, body []byte) bool {
	if s.opts().Nodes == nil || forwarded(r.Context()) {
		return false
	}
	run := s.runOf(m)
	if run == "" {
		return false
	}
	f := s.newForwarding(w, r, sender.principal, m, body)
	if f.to(run) {
		return true
	}
	if toolformat.AsError(f.lost).Code == toolformat.NotFound {
		if isTaskMethod(m.Method) {
			return false // the task is unknown
		}
		f.sent = true // the call that it goes on with
	}
	return f.fail(f.lost)
}

// runOf returns the run of another node that has what a modern request goes on with, "" if none does.
func (s *Server) runOf(m *wire.Message) (run string) {
	if isTaskMethod(m.Method) {
		id, _ := m.Params.Text(wire.TaskID)
		_, run, _ = s.opts().Nodes.Open(sealedTask, id)
		return run
	}
	own := len(s.parking.mark) // as long on each node
	state, _ := m.Params.Text(wire.RequestState)
	if len(state) <= own || state[:own] == s.parking.mark || !strings.HasPrefix(state, parkedMark) {
		return ""
	}
	_, run, _ = s.opts().Nodes.Open(sealedState, state[own:])
	return run
}

// NewID returns an id of something that a handler of Options.Protected or Options.Foreign keeps, which says that this node has it.
func (s *Server) NewID() string { return s.newOwnedID(sealedKept) }

// Elsewhere lets the node that has what an id of NewID names answer a request to such a handler. body
// is what has been read of it; nil means nothing. answered is false if that node is this one or has ended, or the id
// is another. Before an error nothing has been answered: if it is a *toolformat.Error, the request may be sent again,
// else it may have run.
func (s *Server) Elsewhere(w http.ResponseWriter, r *http.Request, id string, body []byte) (answered bool, err error) {
	nodes := s.opts().Nodes
	if nodes == nil || forwarded(r.Context()) {
		return false, nil
	}
	_, run, _ := nodes.Open(sealedKept, id)
	if run == "" {
		return false, nil
	}
	f := s.newForwarding(w, r, CallerOf(r).Principal, nil, body)
	if f.to(run) {
		return true, nil
	}
	if !f.sent && toolformat.AsError(f.lost).Code == toolformat.NotFound {
		return false, nil
	}
	return false, f.lost
}
