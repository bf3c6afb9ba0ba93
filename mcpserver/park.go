package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"maps"
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
	stateMark  = "mcpbridge." // begins the requestState of a call parked here
	parkTime   = 5 * time.Minute
	maxParked  = 1000
	gatherTime = 20 * time.Millisecond // questions asked side by side become one input_required
)

// parking holds the calls of modern clients that a source of the legacy era has asked
// something: the call goes on, the client gets its questions as an input_required, and
// its retry with the answers finds the call again. A parked call ends with its client's
// answer, with its time, or with the server.
type parking struct {
	life time.Duration  // how long a call is parked at most
	most int            // parked calls at once
	work sync.WaitGroup // calls

	mu     sync.Mutex // guards what follows
	calls  map[string]*parkedCall
	closed bool
}

// parkedCall is one call that may be asked something on its way.
type parkedCall struct {
	views  *views
	view   *view // leased to it
	req    *bridge.Request
	buffer *wire.Buffer    // of its params: that of an HTTP request ends with it
	run    context.Context // of the call, which may outlive each of its requests
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when there is a reply
	reply  bridge.Reply
	asked  chan struct{} // a question has come
	expiry *time.Timer
	digest [sha256.Size]byte // of what a retry must repeat; set when it parks

	mu        sync.Mutex  // guards what follows
	back      bridge.Back // of the request that waits for the call now; nil: it is parked
	last      int
	questions map[string]*question // those without an answer, by their key
}

type question struct {
	method string
	params []byte
	answer chan []byte
}

// do carries out a request, or goes on with the call that it is the retry of. The buffer
// must be freed when the reply has been used.
func (p *parking) do(ctx context.Context, vs *views, key viewKey, req *bridge.Request, level wire.LogLevel) (bridge.Reply, *wire.Buffer) {
	if state, ok := req.Params.Text(wire.RequestState); ok && strings.HasPrefix(state, stateMark) {
		c := p.take(state, key.who, req)
		if c == nil {
			return invalid("%s: params.requestState is not known here, used, too old, or of another request: call again without it", req.Method), nil
		}
		c.answer(req.Params.Get(wire.InputResponses))
		return p.wait(ctx, c, req.Back)
	}
	v, err := vs.lease(ctx, key)
	if err != nil {
		return bridge.Failed(err), nil
	}
	v.setLevel(ctx, level)
	back := req.Back
	c := &parkedCall{views: vs, view: v, req: req, back: back, buffer: wire.NewBuffer(len(req.Params.Raw)), done: make(chan struct{}), asked: make(chan struct{}, 1)}
	c.buffer.B = append(c.buffer.B, req.Params.Raw...)
	req.Params.Raw, req.Back = c.buffer.B, c
	c.run, c.cancel = context.WithCancelCause(context.Background())
	if !p.start(c) {
		c.cancel(errEnded)
		vs.leave(v, true)
		return bridge.Failed(toolformat.Errorf(toolformat.Unavailable, "the bridge is shutting down")), c.buffer
	}
	return p.wait(ctx, c, back)
}

// start carries out a call in a goroutine that close waits for; false when it is too
// late.
func (p *parking) start(c *parkedCall) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.work.Add(1)
		go p.carryOut(c)
	}
	return !p.closed
}

func (p *parking) carryOut(c *parkedCall) {
	defer p.work.Done()
	c.reply = c.views.do(c.run, c.view, c.req)
	c.views.leave(c.view, true) // before its client can call again
	close(c.done)
}

// wait waits until the call has a reply, has been asked something, or its client goes.
func (p *parking) wait(ctx context.Context, c *parkedCall, back bridge.Back) (bridge.Reply, *wire.Buffer) {
	c.mu.Lock()
	c.back = back
	c.mu.Unlock()
	for {
		if reply, ended := ends(ctx, c, c.asked); ended {
			return reply, c.buffer
		}
		gather := time.NewTimer(gatherTime)
		reply, ended := ends(ctx, c, gather.C)
		gather.Stop()
		if ended {
			return reply, c.buffer
		}
		if requests := c.put(); requests != nil {
			return p.park(c, requests), nil
		}
	}
}

// ends waits for the call's reply, the end of its client, or something else: it reports
// whether the call has ended.
func ends[T any](ctx context.Context, c *parkedCall, other <-chan T) (bridge.Reply, bool) {
	select {
	case <-c.done:
		c.cancel(nil)
		return c.reply, true
	case <-ctx.Done():
		c.cancel(context.Cause(ctx))
		<-c.done
		return c.reply, true
	case <-other:
		return bridge.Reply{}, false
	}
}

