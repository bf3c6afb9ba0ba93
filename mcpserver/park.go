package mcpserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const (
	parkTime   = 5 * time.Minute
	maxParked  = 1000
	gatherTime = 20 * time.Millisecond // questions asked within it become one input_required
)

// parkedMark begins the marks of all processes.
const parkedMark = "mcpbridge."

// newParking returns a parking whose marks are unlike those of any other process.
func newParking() parking {
	return parking{mark: parkedMark + newID()[:8] + ".", life: parkTime, calls: map[string]*parkedCall{}}
}

// parking holds the calls of modern clients that are asked something by a source of the legacy
// era. The call goes on while its client gets the questions as an input_required; the retry with
// the answers finds the call again. A parked call ends with its client's retry, with its time, or
// with its client's connection or credentials.
type parking struct {
	mark string        // begins each requestState, and tells it from those of other bridges
	life time.Duration // how long a call stays parked

	mu     sync.Mutex             // guards the fields below
	calls  map[string]*parkedCall // parked, by requestState
	closed bool
}

// parkedCall is a call that may ask its caller something.
type parkedCall struct {
	views  *viewPool
	view   *view // leased to the call
	req    *bridge.Request
	params *wire.Buffer    // a copy: those of an HTTP request end with it
	ctx    context.Context // of the call, which may outlive each of its requests
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when reply is set
	reply  bridge.Reply
	wake   chan struct{} // holds a token when there is a new question
	expiry *time.Timer
	digest [sha256.Size]byte // of what a retry must repeat; set when the call is parked

	mu        sync.Mutex  // guards the fields below
	back      bridge.Back // of the request that waits for the call; nil while it is parked
	asked     int         // questions so far
	questions []*question // without an answer
}

type question struct {
	key, method string
	params      []byte
	answer      chan []byte
}

// do carries out a request, or continues the call that it retries. The buffer must be freed when
// the reply has been used.
func (p *parking) do(ctx context.Context, views *viewPool, key viewKey, req *bridge.Request, level wire.LogLevel) (bridge.Reply, *wire.Buffer) {
	if state, ok := req.Params.Text(wire.RequestState); ok && strings.HasPrefix(state, p.mark) {
		c := p.unpark(state, key.sender, req)
		if c == nil {
			return bridge.Failed(invalid("%s: params.requestState is unknown, used, too old, or of another request: call again without it", req.Method)), nil
		}
		c.resume(&retryBack{req.Back, bytes.Clone(req.Params.Get(wire.MetaProgressToken))}, req.Params.Get(wire.InputResponses))
		return p.wait(ctx, c)
	}
	v, err := views.claim(ctx, key, true)
	if err != nil {
		return bridge.Failed(err), nil
	}
	if !v.account.hold(len(req.Params.Raw)) {
		views.release(v, true)
		return bridge.Failed(v.account.exhausted("bytes in flight", heldBytes)), nil
	}
	v.lowerLevel(ctx, level)
	c := &parkedCall{
		views: views, view: v, req: req, back: req.Back, params: wire.NewBuffer(len(req.Params.Raw)),
		done: make(chan struct{}), wake: make(chan struct{}, 1),
	}
	c.params.B = append(c.params.B, req.Params.Raw...)
	own := *req.Params // the message is gone when the call is parked
	own.Raw = c.params.B
	req.Params, req.Back = &own, c
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	p.mu.Lock()
	closed := p.closed
	if !closed {
		views.server.work.Add(1)
	}
	p.mu.Unlock()
	if closed {
		c.cancel(errEnded)
		c.leave()
		return bridge.Failed(shuttingDown(nil)), c.params
	}
	go c.carryOut()
	return p.wait(ctx, c)
}

func (c *parkedCall) carryOut() {
	defer c.views.server.work.Done()
	c.reply = c.views.do(c.ctx, c.view, c.req)
	c.leave() // before its client can call again
	close(c.done)
}

// leave ends the lease, and what the copy of the params holds is no longer counted.
func (c *parkedCall) leave() {
	c.view.account.free(len(c.params.B))
	c.views.release(c.view, true)
}

// wait waits until the call ends, with or without its client, or asks something.
func (p *parking) wait(ctx context.Context, c *parkedCall) (bridge.Reply, *wire.Buffer) {
	wake, gathered := c.wake, (<-chan time.Time)(nil)
	for {
		select {
		case <-c.done:
			c.cancel(nil)
			return c.reply, c.params
		case <-ctx.Done():
			c.cancel(context.Cause(ctx))
			<-c.done
			return c.reply, c.params
		case <-wake:
			wake, gathered = nil, time.After(gatherTime)
		case <-gathered:
			wake, gathered = c.wake, nil
			if requests := c.inputRequests(); requests != nil {
				return p.park(c, requests), nil
			}
		}
	}
}

// park keeps the call for a retry and returns the input_required that asks for one.
func (p *parking) park(c *parkedCall, requests []byte) bridge.Reply {
	state := p.mark + c.views.server.newOwnedID(sealedState)
	c.digest = digest(c.req)
	p.mu.Lock()
	full := p.closed || !c.view.account.take(parkedCalls, 1)
	if !full {
		p.calls[state] = c
		c.expiry = time.AfterFunc(p.life, func() { p.expire(state) })
	}
	p.mu.Unlock()
	if full {
		c.cancel(errEnded)
		<-c.done
		c.reply.Free()
		return bridge.Failed(c.view.account.exhausted("calls that wait for answers of their clients", parkedCalls))
	}
	if c.views.isClosed() { // meanwhile, with its connection
		p.expire(state)
	}
	b := append(append([]byte(`{"resultType":"input_required","inputRequests":`), requests...), `,"requestState":`...)
	reply := bridge.Result(append(wire.AppendString(b, state), '}'), nil)
	reply.Modern = true
	return reply
}

