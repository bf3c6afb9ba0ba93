package mcpserver

import (
	"bytes"
	"context"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/bridge/wire/lenient"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// session is one client on one carrier: its identity, its view of the source, and its pending
// requests.
type session struct {
	server    *Server
	id        string
	sender    identity
	token     atomic.Pointer[string] // of its latest request, as identity.token
	account   *account               // of the sender's principal
	back      bridge.Back            // delivers what belongs to no request
	questions questions              // to the client
	views     viewPool               // of the modern era, on a connection that carries both ways

	ctx     context.Context
	cancel  context.CancelCauseFunc
	used    atomic.Int64 // when it was last used, Unix ns
	readers atomic.Int64 // event streams that are being read
	opened  atomic.Pointer[opened]

	initializing atomic.Pointer[chan struct{}] // closed with the pending initialize; nil without one

	journal *journal // streams of an HTTP session; nil on other carriers
	sse     *duplex  // takes the messages posted to an SSE session; nil on other carriers

	movable  atomic.Bool     // another node may go on with it
	repeated map[string]bool // raw ids of requests that may have run before; nil unless a Stream says so

	mu      sync.Mutex                 // guards the fields below
	pending map[string]*pendingRequest // by their raw id
	held    int                        // bytes of what the client has said of itself
	ended   error                      // why; nil while it has not
	lender  Lender                     // nil until the client lends tools
	lent    int                        // bytes of what it lends
	level   string                     // of its log; "" until the client sets it
	hosts   map[string]bool            // runs of other nodes that may answer its calls, or could
	staying bool                       // it was counted by mayStay
	term    context.Context            // of Nodes, in which it is surely this node's while it is movable; else nil
}

// newSession returns a session whose carrier must set back before it is used.
func (s *Server) newSession(sender identity) *session {
	created := &session{server: s, id: newID(), sender: sender, account: s.opts().accounts.of(sender.principal), pending: map[string]*pendingRequest{}}
	created.ctx, created.cancel = context.WithCancelCause(s.ctx)
	created.views.server, created.views.ctx = s, created.ctx
	created.questions.waiting = map[int64]chan bridge.Reply{}
	created.token.Store(&sender.token)
	created.touch()
	return created
}

// opened is what initialize settles.
type opened struct {
	revision string
	source   bridge.Session
}

func (s *session) touch() { s.used.Store(time.Now().UnixNano()) }

// unused returns how long ago the session was used.
func (s *session) unused() time.Duration { return time.Since(time.Unix(0, s.used.Load())) }

// inUse reports whether requests are pending or a stream is being read.
func (s *session) inUse() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pending) > 0 || s.readers.Load() > 0
}

// end cancels the pending requests, which are answered with the reason, and closes the session's view of the source.
func (s *session) end(reason error) {
	s.mu.Lock()
	before, held, lent, lender, pending := s.ended, s.held, s.lent, s.lender, slices.Collect(maps.Values(s.pending))
	if before == nil {
		s.ended = reason
	}
	s.mu.Unlock()
	if before != nil {
		return
	}
	s.account.free(held)
	s.account.free(lent)
	if lender != nil {
		lender.Leave()
	}
	s.cancel(reason)
	for _, p := range pending {
		p.Cancel(reason)
	}
	if s.journal != nil {
		s.journal.end(reason)
	}
	if o := s.opened.Load(); o != nil {
		o.source.Close()
	}
	s.views.close()
}

// accept handles a message that needs no response, and reports false for a request.
func (s *session) accept(m *wire.Message) bool {
	switch m.Kind() {
	case wire.Notification:
		s.notified(m)
	case wire.Response:
		s.questions.answer(m)
	default:
		return false
	}
	return true
}

func (s *session) notified(m *wire.Message) {
	s.touch()
	switch m.Method {
	case wire.NotificationCancelled:
		if id := m.Params.Get(wire.RequestID); !s.cancelRequest(string(id), errCancelled) && s.hosted() {
			raw := bytes.Clone(id)
			s.server.start(func() { s.tellHosts(s.ctx, peerNote{Cancel: raw}) })
		}
	case wire.NotificationInitialized:
	case wire.NotificationProgress, notificationFocused:
		s.tellLender(m)
	default:
		// A request without an id would run where no limit counts it, and hold up the connection.
		if o := s.opened.Load(); o != nil && strings.HasPrefix(m.Method, "notifications/") {
			o.source.Do(s.ctx, &bridge.Request{Method: m.Method, Params: &m.Params})
		}
	}
}

