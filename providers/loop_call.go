package providers

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// execute runs the calls that have no result yet. After it each has one, or waits.
func (r *runner) execute(calls []*roundCall) {
	var batch []*roundCall
	for _, c := range calls {
		switch {
		case c.result != nil && !c.earlier:
			r.emit(Event{Type: EventToolResult, Call: c.call, Result: resultPart(c.call, c.result).Result})
		case c.result != nil, c.waits:
		case modifies(c.tool):
			r.runParallel(batch)
			r.runParallel([]*roundCall{c})
			batch = nil
		default:
			batch = append(batch, c)
		}
	}
	r.runParallel(batch)
}

// runParallel runs calls in parallel, except that those whose tools match the same serial
// glob run in order. Their events are emitted from this goroutine.
func (r *runner) runParallel(calls []*roundCall) {
	if len(calls) == 0 {
		return
	}
	groups := r.serialGroups(calls)
	next := make(chan []*roundCall, len(groups))
	for _, group := range groups {
		next <- group
	}
	close(next)
	events := newEventQueue()
	var workers sync.WaitGroup
	for range min(r.limits.Parallel, len(groups)) {
		workers.Go(func() {
			for group := range next {
				for _, c := range group {
					r.call(c, events)
				}
			}
		})
	}
	events.deliver(r.emit, len(calls))
	workers.Wait()
}

// serialGroups groups calls by the serial glob that their tools match. A call without one is
// a group of its own.
func (r *runner) serialGroups(calls []*roundCall) [][]*roundCall {
	var groups [][]*roundCall
	index := map[int]int{} // of the group of a glob
	for _, c := range calls {
		glob := slices.IndexFunc(r.task.Options.Serial, func(glob string) bool {
			ok, _ := bridge.Match(glob, c.tool.Name)
			return ok
		})
		if i, ok := index[glob]; ok && glob >= 0 {
			groups[i] = append(groups[i], c)
			continue
		}
		index[glob] = len(groups)
		groups = append(groups, []*roundCall{c})
	}
	return groups
}

// call gives a call its result.
func (r *runner) call(c *roundCall, events *eventQueue) {
	if r.ctx.Err() != nil {
		c.result = failed("canceled: it was not run")
	} else {
		events.add(Event{Type: EventToolStart, Call: c.call})
		c.started = time.Now()
		c.result = r.callSource(c, events)
		c.took = time.Since(c.started)
	}
	done := Event{Type: EventToolResult, Call: c.call, Result: resultPart(c.call, c.result).Result, Took: c.took}
	done.Server, done.Tool = r.selectedFrom(c.call.Name)
	events.add(done)
}

// canceledText is the result of a call that was canceled while it ran, or may have run.
const canceledText = "canceled: the result did not arrive, and the call may have had effects"

var errTimeout = errors.New("the call timed out")

// grace bounds how long a source may take to end a canceled call.
const grace = 5 * time.Second

// callSource makes the call. It returns a result whatever the source does.
func (r *runner) callSource(c *roundCall, events *eventQueue) *toolformat.Result {
	req, err := toolsCall(c)
	if err != nil {
		return failed(err.Error())
	}
	ctx, cancel := context.WithCancelCause(bridge.InTurn(r.ctx, r.run.Request, max(0, r.run.Turns-1)))
	defer cancel(nil)
	p := &callInProgress{runner: r, call: c, events: events}
	p.timer.Start(r.limits.Timeout, r.limits.MaxTimeout, func() { cancel(errTimeout) })
	defer p.end()
	req.Back, req.Model, req.Approved = p, r.modelID(), c.approved
	done := make(chan bridge.Reply, 1)
	r.running.Go(func() { done <- r.do(ctx, req) })
	select {
	case reply := <-done:
		return p.result(ctx, reply)
	case <-ctx.Done():
	}
	patience := time.NewTimer(grace)
	defer patience.Stop()
	select {
	case reply := <-done:
		return p.result(ctx, reply)
	case <-patience.C:
		r.abandoned.Store(true)
		r.log.Error("a source ignores cancellation: its call is abandoned", "tool", c.call.Name)
		return p.result(ctx, bridge.Failed(toolformat.Errorf(toolformat.Canceled, "canceled")))
	}
}

// do is the source's Do, with an error for a panic.
func (r *runner) do(ctx context.Context, req *bridge.Request) (reply bridge.Reply) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("a source panicked", "tool", req.Target, "panic", p, "stack", string(debug.Stack()))
			reply = bridge.Failed(toolformat.AsError(fmt.Errorf("panic: %v", p)))
		}
	}()
	return r.source.Do(ctx, req)
}

