package mcpclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// maxAttempts bounds how often a request is sent that the server may have run, and how often one whose session it
// does not know.
const maxAttempts = 3

// call carries out a request of a caller. If the connection is lost it repeats the request on
// the next one where that is safe: within the time of a call if the server did not receive it.
func (l *link) call(ctx context.Context, req *bridge.Request, owner *session) (reply bridge.Reply) {
	l.cfg.recent.add(req.Secrets, &owner.hidden)
	var end time.Time // of repeating; set by the first loss
	var queued time.Duration
	defer func() { reply.Queued += queued }()
	for mayHaveRun, forgotten := 0, 0; ; {
		c, waited, err := l.awaitBriefly(ctx)
		queued += waited
		if err != nil {
			return bridge.Failed(notRun(err))
		}
		if owner.closed.Load() {
			return bridge.Failed(notRun(canceled(errClosed)))
		}
		if names := l.leftOut.Load(); names != nil && (*names)[req.Target] && req.Method == wire.MethodToolsCall {
			return bridge.Failed(toolformat.Errorf(toolformat.NotFound, "unknown tool: %s (its definition cannot be used)", req.Target))
		}
		if req.Method == wire.MethodDiscover {
			return bridge.Result(c.described, nil)
		}
		reply, lost := c.do(ctx, req, owner)
		if lost == nil && reply.Modern && (!owner.caller.Modern || l.cfg.Sampling != nil) {
			reply, lost = c.provideInput(ctx, req, owner, reply)
		}
		if l.cfg.Lazy {
			l.used.Store(time.Now().UnixNano())
		}
		switch {
		case lost == nil:
		case lost.received:
			forgotten++
		case !lost.surelyNotRun:
			mayHaveRun++
		}
		switch {
		case lost == nil:
			if req.Method == wire.MethodToolsCall && c.called.Load() != allLists {
				c.called.Store(allLists)
			}
			if c.changing.Load() > 0 {
				c.awaitChanges(ctx)
			}
			return reply
		case lost.surelyNotRun && forgotten < maxAttempts && l.outlast(ctx, c, &end),
			!lost.surelyNotRun && mayHaveRun < maxAttempts && l.repeatable(req):
			l.cfg.throttle.Log(slog.LevelInfo, "repeating a request on a new connection", "method", req.Method, "target", req.Target, "reason", lost.cause)
		case lost.surelyNotRun:
			return bridge.Failed(notRun(l.cfg.errorf(toolformat.Unavailable, "the connection was lost before %s could be sent", subject(req)).Because(lost.cause)))
		default:
			return bridge.Failed(l.cfg.errorf(toolformat.Unavailable,
				"the connection was lost while %s was under way: it is unknown whether it ran", subject(req)).Because(lost.cause))
		}
	}
}

// notRun returns the error of a call that the server has not received.
func notRun(err *toolformat.Error) *toolformat.Error {
	own := *err
	own.NotRun = true
	return &own
}

// outlastTime is after how long a connection is written to again that could not be, and is not lost.
const outlastTime = time.Second

// outlast waits until a connection that could not be written to is lost, so that the next attempt
// does not meet it again, or for outlastTime: a stream may live while no message can be sent. false means that
// the time of the call is over. end is when that is, and is set if it is zero.
func (l *link) outlast(ctx context.Context, c *conn, end *time.Time) bool {
	if end.IsZero() {
		*end = time.Now().Add(l.cfg.Timeout)
	}
	limited, cancel := context.WithDeadline(ctx, *end)
	defer cancel()
	again := time.NewTimer(outlastTime)
	defer again.Stop()
	select {
	case <-c.life.Done():
	case <-again.C:
	case <-limited.Done():
	}
	return limited.Err() == nil
}

// awaitBriefly returns the live connection, and for how long the call has waited for it. A call that arrives during
// a start waits for its end, no longer than a call may take; one whose time is shorter than a start may take is
// given that.
func (l *link) awaitBriefly(ctx context.Context) (*conn, time.Duration, *toolformat.Error) {
	if c := l.conn.Load(); c != nil && c.alive() {
		return c, 0, nil
	}
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, max(l.cfg.Timeout, l.cfg.ConnectTimeout))
	defer cancel()
	c, err := l.await(ctx)
	return c, time.Since(begun), err
}

// repeatable reports whether running the request twice has no more effect than once.
func (l *link) repeatable(req *bridge.Request) bool {
	if req.Method != wire.MethodToolsCall {
		return true
	}
	it, ok := l.tool(req.Target)
	return ok && it.Repeatable
}