// park keeps the call for a retry and makes the input_required that asks for it.
func (p *parking) park(c *parkedCall, requests []byte) bridge.Reply {
	state := stateMark + newID()
	c.digest = digest(c.req)
	p.mu.Lock()
	full := p.closed || len(p.calls) >= p.most
	if !full {
		if p.calls == nil {
			p.calls = map[string]*parkedCall{}
		}
		p.calls[state] = c
		c.expiry = time.AfterFunc(p.life, func() { p.expire(state) })
	}
	p.mu.Unlock()
	if full {
		c.cancel(errEnded)
		<-c.done
		c.reply.Free()
		return bridge.Failed(toolformat.Errorf(toolformat.Unavailable, "too many calls are waiting for an answer of their clients: %d", p.most))
	}
	b := append(append([]byte(`{"resultType":"input_required","inputRequests":`), requests...), `,"requestState":`...)
	reply := bridge.Result(append(wire.AppendString(b, state), '}'), nil)
	reply.Modern = true
	return reply
}

// put makes the inputRequests of all questions that there are, and nobody waits for the call
// from then on; nil when they have all been withdrawn.
func (c *parkedCall) put() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.asked: // they are all in this answer
	default:
	}
	if len(c.questions) == 0 {
		return nil
	}
	c.back = nil
	b := []byte("{")
	for i, key := range slices.SortedFunc(maps.Keys(c.questions), inOrder) {
		q := c.questions[key]
		if i > 0 {
			b = append(b, ',')
		}
		b = wire.AppendString(b, key)
		b = wire.AppendString(append(b, `:{"method":`...), q.method)
		b = append(append(append(b, `,"params":`...), q.params...), '}')
	}
	return append(b, '}')
}

// inOrder compares keys of questions by their number.
func inOrder(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

// take takes a parked call off for the retry that names it; nil when it is not the
// caller's, or not the same request.
func (p *parking) take(state string, who identity, req *bridge.Request) *parkedCall {
	own := digest(req) // here, not while all others wait
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.calls[state]
	if c == nil || c.view.key.who != who || c.digest != own {
		return nil
	}
	delete(p.calls, state)
	c.expiry.Stop()
	return c
}

func (p *parking) expire(state string) {
	p.mu.Lock()
	c := p.calls[state]
	delete(p.calls, state)
	p.mu.Unlock()
	if c != nil {
		c.cancel(errEnded)
	}
}

// close ends every parked call and waits until none is left. Those that a request waits
// for must have been cancelled.
func (p *parking) close() {
	defer p.work.Wait()
	p.mu.Lock()
	all := p.calls
	p.calls, p.closed = nil, true
	p.mu.Unlock()
	for _, c := range all {
		c.expiry.Stop()
		c.cancel(errEnded)
	}
}

// digest tells one request from another: all of it that a retry repeats.
func digest(req *bridge.Request) [sha256.Size]byte {
	b := append([]byte(req.Method), 0)
	return sha256.Sum256(req.Params.Append(b, wire.Edit{Key: wire.Meta}, wire.Edit{Key: wire.InputResponses}, wire.Edit{Key: wire.RequestState}))
}

// Notify passes what belongs to the call to the request that waits for it now.
func (c *parkedCall) Notify(method string, params []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.back != nil {
		c.back.Notify(method, params)
	}
}

// Ask parks the call with a question until a retry brings the answer.
func (c *parkedCall) Ask(ctx context.Context, method string, params []byte) ([]byte, *toolformat.Error) {
	q := &question{method: method, params: bytes.Clone(params), answer: make(chan []byte, 1)}
	if params == nil {
		q.params = []byte("{}") // some SDKs fail without
	}
	c.mu.Lock()
	if c.questions == nil {
		c.questions = map[string]*question{}
	}
	c.last++
	key := "input" + strconv.Itoa(c.last)
	c.questions[key] = q
	select {
	case c.asked <- struct{}{}: // before the question can be put
	default:
	}
	c.mu.Unlock()
	select {
	case answer := <-q.answer:
		return answer, nil
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.questions, key)
		c.mu.Unlock()
		return nil, toolformat.Errorf(toolformat.Canceled, "cancelled")
	}
}

// answer hands the answers of a retry to their questions. Questions without an answer
// are asked again.
func (c *parkedCall) answer(responses []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, raw := range wire.Members(responses) {
		if q := c.questions[key]; q != nil {
			delete(c.questions, key)
			q.answer <- bytes.Clone(raw)
		}
	}
	if len(c.questions) > 0 {
		select {
		case c.asked <- struct{}{}:
		default:
		}
	}
}