// toolsCall returns the tools/call request of a call. The call's id is the progress token.
func toolsCall(c *roundCall) (*bridge.Request, error) {
	b := append(make([]byte, 0, len(c.arguments)+128), `{"name":`...)
	b = append(wire.AppendString(b, c.tool.Name), `,"arguments":`...)
	b = append(append(b, c.arguments...), `,"_meta":{"progressToken":`...)
	b = append(wire.AppendString(b, c.call.ID), "}}"...)
	params, err := wire.SplitParams(b)
	if err != nil {
		return nil, fmt.Errorf("invalid arguments for tool %s: %w", c.tool.Name, err)
	}
	return &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: c.tool.Name}, nil
}

// A callInProgress is the Back of a call: what its source sends and asks while it runs.
type callInProgress struct {
	runner *runner
	call   *roundCall
	events *eventQueue
	timer  bridge.Timer

	mu    sync.Mutex // guards ended
	ended bool
}

func (p *callInProgress) end() {
	p.timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
}

// minErrorChars is how much of an error the model gets, however low Limits.Output is: it has
// to act on it.
const minErrorChars = 1000

// result returns what the model gets for a reply.
func (p *callInProgress) result(ctx context.Context, reply bridge.Reply) *toolformat.Result {
	r, name := p.runner, p.call.call.Name
	switch {
	case reply.Err == nil:
		return r.usable(&toolformat.Result{JSON: reply.Result})
	case errors.Is(context.Cause(r.ctx), errTime):
		return failed("canceled: the run reached its time limit")
	case r.ctx.Err() != nil:
		return failed(canceledText)
	case !errors.Is(context.Cause(ctx), errTimeout):
		return failed(r.errorText(p.call, reply.Err)).Truncate(max(r.limits.Output, minErrorChars))
	case p.timer.AtMaximum():
		return failed(fmt.Sprintf("tool %s timed out after %s", name, r.limits.MaxTimeout))
	}
	return failed(fmt.Sprintf("tool %s timed out: no result or progress for %s", name, r.limits.Timeout))
}

// Notify implements bridge.Back.
func (p *callInProgress) Notify(method string, params []byte) {
	if method != wire.NotificationProgress {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.timer.Extend()
	e := Event{Type: EventToolProgress, Call: p.call.call}
	e.Progress, _ = strconv.ParseFloat(string(wire.Lookup(params, "progress")), 64)
	e.Total, _ = strconv.ParseFloat(string(wire.Lookup(params, "total")), 64)
	e.Text, _ = wire.Text(wire.Lookup(params, "message"))
	p.events.add(e)
}

// Ask implements bridge.Back. The time that a person takes counts towards no limit.
func (p *callInProgress) Ask(ctx context.Context, method string, params []byte) ([]byte, *toolformat.Error) {
	ask := p.runner.caller.Ask
	if ask == nil {
		return nil, toolformat.Errorf(toolformat.Unsupported, "the caller cannot be asked: %s", method)
	}
	p.timer.Hold()
	defer p.timer.Release()
	p.runner.timer.Hold()
	defer p.runner.timer.Release()
	return ask(ctx, method, params)
}

// An eventQueue takes the events of calls that run in parallel, so that one goroutine can
// emit them in order. To add an event never blocks.
type eventQueue struct {
	ready chan struct{} // holds one when there are events

	mu     sync.Mutex // guards events
	events []Event
}

func newEventQueue() *eventQueue { return &eventQueue{ready: make(chan struct{}, 1)} }

// maxQueued is how many events may wait for a slow listener before the progress of a call
// replaces its earlier progress.
const maxQueued = 1000

func (q *eventQueue) add(e Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.events) < maxQueued || e.Type != EventToolProgress || !q.coalesce(e) {
		q.events = append(q.events, e)
	}
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// coalesce replaces the last event of a call by its new progress, if that was progress too.
func (q *eventQueue) coalesce(e Event) bool {
	for i := len(q.events) - 1; i >= 0; i-- {
		if q.events[i].Call == e.Call {
			if q.events[i].Type != EventToolProgress {
				return false
			}
			q.events[i] = e
			return true
		}
	}
	return false
}

// deliver emits events until so many calls have their results.
func (q *eventQueue) deliver(emit func(Event), calls int) {
	var events []Event
	for calls > 0 {
		<-q.ready
		q.mu.Lock()
		events, q.events = q.events, events[:0]
		q.mu.Unlock()
		for _, e := range events {
			if e.Type == EventToolResult {
				calls--
			}
			emit(e)
		}
	}
}