// cancelRequest cancels a pending request by its raw id, and reports whether there is one.
func (s *session) cancelRequest(id string, reason error) bool {
	s.mu.Lock()
	p := s.pending[id]
	s.mu.Unlock()
	if p != nil {
		p.Cancel(reason)
	}
	return p != nil
}

// respond carries out a request under the session's context, ctx. back takes what belongs to it. ok is
// false when the client has canceled the request, so that no response is sent.
func (s *session) respond(ctx context.Context, m *wire.Message, back bridge.Back) (r response, ok bool) {
	p := s.beginRequest(ctx, m, nil)
	return s.carryOut(p, m, back)
}

// beginRequest makes a request pending, unless it refuses it. work, if any, counts it then.
func (s *session) beginRequest(ctx context.Context, m *wire.Message, work *requests) *pendingRequest {
	s.touch()
	p := &pendingRequest{id: string(m.ID), counted: countedAs(m), work: work}
	p.Context = ctx
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended != nil:
		p.refused = unavailable("%v", s.ended)
	case s.pending[p.id] != nil:
		p.refused = invalid("a request with id %.40s is pending already", p.id)
	case len(s.pending) >= s.server.opts().CallsPerSession:
		p.refused = unavailable("too many pending requests: %d (limits.callsPerSession in the config)", len(s.pending))
	case !s.account.take(p.counted, 1):
		p.refused = s.account.exhausted("pending requests", p.counted)
	case s.server.finishing.Load() && begins(m): // it is counted before, so that no other is once Pending is 0
		s.account.give(p.counted, 1)
		p.refused = unavailable("%v", errFinishing)
	default:
		s.pending[p.id] = p
		if work != nil {
			work.Add(1)
		}
	}
	return p
}

func (s *session) carryOut(p *pendingRequest, m *wire.Message, back bridge.Back) (r response, ok bool) {
	if p.refused != nil {
		if x, ok := back.(*exchange); ok && x.repeated || s.isRepeated(m) { // it may even run still
			p.refused = unknownOutcome(m.Method)
		} else {
			p.refused.NotRun = true
		}
		return response{id: m.ID, reply: bridge.Failed(p.refused)}, true
	}
	defer s.endRequest(p)
	r = response{id: m.ID, reply: s.dispatch(p, m, back)}
	return r, s.server.settle(p.Ended(), m, &r.reply)
}

func (s *session) endRequest(p *pendingRequest) {
	s.mu.Lock()
	delete(s.pending, p.id)
	s.mu.Unlock()
	s.touch()
	s.account.give(p.counted, 1)
	p.Cancel(errAnswered)
}

// dispatch answers the protocol's own methods and hands the rest to the source.
func (s *session) dispatch(ctx context.Context, m *wire.Message, back bridge.Back) bridge.Reply {
	if s.movable.Load() && binds(m) {
		if err := s.bind(ctx); err != nil {
			return bridge.Failed(err)
		}
	}
	if m.Method == methodLend {
		return s.lend(ctx, m)
	}
	if isModern(m) {
		return s.views.respond(ctx, &modernCall{sender: s.sender, msg: m, back: back, repeated: s.isRepeated(m)})
	}
	switch m.Method {
	case wire.MethodPing:
		return bridge.Result([]byte("{}"), nil)
	case wire.MethodInitialize:
		return s.initialize(ctx, m)
	}
	o := s.awaitOpened(ctx)
	kind, lists := bridge.ListKindOf(m.Method)
	switch {
	case m.Method == wire.MethodDiscover, m.Method == wire.MethodListen:
		return bridge.Failed(methodNotFound(m)) // of the modern era
	case o == nil:
		return bridge.Failed(invalid("%s before initialize: send initialize first", m.Method))
	case lists:
		return listPage(ctx, o.source, kind, m, true)
	}
	req := &bridge.Request{Method: m.Method, Params: &m.Params, Back: back}
	req.Take, _ = back.(bridge.Taker)
	repeated := s.isRepeated(m)
	x, posted := back.(*exchange)
	if posted {
		req.Key = x.key
		repeated = repeated || x.repeated
	}
	if err := setTarget(req); err != nil {
		return bridge.Failed(err)
	}
	if repeated && !mayRepeat(ctx, o.source, req) {
		return bridge.Failed(unknownOutcome(req.Method + " " + req.Target))
	}
	if m.Method == wire.MethodSetLevel {
		return s.setLevel(ctx, o, req)
	}
	if posted && m.Method == wire.MethodTasksResult {
		defer s.journal.awaitsResult(x)()
	}
	reply := o.source.Do(ctx, req)
	if posted && x.early.taken > 0 {
		return reply // its client has got the beginning
	}
	return forLegacy(reply)
}