// empty returns an empty result.
func empty() bridge.Reply { return bridge.Result([]byte("{}"), nil) }

// do sends a caller's request and waits for its reply, or the loss of the connection.
func (c *conn) do(ctx context.Context, req *bridge.Request, owner *session) (bridge.Reply, *loss) {
	if ctx.Err() != nil {
		return bridge.Failed(notRun(canceled(context.Cause(ctx)))), nil
	}
	k := c.newCall(req.Method)
	k.owner, k.back, k.target = owner, req.Back, req.Target
	k.modern = c.modern && (!c.legacy || owner.caller.Modern && !legacyOnly(req.Method))
	switch {
	case !k.modern && owner.caller.Modern && req.Params != nil && req.Params.Get(wire.RequestState) != nil:
		// A server of the legacy era has given out no state, and would run the call again.
		return bridge.Failed(c.cfg.errorf(toolformat.Invalid, "%s: params.requestState is unknown or too old: call again without it", subject(req))), nil
	case !k.modern && owner.caller.Modern && isVendors(req):
		return bridge.Failed(toolformat.Errorf(toolformat.Unsupported, "method not found: %.80s", req.Method)), nil
	case k.modern && req.Method == wire.MethodToolsCall:
		k.headers = c.paramHeaders(req)
	case k.target == "" && req.Params != nil: // a request about a task is routed by its id
		k.target, _ = req.Params.Text(wire.TaskID)
	}
	if k.modern == owner.caller.Modern && (!k.modern || c.cfg.Sampling == nil) { // else the result may become another
		k.take = req.Take
	}
	msg := c.encode(k, req)
	k.task = c.link.taskOf(k, req)
	sent := k.size(msg)
	reply, lost := c.roundTrip(ctx, k, msg)
	if k.taken > 0 {
		reply, lost = k.passed(req, reply, lost), nil
	}
	reply.Modern, reply.Sent = k.modern, sent
	if reply.Err != nil && reply.Err.Code == toolformat.Timeout && reply.Err.Raw == nil {
		limit, key := c.cfg.Timeout, "timeout"
		if k.timer.AtMaximum() && c.cfg.MaxTimeout != limit {
			limit, key = c.cfg.MaxTimeout, "maxTimeout"
		}
		reply.Err.Message = fmt.Sprintf("%s: "+tookLonger, c.cfg.Name, subject(req), limit, key)
	}
	return reply, lost
}

// isVendors reports whether a request is not one of MCP: it stays as it is, and is for servers of its
// caller's era.
func isVendors(req *bridge.Request) bool { return req.Target == "" && !bridge.Relayed(req.Method) }

// legacyOnly reports whether a method that callers of both eras use exists in the legacy era
// alone.
func legacyOnly(method string) bool {
	return method == wire.MethodSubscribe || method == wire.MethodUnsubscribe || method == wire.MethodSetLevel
}

// request sends a request of the bridge's own.
func (c *conn) request(ctx context.Context, method string, params []byte) (bridge.Reply, error) {
	return c.requestCall(ctx, c.newOwn(method), params)
}

func (c *conn) requestCall(ctx context.Context, k *call, params []byte) (bridge.Reply, error) {
	split, _ := wire.SplitParams(params) // cannot fail: the bridge's own
	var edits []wire.Edit
	if k.modern {
		edits = c.modernEdits(nil, nil)
	}
	buf := wire.NewBuffer(len(params) + 128)
	buf.B = wire.AppendRequest(buf.B, k.id, k.method, &split, edits...)
	reply, lost := c.roundTrip(ctx, k, buf)
	switch {
	case lost != nil:
		return bridge.Reply{}, lost.cause
	case reply.Err != nil:
		return bridge.Reply{}, reply.Err
	}
	return reply, nil
}

// replay sends a request with one string parameter for which no caller waits. It reports whether
// the server agreed.
func (c *conn) replay(ctx context.Context, method, key, value string) bool {
	params := wire.SetMember([]byte("{}"), key, wire.AppendString(nil, value))
	reply, err := c.request(ctx, method, params)
	if err != nil {
		c.cfg.throttle.Log(slog.LevelWarn, "a request could not be repeated on the new connection", "method", method, key, value, "reason", err)
		return false
	}
	reply.Free()
	return true
}

// loss means that the connection was lost before a request had its reply.
type loss struct {
	cause        error
	surelyNotRun bool
	received     bool // by a server that says that it no longer knows the session
}

