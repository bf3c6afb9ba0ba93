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
	principal bridge.Principal
	req       *bridge.Request // which a retry must repeat
	cancel    context.CancelCauseFunc
	reply     chan bridge.Reply
	asked     chan struct{} // a question has come
	expiry    *time.Timer

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

// do carries out a request, or goes on with the call that it is the retry of.
func (p *parking) do(ctx context.Context, who bridge.Principal, req *bridge.Request, lease func() (*view, func(), *toolformat.Error)) bridge.Reply {
	if state, ok := req.Params.Text(wire.RequestState); ok && strings.HasPrefix(state, stateMark) {
		c := p.take(state, who, req)
		if c == nil {
			return invalid("%s: params.requestState is not known here, used, too old, or of another request: call again without it", req.Method)
		}
		c.answer(req.Params.Get(wire.InputResponses))
		return p.wait(ctx, c, req.Back)
	}
	v, done, err := lease()
	if err != nil {
		return bridge.Failed(err)
	}
	return p.begin(ctx, v, done, who, req)
}

// begin starts a call in a goroutine of its own, since it may outlive the request.
func (p *parking) begin(ctx context.Context, v *view, done func(), who bridge.Principal, req *bridge.Request) bridge.Reply {
	params := req.Params.Clone() // its buffer ends with the HTTP request
	run, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	c := &parkedCall{principal: who, cancel: cancel, reply: make(chan bridge.Reply, 1), asked: make(chan struct{}, 1), questions: map[string]*question{}, back: req.Back}
	own := *req
	own.Params, own.Back = &params, c
	c.req = &own
	if !p.start(func() {
		defer done()
		c.reply <- v.source.Do(run, &own)
	}) {
		cancel(errEnded)
		done()
		return bridge.Failed(toolformat.Errorf(toolformat.Unavailable, "the bridge is shutting down"))
	}
	return p.wait(ctx, c, req.Back)
}

// start runs f in a goroutine that close waits for; false when it is too late.
func (p *parking) start(f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.work.Go(f)
	}
	return !p.closed
}

// wait waits until the call has a reply, has been asked something, or its client goes.
func (p *parking) wait(ctx context.Context, c *parkedCall, back bridge.Back) bridge.Reply {
	c.mu.Lock()
	c.back = back
	c.mu.Unlock()
	if reply, ended := ends(ctx, c, c.asked); ended {
		return reply
	}
	gather := time.NewTimer(gatherTime)
	defer gather.Stop()
	if reply, ended := ends(ctx, c, gather.C); ended {
		return reply
	}
	return p.park(c)
}

// ends waits for the call's reply, the end of its client, or something else: it reports
// whether the call has ended.
func ends[T any](ctx context.Context, c *parkedCall, other <-chan T) (bridge.Reply, bool) {
	select {
	case reply := <-c.reply:
		c.cancel(nil)
		return reply, true
	case <-ctx.Done():
		c.cancel(context.Cause(ctx))
		return <-c.reply, true
	case <-other:
		return bridge.Reply{}, false
	}
}

// park keeps the call for a retry and makes the input_required that asks for it.
func (p *parking) park(c *parkedCall) bridge.Reply {
	state := stateMark + newID()
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
		reply := <-c.reply
		reply.Free()
		return bridge.Failed(toolformat.Errorf(toolformat.Unavailable, "too many calls are waiting for an answer of their clients: %d", p.most))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.back = nil
	select {
	case <-c.asked: // they are all in this answer
	default:
	}
	b := []byte(`{"resultType":"input_required","inputRequests":{`)
	for i, key := range slices.SortedFunc(maps.Keys(c.questions), inOrder) {
		q := c.questions[key]
		if i > 0 {
			b = append(b, ',')
		}
		b = wire.AppendString(b, key)
		b = wire.AppendString(append(b, `:{"method":`...), q.method)
		b = append(append(append(b, `,"params":`...), q.params...), '}')
	}
	b = wire.AppendString(append(b, `},"requestState":`...), state)
	reply := bridge.Result(append(b, '}'), nil)
	reply.Modern = true
	return reply
}

// inOrder compares keys of questions by their number.
func inOrder(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

// take takes a parked call off for the retry that names it; nil when it is not the
// caller's, or not the same request.
func (p *parking) take(state string, who bridge.Principal, req *bridge.Request) *parkedCall {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.calls[state]
	if c == nil || c.principal != who {
		return nil
	}
	if digest(req) != digest(c.req) {
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
	c.last++
	key := "input" + strconv.Itoa(c.last)
	c.questions[key] = q
	c.mu.Unlock()
	select {
	case c.asked <- struct{}{}:
	default:
	}
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
