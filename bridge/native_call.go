package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// nativeCall is a call of a Tool, and the value of callKey in the context of its function. The
// function may outlive the call: it works on a copy of the request, and cannot reach the caller any
// more.
type nativeCall struct {
	context.Context // of the caller
	session         *nativeSession
	tool            *nativeTool
	request         Request     // a copy
	params          wire.Params // of request
	back            Back
	cancel          context.CancelCauseFunc
	timer           Timer
	queued          atomic.Int64 // the time for which it has waited for its turn

	mu   sync.Mutex // guards over, and orders notifications
	over bool       // the call has ended
}

var (
	errTimedOut = errors.New("timed out")
	errGone     = errors.New("the function ended its goroutine")
)

// callKey is the context key of a call.
type callKey struct{}

// Value implements context.Context.
func (c *nativeCall) Value(key any) any {
	if key == (callKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// RequestOf returns the request for which a Tool's Call runs, and its caller; nil outside of one.
// The request's Back is never nil. It drops what comes after the end of the call.
func RequestOf(ctx context.Context) (*Request, *Caller) {
	c, ok := ctx.Value(callKey{}).(*nativeCall)
	if !ok {
		return nil, nil
	}
	return &c.request, c.session.caller
}

// Progress reports the progress of the call that ctx belongs to, out of total, 0 if unknown. It
// starts the timeout of the call anew and never blocks. Outside of a call it does nothing.
func Progress(ctx context.Context, progress, total float64, message string) {
	c, ok := ctx.Value(callKey{}).(*nativeCall)
	if !ok || math.IsNaN(progress+total) || math.IsInf(progress+total, 0) {
		return
	}
	token := c.request.Params.Get(wire.MetaProgressToken)
	if token == nil { // not requested
		c.timer.Extend()
		return
	}
	b := append([]byte(`{"progressToken":`), token...)
	b = strconv.AppendFloat(append(b, `,"progress":`...), progress, 'f', -1, 64)
	if total != 0 {
		b = strconv.AppendFloat(append(b, `,"total":`...), total, 'f', -1, 64)
	}
	if message != "" {
		b = wire.AppendString(append(b, `,"message":`...), message)
	}
	c.Notify(wire.NotificationProgress, append(b, '}'))
}

// call carries out a tools/call.
func (s *nativeSession) call(ctx context.Context, req *Request) (reply Reply) {
	tool, fault := s.findTool(req.Target)
	if fault != nil {
		return Failed(fault)
	}
	c := &nativeCall{Context: ctx, session: s, tool: tool, back: req.Back}
	if err := c.copyRequest(req); err != nil {
		return Failed(err)
	}
	if s.caller.Modern && c.params.Get(wire.RequestState) != nil {
		return Failed(toolformat.Errorf(toolformat.Invalid, "%s: params.requestState is unknown or too old: call again without it", req.Method))
	}
	arguments, err := tool.arguments(c.params.Get(wire.Arguments), c.hiddenValue)
	if err != nil {
		return Result(toolformat.TextResult(err.Error(), true).JSON, nil)
	}
	if ctx.Err() != nil {
		return Failed(canceled(ctx.Err()))
	}
	ctx, c.cancel = context.WithCancelCause(c)
	defer c.cancel(nil)
	fault = c.start(ctx)
	defer func() { reply.Queued = time.Duration(c.queued.Load()) }()
	if fault != nil {
		return Failed(fault)
	}
	defer c.stop()
	o, ok := c.outcome(ctx, arguments)
	if ok && (o.err == nil || ctx.Err() == nil) { // else the error may be that of ctx
		return c.request.Secrets.hideReply(c.reply(o))
	}
	if errors.Is(context.Cause(ctx), errTimedOut) {
		return Failed(c.timeoutError())
	}
	return Failed(canceled(ctx.Err()))
}

// hiddenValue returns the hidden value with a name for the arguments of the call.
func (c *nativeCall) hiddenValue(name string) (json.RawMessage, bool) {
	value, ok := c.session.native.HiddenValue(c.Context, c.session.caller, name)
	if ok {
		c.request.Secrets = c.request.Secrets.with(value)
	}
	return value, ok
}

// copyRequest sets the call's own copy of the request, with its edits applied.
func (c *nativeCall) copyRequest(req *Request) *toolformat.Error {
	params, err := req.params()
	if err != nil {
		return toolformat.AsError(err)
	}
	if c.params = *params; len(req.Edits) == 0 {
		c.params = params.Clone()
	}
	c.request = Request{Method: req.Method, Params: &c.params, Target: req.Target, Model: req.Model, Back: c}
	return nil
}

// start waits until the call may run, unless its session has ended, and starts its timer, which
// cancels it.
func (c *nativeCall) start(ctx context.Context) *toolformat.Error {
	n := c.session.native
	n.mu.Lock()
	_, open := n.sessions[c.session]
	if open {
		n.running[c] = struct{}{}
		c.session.calls++
	}
	n.mu.Unlock()
	if !open {
		return canceled(context.Canceled)
	}
	if err := c.enter(ctx); err != nil {
		n.removeCall(c)
		return err
	}
	c.timer.Start(c.tool.Timeout, c.maximum(), func() { c.cancel(errTimedOut) })
	return nil
}

// enter waits for the limits of the tool and of all tools.
func (c *nativeCall) enter(ctx context.Context) *toolformat.Error {
	queued, err := c.tool.limiter.enter(ctx, c.session.caller.Principal, c.tool.Timeout)
	c.queued.Add(int64(queued))
	if err != nil {
		return err
	}
	queued, err = c.session.native.limiter.enter(ctx, c.session.caller.Principal, c.tool.Timeout)
	c.queued.Add(int64(queued))
	if err != nil {
		c.tool.limiter.Leave(c.session.caller.Principal)
	}
	return err
}

// stop cuts the call off from its caller.
func (c *nativeCall) stop() {
	c.timer.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
}

// outcome runs the function and waits for its outcome; ok is false when ctx has ended first.
func (c *nativeCall) outcome(ctx context.Context, arguments json.RawMessage) (o outcome, ok bool) {
	if c.tool.Cancelable {
		return c.run(ctx, arguments), true
	}
	done := make(chan outcome, 1)
	c.session.native.workers.run(func() {
		o := outcome{err: errGone} // for runtime.Goexit
		defer func() { done <- o }()
		o = c.run(ctx, arguments)
	})
	select {
	case o := <-done:
		if o.err == errGone {
			o.err = toolformat.AsError(errGone)
		}
		return o, true
	case <-ctx.Done():
		return outcome{}, false
	}
}

// run runs the function. It always returns an outcome, also after a panic; only runtime.Goexit
// escapes it.
func (c *nativeCall) run(ctx context.Context, arguments json.RawMessage) (o outcome) {
	n := c.session.native
	defer func() {
		if p := recover(); p != nil {
			text := c.request.Secrets.Hide(fmt.Sprint(p))
			n.opts.Log.Error("a tool has panicked", "tool", c.tool.Name, "panic", text, "stack", string(debug.Stack()))
			o = outcome{err: toolformat.AsError(errors.New("panic: " + text))}
		}
		n.limiter.Leave(c.session.caller.Principal)
		c.tool.limiter.Leave(c.session.caller.Principal)
		n.removeCall(c)
	}()
	if c.tool.Client {
		o.result, o.err = c.session.callFunction(ctx, c.tool.Name, arguments)
	} else {
		o.result, o.err = c.tool.Call(ctx, arguments)
	}
	return o
}

// outcome is the result of a function.
type outcome struct {
	result *toolformat.Result
	err    error
}

// maximum returns how long the call may take, however much progress it reports.
func (c *nativeCall) maximum() time.Duration {
	return max(c.session.native.opts.MaxTimeout, c.tool.Timeout)
}

func (c *nativeCall) timeoutError() *toolformat.Error {
	if c.timer.AtMaximum() {
		return toolformat.Errorf(toolformat.Timeout, "tool %s timed out after %s", c.tool.Name, c.maximum())
	}
	return toolformat.Errorf(toolformat.Timeout, "tool %s timed out: no result or progress for %s", c.tool.Name, c.tool.Timeout)
}

// Notify implements Back.
func (c *nativeCall) Notify(method string, params []byte) {
	if method == wire.NotificationProgress {
		c.timer.Extend()
	}
	params = c.request.Secrets.hideNotification(params)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.back != nil && !c.over {
		c.back.Notify(method, params)
	}
}

// Ask implements Back. The time that the caller takes does not count.
func (c *nativeCall) Ask(ctx context.Context, method string, params []byte) ([]byte, *toolformat.Error) {
	if c.back == nil {
		return nil, toolformat.Errorf(toolformat.Unsupported, "the caller cannot be asked: %s", method)
	}
	c.mu.Lock()
	over := c.over
	c.mu.Unlock()
	if over {
		return nil, canceled(context.Canceled)
	}
	c.timer.Hold()
	defer c.timer.Release()
	return c.back.Ask(ctx, method, params)
}

// reply returns the caller's reply for an outcome.
func (c *nativeCall) reply(o outcome) Reply {
	switch {
	case o.err != nil:
		var e *toolformat.Error
		if errors.As(o.err, &e) {
			return Failed(e)
		}
		o.result = toolformat.TextResult(o.err.Error(), true)
	case o.result == nil || len(o.result.JSON) == 0:
		o.result = &toolformat.Result{JSON: json.RawMessage(`{"content":[]}`)}
	}
	r := c.checkResult(o.result)
	return Reply{Result: r.JSON, Loose: c.tool.loose, memory: r.Memory}
}

// checkResult returns a result that fits the tool's output schema and the limit on results.
func (c *nativeCall) checkResult(r *toolformat.Result) *toolformat.Result {
	name, output, most := c.tool.Name, c.tool.output, c.session.native.opts.MaxResult
	if output != nil {
		if err := output.CheckResult(r); err != nil {
			return c.invalidResult(err)
		}
	}
	cut := r.Truncate(most)
	switch {
	case len(cut.JSON) > 8*most:
		return toolformat.TextResult(fmt.Sprintf("the result of tool %s has %d bytes, and %d is the most: ask for less", name, len(cut.JSON), 8*most), true)
	case cut != r && output != nil && !r.IsError():
		return toolformat.TextResult(fmt.Sprintf("the result of tool %s has more than %d characters of text, and cannot be cut as it has an output schema: ask for less", name, most), true)
	}
	return cut
}

// invalidResult returns the result that reports one that does not fit its tool's output schema. The
// log gets no value of the result.
func (c *nativeCall) invalidResult(err error) *toolformat.Result {
	subject := "the result of tool " + c.tool.Name + " does not fit its output schema"
	var check *toolformat.CheckError
	if !errors.As(err, &check) || len(check.Faults) == 0 {
		return toolformat.TextResult(subject, true)
	}
	c.session.native.opts.Log.Warn("a result does not fit the tool's output schema", "tool", c.tool.Name, "path", check.Faults[0].Path, "rule", check.Faults[0].Rule)
	check.Subject = subject
	return toolformat.TextResult(check.Error(), true)
}