// isRepeated reports whether a request may have run before: a Stream says so, or its sender, which has
// lost the connection on which it sent it first.
func (s *session) isRepeated(m *wire.Message) bool {
	return s.repeated[string(m.ID)] || string(m.Params.Get(wire.MetaRepeated)) == "true"
}

// beginInitialize makes requests that follow an initialize wait until done is called.
func (s *session) beginInitialize() (done func()) {
	initializing := make(chan struct{})
	if !s.initializing.CompareAndSwap(nil, &initializing) {
		return func() {} // they wait for another one already
	}
	return func() {
		s.initializing.Store(nil)
		close(initializing)
	}
}

// awaitOpened waits for a pending initialize and returns what it has settled; nil if the client has
// not sent one, or it failed.
func (s *session) awaitOpened(ctx context.Context) *opened {
	if initializing := s.initializing.Load(); initializing != nil {
		select {
		case <-*initializing:
		case <-ctx.Done():
		}
	}
	return s.opened.Load()
}

// initialize opens the source for the client and describes it.
func (s *session) initialize(ctx context.Context, m *wire.Message) bridge.Reply {
	asked, ok := wire.Text(wire.Lookup(m.Params.Raw, "protocolVersion"))
	switch {
	case s.opened.Load() != nil:
		return bridge.Failed(invalid("this session is initialized already"))
	case !ok:
		return bridge.Failed(invalid("initialize: params.protocolVersion is missing or not a string"))
	}
	capabilities := wire.Lookup(m.Params.Raw, "capabilities")
	info := clientInfo(wire.Lookup(m.Params.Raw, "clientInfo"))
	if err := checkCapabilities(m, capabilities); err != nil {
		return bridge.Failed(err)
	}
	kept, size := false, len(capabilities)+len(info)
	if !s.account.hold(size) {
		return bridge.Failed(s.account.exhausted("bytes in flight", heldBytes))
	}
	defer func() {
		if !kept {
			s.account.free(size)
		}
	}()
	revision := wire.Negotiate(asked)
	source, failure := s.open(ctx, revision, capabilities, info)
	if failure != nil {
		return bridge.Failed(failure)
	}
	reply := source.Do(ctx, &bridge.Request{Method: wire.MethodDiscover})
	if reply.Err != nil { // the client may try again
		source.Close()
		return reply
	}
	defer reply.Free()
	o := &opened{revision: revision, source: source}
	s.mu.Lock()
	if kept = s.ended == nil && s.opened.CompareAndSwap(nil, o); kept {
		s.held = size
	}
	s.mu.Unlock()
	if !kept {
		source.Close()
		return bridge.Failed(invalid("this session is initialized already, or has ended"))
	}
	return bridge.Result(wire.SetMember(reply.Result, "protocolVersion", wire.AppendString(nil, revision)), nil)
}