// roundTrip sends the message of a call and waits for its reply, the end of ctx, the call's
// timeout or the loss of the connection.
func (c *conn) roundTrip(ctx context.Context, k *call, msg *wire.Buffer) (bridge.Reply, *loss) {
	k.ctx, k.reply = ctx, c.link.client.replies.Get().(chan bridge.Reply)
	if c.waits {
		k.setScope()
		ctx = k.scope
	}
	defer k.endContext()
	if !c.addCall(k) {
		msg.Free()
		return c.replied(k, bridge.Reply{})
	}
	err := c.carrier.send(ctx, msg, k)
	if k.queued = err == nil; k.queued {
		if r, ok := c.awaitReply(ctx, k); ok {
			return c.replied(k, r)
		}
	}
	if c.takeCall(k.id) == nil {
		return c.replied(k, <-k.reply) // received in spite of that
	}
	c.link.client.replies.Put(k.reply)
	var e *toolformat.Error
	switch {
	case ctx.Err() != nil: // a caller that goes may take the connection with it
		return bridge.Failed(c.abandon(context.Cause(ctx), k)), nil
	case errors.As(err, &e): // made by the carrier for the caller
		if !k.sent.Load() {
			e = notRun(e)
		}
		return bridge.Failed(e), nil
	case err != nil:
		gone := errors.Is(err, errSessionGone)
		return bridge.Reply{}, &loss{cause: err, surelyNotRun: !k.sent.Load() || gone, received: gone}
	}
	return bridge.Reply{}, &loss{cause: c.reason(), surelyNotRun: !k.sent.Load()}
}

// awaitReply waits for the reply of a call; false means that ctx or the connection has ended.
func (c *conn) awaitReply(ctx context.Context, k *call) (bridge.Reply, bool) {
	var lost <-chan struct{} // nil where the loss ends the call itself
	if c.waits {
		select { // it has usually come with the answer to send
		case r := <-k.reply:
			return r, true
		default:
		}
		lost = c.life.Done()
	}
	select {
	case r := <-k.reply:
		return r, true
	case <-ctx.Done():
	case <-lost:
	}
	return bridge.Reply{}, false
}

// endContext ends the context of a call, if it has one of its own.
func (k *call) endContext() {
	if k.scope != nil {
		k.scope.Cancel(nil)
	}
}

// replied returns the reply of a call that has left the connection, or how it has ended without one.
func (c *conn) replied(k *call, r bridge.Reply) (bridge.Reply, *loss) {
	c.link.client.replies.Put(k.reply)
	if k.late != nil {
		k.late.Stop()
	}
	switch {
	case k.lost:
		return bridge.Reply{}, &loss{cause: k.cause, surelyNotRun: !k.sent.Load()}
	case k.cause != nil:
		return bridge.Failed(c.abandon(k.cause, k)), nil
	}
	return r, nil
}

// abandon gives up a call whose caller has gone or whose time is over. It tells the server if the
// request may have reached it, unless that is the first one: an initialize must not be cancelled, and a
// server that does not answer server/discover may be of the era that begins with one.
func (c *conn) abandon(cause error, k *call) *toolformat.Error {
	if (k.sent.Load() || k.queued) && k.method != wire.MethodInitialize && (k.method != wire.MethodDiscover || c.legacy) {
		params := append(strconv.AppendInt([]byte(`{"requestId":`), k.id, 10), '}')
		c.respond(wire.AppendNotification(nil, wire.NotificationCancelled, params))
	}
	e := canceled(cause)
	if errors.Is(cause, errTimeout) {
		e = toolformat.Errorf(toolformat.Timeout, "%s took too long", c.cfg.Name)
	}
	e.NotRun = !k.sent.Load() && !k.queued
	return e
}

// encode makes the message of a request. Its id and its progress token are the bridge's own; the
// token lets progress extend the call.
func (c *conn) encode(k *call, req *bridge.Request) *wire.Buffer {
	var params wire.Params
	if req.Params != nil {
		params = *req.Params
	}
	if token := params.Get(wire.MetaProgressToken); token != nil {
		k.token = append(k.token, token...)
	}
	edits := append(make([]wire.Edit, 0, 8), req.Edits...)
	switch {
	case k.modern:
		edits = c.modernEdits(edits, k.owner)
	case params.Get(wire.MetaProtocolVersion) != nil:
		edits = append(edits, hopByHop[:]...)
	}
	if k.token != nil || !isVendors(req) {
		edits = append(edits, wire.Edit{Key: wire.MetaProgressToken, Value: strconv.AppendInt(k.digits[:0], k.id, 10)})
	}
	if s, ok := c.carrier.(*streamable); ok && len(params.Raw) > lentFrom && s.lends() {
		if buf := k.encodeAround(&params, edits); buf != nil {
			return buf
		}
	}
	buf := wire.NewBuffer(len(params.Raw) + 128)
	buf.B = wire.AppendRequest(buf.B, k.id, req.Method, &params, edits...)
	return buf
}