// inputRequests encodes the open questions as inputRequests and marks the call as parked; nil
// means that all questions have been withdrawn.
func (c *parkedCall) inputRequests() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.wake: // all questions are in this answer
	default:
	}
	if len(c.questions) == 0 {
		return nil
	}
	c.back = nil
	b := []byte("{")
	for i, q := range c.questions {
		if i > 0 {
			b = append(b, ',')
		}
		b = wire.AppendString(b, q.key)
		b = wire.AppendString(append(b, `:{"method":`...), q.method)
		b = append(append(append(b, `,"params":`...), q.params...), '}')
	}
	return append(b, '}')
}

// unpark removes a parked call for the retry that names it; nil means that there is no such call
// of this caller and request.
func (p *parking) unpark(state string, sender identity, req *bridge.Request) *parkedCall {
	own := digest(req) // outside of the lock
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.calls[state]
	if c == nil || c.view.key.sender.anyToken() != sender.anyToken() || c.digest != own {
		return nil
	}
	p.remove(state, c)
	c.expiry.Stop()
	c.view.token.Store(&sender.token)
	return c
}

// remove removes a parked call; p.mu is held.
func (p *parking) remove(state string, c *parkedCall) {
	delete(p.calls, state)
	c.view.account.give(parkedCalls, 1)
}

func (p *parking) expire(state string) {
	p.mu.Lock()
	c := p.calls[state]
	if c != nil {
		p.remove(state, c)
	}
	p.mu.Unlock()
	if c != nil {
		c.cancel(errEnded)
	}
}

// close ends every parked call, and keeps others from being parked.
func (p *parking) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.end(func(*parkedCall) bool { return true })
}

// end ends the parked calls whose clients are gone.
func (p *parking) end(gone func(*parkedCall) bool) {
	var ended []*parkedCall
	p.mu.Lock()
	for state, c := range p.calls {
		if gone(c) {
			p.remove(state, c)
			ended = append(ended, c)
		}
	}
	p.mu.Unlock()
	for _, c := range ended {
		c.expiry.Stop()
		c.cancel(errEnded)
	}
}

// digest identifies a request by everything that a retry repeats.
func digest(req *bridge.Request) [sha256.Size]byte {
	b := append([]byte(req.Method), 0)
	return sha256.Sum256(req.Params.Append(b, wire.Edit{Key: wire.Meta}, wire.Edit{Key: wire.InputResponses}, wire.Edit{Key: wire.RequestState}))
}

// Notify implements bridge.Back: to the request that waits for the call.
func (c *parkedCall) Notify(method string, params []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.back != nil {
		c.back.Notify(method, params)
	}
}

// retryBack is the Back of a retry. The client knows the progress of the call by its token, not by that of the request
// before.
type retryBack struct {
	bridge.Back
	token []byte // raw; nil if the client wants to know no progress
}

// Notify implements bridge.Back.
func (b *retryBack) Notify(method string, params []byte) {
	if method == wire.NotificationProgress {
		if b.token == nil {
			return
		}
		params = wire.SetMember(params, wire.ProgressToken.String(), b.token)
	}
	b.Back.Notify(method, params)
}

// mayRequireInput reports whether the result of a method may be input_required (2026-07-28, MRTR).
func mayRequireInput(method string) bool {
	return method == wire.MethodToolsCall || method == wire.MethodPromptsGet || method == wire.MethodResourcesRead
}

// Ask implements bridge.Back: the call is parked with the question until a retry answers it.
func (c *parkedCall) Ask(ctx context.Context, method string, params []byte) ([]byte, *toolformat.Error) {
	if !mayRequireInput(c.req.Method) {
		return nil, unavailable("a client of revision %s cannot be asked anything during %.80s", wire.ModernRevision, c.req.Method)
	}
	held := 2 * len(params) // by the source and in the question, until there is an answer
	if !c.view.account.hold(held) {
		return nil, c.view.account.exhausted("bytes in flight", heldBytes)
	}
	defer c.view.account.free(held)
	q := &question{method: method, params: bytes.Clone(params), answer: make(chan []byte, 1)}
	if params == nil {
		q.params = []byte("{}") // some SDKs fail without params
	}
	c.mu.Lock()
	c.asked++
	q.key = "input" + strconv.Itoa(c.asked)
	c.questions = append(c.questions, q)
	c.signal() // with c.mu held: inputRequests must not see the question before
	c.mu.Unlock()
	select {
	case answer := <-q.answer:
		return answer, nil
	case <-ctx.Done():
		c.mu.Lock()
		c.questions = slices.DeleteFunc(c.questions, func(other *question) bool { return other == q })
		c.mu.Unlock()
		return nil, toolformat.Errorf(toolformat.Canceled, "canceled")
	}
}

// resume delivers the answers of a retry, which gets what belongs to the call from then on. Questions without an answer
// are asked again.
func (c *parkedCall) resume(back bridge.Back, responses []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.back = back
	for key, raw := range wire.Members(responses) {
		if i := slices.IndexFunc(c.questions, func(q *question) bool { return q.key == key }); i >= 0 {
			c.questions[i].answer <- bytes.Clone(raw)
			c.questions = slices.Delete(c.questions, i, i+1)
		}
	}
	if len(c.questions) > 0 {
		c.signal()
	}
}

func (c *parkedCall) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}