// open opens the source for the client, as its initialize has described it.
func (s *session) open(ctx context.Context, revision string, capabilities, info []byte) (bridge.Session, *toolformat.Error) {
	caller := s.sender.caller()
	if caller.Token != nil {
		caller.Token = func() string { return *s.token.Load() }
	}
	caller.ID, caller.Notify, caller.Ask = s.id, s.back.Notify, s.back.Ask
	caller.Info, caller.Capabilities = bytes.Clone(info), bytes.Clone(capabilities)
	caller.Revision = revision
	return s.server.open(ctx, s.views.source, &caller)
}

// revision returns the negotiated protocol revision, "" before initialize.
func (s *session) revision() string {
	if o := s.opened.Load(); o != nil {
		return o.revision
	}
	return ""
}

// questions holds the requests sent to a client that wait for its response.
type questions struct {
	mark string // begins their ids, which say which node has asked for a guest; else ""

	mu      sync.Mutex // guards the fields below
	last    int64      // id
	waiting map[int64]chan bridge.Reply
}

// id returns the raw id of a question.
func (q *questions) id(number int64) []byte {
	if q.mark == "" {
		return strconv.AppendInt(nil, number, 10)
	}
	return wire.AppendString(nil, q.mark+strconv.FormatInt(number, 10))
}

// number returns the number of the question with a raw id: 0, which none has, for any other id.
func (q *questions) number(id []byte) int64 {
	if text, ok := wire.Text(id); ok && q.mark != "" {
		number, _ := strings.CutPrefix(text, q.mark)
		id = []byte(number)
	}
	number, _ := strconv.ParseInt(string(id), 10, 64)
	return number
}

// answer delivers a copy of a client's response to the question that waits for it, if any.
func (q *questions) answer(m *wire.Message) {
	id := q.number(m.ID)
	q.mu.Lock()
	defer q.mu.Unlock()
	switch waiting := q.waiting[id]; {
	case waiting == nil:
	case m.Error != nil:
		failure := bridge.RemoteError(bytes.Clone(m.Error))
		failure.Code = toolformat.Internal // a client's word for it decides nothing
		waiting <- bridge.Failed(failure)
	default:
		waiting <- bridge.Result(bytes.Clone(m.Result), nil)
	}
	delete(q.waiting, id)
}

// fail ends the question that is answered by a message that cannot be used, of which head is the
// beginning and tail the end: the one that it names, or the only one. It reports whether the message is
// an answer, which has no answer itself.
func (q *questions) fail(head, tail []byte, why error) bool {
	raw, is := lenient.Envelope(head, tail)
	if is == lenient.Request {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	id := q.number(raw)
	if raw == nil && is == lenient.Answer && len(q.waiting) == 1 {
		for id = range q.waiting {
		}
	}
	waiting := q.waiting[id]
	if waiting != nil {
		waiting <- bridge.Failed(toolformat.Errorf(toolformat.Internal, "the client sent an answer that is not valid: %v", why))
		delete(q.waiting, id)
	}
	return waiting != nil || is == lenient.Answer
}

// ask sends a request to the client through an outbox and waits for its response.
func (s *session) ask(ctx context.Context, box *outbox, method string, params []byte) ([]byte, *toolformat.Error) {
	if !s.account.hold(len(params)) { // by the source, until there is an answer
		return nil, s.account.exhausted("bytes in flight", heldBytes)
	}
	defer s.account.free(len(params))
	q, answer := &s.questions, make(chan bridge.Reply, 1)
	q.mu.Lock()
	q.last++
	id := q.last
	q.waiting[id] = answer
	q.mu.Unlock()
	defer func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.waiting, id)
	}()
	named := q.id(id)
	box.send(&wire.Buffer{B: wire.AppendCall(nil, named, method, params)})
	select {
	case reply := <-answer:
		return reply.Result, reply.Err
	case <-ctx.Done():
		box.Notify(wire.NotificationCancelled, append(append([]byte(`{"requestId":`), named...), '}'))
		return nil, toolformat.Errorf(toolformat.Canceled, "canceled")
	case <-s.ctx.Done():
	case <-box.done: // nothing can be sent any more
	}
	gone := "the client has gone"
	if _, reason := closeReason(box.reason()); reason != "" {
		gone += ": " + reason
	}
	return nil, unavailable("%s", gone).Because(net.ErrClosed)
}