// size returns the bytes of the message that encode has made.
func (k *call) size(msg *wire.Buffer) int {
	if k.parts == nil {
		return len(msg.B)
	}
	n := 0
	for _, part := range k.parts {
		n += len(part)
	}
	return n
}

// lentFrom is the size of params, in bytes, from which on a carrier that lends is given the arguments in
// the memory of the caller.
const lentFrom = 16 << 10

// encodeAround makes the message of a request in parts, which has its arguments where they lie, without a
// copy. It returns the memory of the other parts; nil if the arguments are absent or, where members are added to
// them, empty.
func (k *call) encodeAround(params *wire.Params, edits []wire.Edit) *wire.Buffer {
	arguments, adding := params.Get(wire.Arguments), edits
	for i, e := range edits {
		if e.Key == wire.Arguments && !e.Add {
			arguments, adding = e.Value, edits[i+1:]
		}
	}
	mark := []byte("\xff") // occurs in no JSON
	whole := mark
	if slices.ContainsFunc(adding, func(e wire.Edit) bool { return e.Key == wire.Arguments }) {
		if arguments = bytes.TrimSpace(arguments); len(arguments) == 0 || arguments[0] != '{' {
			return nil
		}
		arguments, whole = arguments[1:len(arguments)-1], []byte("{\xff}") // behind which members are added
		if len(bytes.TrimSpace(arguments)) == 0 {
			return nil
		}
	}
	if arguments == nil {
		return nil
	}
	buf := wire.NewBuffer(len(params.Raw) - len(params.Get(wire.Arguments)) + 128)
	edits = append(append(edits, wire.Edit{Key: wire.Arguments, Value: whole}), adding...)
	buf.B = wire.AppendRequest(buf.B, k.id, k.method, params, edits...)
	before, after, _ := bytes.Cut(buf.B, mark)
	k.parts = [][]byte{before, arguments, after}
	return buf
}

// hopByHop removes the members of _meta that concern one connection.
var hopByHop = [...]wire.Edit{
	{Key: wire.MetaProtocolVersion}, {Key: wire.MetaClientInfo}, {Key: wire.MetaClientCapabilities},
	{Key: wire.MetaLogLevel}, {Key: wire.MetaSubscriptionID},
}

var modernRevision = []byte(`"` + wire.ModernRevision + `"`)

// modernEdits appends what each request of the modern era states of its client.
func (c *conn) modernEdits(edits []wire.Edit, owner *session) []wire.Edit {
	capabilities := c.capabilities
	if owner != nil && owner.caller.Modern {
		capabilities = c.cfg.offer(owner.caller.Capabilities)
	}
	edits = append(edits,
		wire.Edit{Key: wire.MetaProtocolVersion, Value: modernRevision},
		wire.Edit{Key: wire.MetaClientInfo, Value: c.clientInfo},
		wire.Edit{Key: wire.MetaClientCapabilities, Value: capabilities},
		wire.Edit{Key: wire.MetaSubscriptionID})
	if owner != nil && !owner.caller.Modern {
		if level := wire.LogLevel(owner.level.Load()); level > 0 {
			edits = append(edits, wire.Edit{Key: wire.MetaLogLevel, Value: wire.AppendString(nil, level.String())})
		}
	}
	return edits
}

// paramHeaders returns the HTTP headers in which the tool wants arguments of the call repeated
// (SEP-2243).
func (c *conn) paramHeaders(req *bridge.Request) map[string]string {
	it, ok := c.link.tool(req.Target)
	if !ok || !it.ParamHeaders {
		return nil
	}
	arguments := req.Params.Edited(wire.Arguments, req.Edits)
	if arguments == nil {
		return nil
	}
	found, err := wire.ParamHeaders(it.Tool().InputSchema)
	if err != nil {
		return nil // listed in spite of that, so the carrier is not HTTP
	}
	headers := make(map[string]string, len(found))
	for _, h := range found {
		if value, ok := h.Value(arguments); ok {
			headers[h.Name] = value
		}
	}
	return headers
}
