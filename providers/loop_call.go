package providers

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// execute runs the jobs that have no result yet. Each has one after it, or waits.
func (r *runner) execute(jobs []*job) {
	var wave []*job
	for _, j := range jobs {
		switch {
		case j.result != nil && !j.old:
			r.emit(Event{Type: EventToolResult, Call: j.call, Result: resultPart(j.call, j.result).Result})
		case j.result != nil, j.waits:
		case changes(j.tool):
			r.beside(wave)
			r.beside([]*job{j})
			wave = nil
		default:
			wave = append(wave, j)
		}
	}
	r.beside(wave)
}

// beside runs jobs side by side, but for those that their tools' names put into one
// chain. It is the one that tells of them.
func (r *runner) beside(jobs []*job) {
	if len(jobs) == 0 {
		return
	}
	chains := r.chains(jobs)
	next := make(chan []*job, len(chains))
	for _, c := range chains {
		next <- c
	}
	close(next)
	in := newInbox()
	var workers sync.WaitGroup
	for range min(r.limits.Parallel, len(chains)) {
		workers.Go(func() {
			for chain := range next {
				for _, j := range chain {
					r.call(j, in)
				}
			}
		})
	}
	in.deliver(r.emit, len(jobs))
	workers.Wait()
}

// chains groups jobs: those of a chain run one after another.
func (r *runner) chains(jobs []*job) [][]*job {
	var chains [][]*job
	at := map[string]int{} // of each glob
	for _, j := range jobs {
		glob := r.serial(j.tool.Name)
		if i, ok := at[glob]; ok && glob != "" {
			chains[i] = append(chains[i], j)
			continue
		}
		at[glob] = len(chains)
		chains = append(chains, []*job{j})
	}
	return chains
}

func (r *runner) serial(name string) string {
	for _, glob := range r.task.Options.Serial {
		if ok, _ := bridge.Match(glob, name); ok {
			return glob
		}
	}
	return ""
}

// call gives a job its result.
func (r *runner) call(j *job, in *inbox) {
	if r.ctx.Err() != nil {
		j.result = failed("cancelled: it was not run")
	} else {
		in.put(Event{Type: EventToolStart, Call: j.call})
		j.begun = time.Now()
		j.result = r.carryOut(j, in)
		j.took = time.Since(j.begun)
	}
	in.put(Event{Type: EventToolResult, Call: j.call, Result: resultPart(j.call, j.result).Result, Took: j.took})
}

// wordCanceled is said of a call that may have been run, or not to its end.
const wordCanceled = "cancelled: nobody waited for the result, and what has been done of it is not known"

// whyEnded is why a call was ended together with its run.
func (r *runner) whyEnded() string {
	if errors.Is(context.Cause(r.ctx), errTime) {
		return "cancelled: the time of the run is over"
	}
	return wordCanceled
}

var errTooSlow = errors.New("the call has taken its time")

// grace is how long a source that was cancelled may take to say so.
const grace = 5 * time.Second

// carryOut makes the call. One result comes, whatever its source does.
func (r *runner) carryOut(j *job, in *inbox) *toolformat.Result {
	req, err := request(j)
	if err != nil {
		return failed(err.Error())
	}
	ctx, cancel := context.WithCancelCause(bridge.InTurn(r.ctx, r.run.Request, max(0, r.run.Turns-1)))
	defer cancel(nil)
	b := &back{runner: r, job: j, in: in}
	b.time.Start(r.limits.Timeout, r.limits.MaxTimeout, func() { cancel(errTooSlow) })
	defer b.end()
	req.Back = b
	done := make(chan bridge.Reply, 1)
	r.calls.Go(func() { done <- r.do(ctx, req) })
	select {
	case reply := <-done:
		return r.read(ctx, b, reply)
	case <-ctx.Done():
	}
	patience := time.NewTimer(grace)
	defer patience.Stop()
	select {
	case reply := <-done:
		return r.read(ctx, b, reply)
	case <-patience.C:
		r.abandoned.Store(true)
		r.log.Error("a source does not heed that its call was cancelled: it is left alone", "tool", j.call.Name)
		return r.read(ctx, b, bridge.Failed(toolformat.Errorf(toolformat.Canceled, "cancelled")))
	}
}

// do is the source's Do, from which a panic is an error.
func (r *runner) do(ctx context.Context, req *bridge.Request) (reply bridge.Reply) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("a source has panicked", "tool", req.Target, "panic", p, "stack", string(debug.Stack()))
			reply = bridge.Failed(toolformat.AsError(fmt.Errorf("panic: %v", p)))
		}
	}()
	return r.source.Do(ctx, req)
}

// request is a call as MCP has it.
func request(j *job) (*bridge.Request, error) {
	b := append(make([]byte, 0, len(j.arguments)+128), `{"name":`...)
	b = append(wire.AppendString(b, j.tool.Name), `,"arguments":`...)
	b = append(append(b, j.arguments...), `,"_meta":{"progressToken":`...)
	b = append(wire.AppendString(b, j.call.ID), "}}"...)
	params, err := wire.SplitParams(b)
	if err != nil {
		return nil, fmt.Errorf("invalid arguments for tool %s: %w", j.tool.Name, err)
	}
	return &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: j.tool.Name}, nil
}

// leastWords is what an error may have in characters, however short a result has to be: the
// model is to act on it.
const leastWords = 1000

// read is the result that a reply is for the model.
func (r *runner) read(ctx context.Context, b *back, reply bridge.Reply) *toolformat.Result {
	switch {
	case reply.Err == nil:
		return r.check(&toolformat.Result{JSON: reply.Result})
	case r.ctx.Err() != nil:
		return failed(r.whyEnded())
	case !errors.Is(context.Cause(ctx), errTooSlow):
		return failed(r.words(b.job, reply.Err)).Truncate(max(r.limits.Output, leastWords))
	case b.time.AtMaximum():
		return failed(fmt.Sprintf("tool %s timed out after %s", b.job.call.Name, r.limits.MaxTimeout))
	}
	return failed(fmt.Sprintf("tool %s timed out: no result or progress for %s", b.job.call.Name, r.limits.Timeout))
}

// A back takes what belongs to a call while it runs.
type back struct {
	runner *runner
	job    *job
	in     *inbox
	time   bridge.Timer

	mu   sync.Mutex // guards what follows
	over bool
}

func (b *back) end() {
	b.time.Stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
}

// Notify implements bridge.Back.
func (b *back) Notify(method string, params []byte) {
	if method != wire.NotificationProgress {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return
	}
	b.time.Extend()
	e := Event{Type: EventToolProgress, Call: b.job.call}
	e.Progress, _ = strconv.ParseFloat(string(wire.Lookup(params, "progress")), 64)
	e.Total, _ = strconv.ParseFloat(string(wire.Lookup(params, "total")), 64)
	e.Text, _ = wire.Text(wire.Lookup(params, "message"))
	b.in.put(e)
}

// Ask implements bridge.Back. The time that a person takes counts for no limit.
func (b *back) Ask(ctx context.Context, method string, params []byte) ([]byte, *toolformat.Error) {
	ask := b.runner.caller.Ask
	if ask == nil {
		return nil, toolformat.Errorf(toolformat.Unsupported, "the caller cannot be asked: %s", method)
	}
	b.time.Hold()
	defer b.time.Release()
	b.runner.time.Hold()
	defer b.runner.time.Release()
	return ask(ctx, method, params)
}
