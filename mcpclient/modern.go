package mcpclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// shakeHands finds out whether the server speaks the era of the link's callers. Over
// stdio initialize always comes first, since some servers die of anything else; a
// server/discover after it is harmless, but some servers then take the whole connection
// for one of the modern era, so that it is asked only for callers of that era. The
// configuration may know better.
func (c *conn) shakeHands(ctx context.Context, modern bool) error {
	switch c.cfg.Era {
	case Legacy:
		return c.initialize(ctx)
	case Modern:
		if err := c.discover(ctx); err != nil {
			return fmt.Errorf("server/discover failed (era in its config is modern): %w", err)
		}
		return nil
	}
	if modern && len(c.cfg.Command) == 0 {
		err := c.discover(ctx)
		if err == nil || ctx.Err() != nil || !c.alive() {
			return err
		}
		return c.initialize(ctx)
	}
	err := c.initialize(ctx)
	switch {
	case err == nil && modern:
		c.discover(ctx) // one that does not know it is of the legacy era alone
		return nil
	case err == nil, !c.alive(), ctx.Err() != nil, !answeredNo(err):
		return err
	case c.discover(ctx) == nil: // it refuses initialize because it is of the modern era alone
		return nil
	}
	return err
}

// answeredNo reports whether a server has refused a request, over HTTP by its status.
func answeredNo(err error) bool {
	var e *toolformat.Error
	return errors.As(err, &e) && e.Raw != nil || refused(err)
}

// discover asks a server of the modern era who it is.
func (c *conn) discover(ctx context.Context) error {
	reply, err := c.askDiscover(ctx)
	var e *toolformat.Error
	if errors.As(err, &e) && speaksModern(wire.Lookup(e.Raw, "data", "supported")) {
		reply, err = c.askDiscover(ctx) // it refused the revision, and names it as one that it supports
	}
	if err != nil {
		return err
	}
	defer reply.Free()
	if !speaksModern(wire.Lookup(reply.Result, "supportedVersions")) {
		return errors.New("it does not speak protocol revision " + wire.ModernRevision)
	}
	c.modern = true
	if c.legacy {
		return nil
	}
	c.revision = wire.ModernRevision
	c.greeting = bytes.Clone(reply.Result)
	if info := wire.Lookup(c.greeting, "_meta", mcp.MetaKeyServerInfo); info != nil {
		c.greeting = wire.SetMember(c.greeting, "serverInfo", info)
	}
	c.carrier.established(c.revision)
	return nil
}

func (c *conn) askDiscover(ctx context.Context) (bridge.Reply, error) {
	k := c.newCall(wire.MethodDiscover)
	k.modern = true
	return c.requestCall(ctx, k, nil)
}

// speaksModern reports whether the modern revision is in a list of revisions.
func speaksModern(versions []byte) bool {
	for v := range wire.Elements(versions) {
		if string(v) == string(modernRevision) {
			return true
		}
	}
	return false
}

// hopByHop are the members of _meta that mean one connection and are never passed on.
var hopByHop = [...]wire.Edit{
	{Key: wire.MetaProtocolVersion}, {Key: wire.MetaClientInfo}, {Key: wire.MetaClientCapabilities},
	{Key: wire.MetaLogLevel}, {Key: wire.MetaSubscriptionID},
}

var modernRevision = []byte(`"` + wire.ModernRevision + `"`)

// modernEdits add what each request of the modern era says of its client.
func (c *conn) modernEdits(edits []wire.Edit, owner *session) []wire.Edit {
	capabilities := c.told
	if owner != nil && owner.caller.Modern {
		capabilities = c.cfg.offer(owner.caller.Capabilities)
	}
	edits = append(edits,
		wire.Edit{Key: wire.MetaProtocolVersion, Value: modernRevision},
		wire.Edit{Key: wire.MetaClientInfo, Value: c.cfg.ClientInfo},
		wire.Edit{Key: wire.MetaClientCapabilities, Value: capabilities},
		wire.Edit{Key: wire.MetaSubscriptionID})
	if owner != nil && !owner.caller.Modern {
		if level := wire.LogLevel(owner.level.Load()); level > 0 {
			edits = append(edits, wire.Edit{Key: wire.MetaLogLevel, Value: wire.AppendString(nil, level.String())})
		}
	}
	return edits
}

// maxRounds bounds a server that never has all the input it wants.
const maxRounds = 20

// fulfil asks a caller of the legacy era what a server of the modern one wants to know,
// and repeats the request with the answers until its result is complete. A caller of the
// modern era is asked so only beside Sampling.
func (c *conn) fulfil(ctx context.Context, req *bridge.Request, owner *session, reply bridge.Reply) (bridge.Reply, *loss) {
	for range maxRounds {
		if reply.Err != nil || !inputRequired(reply.Result) || owner.caller.Modern && !c.samples(owner, reply.Result) {
			return reply, nil
		}
		responses, err := c.answers(ctx, req, owner, wire.Lookup(reply.Result, "inputRequests"))
		if err != nil {
			reply.Free()
			return bridge.Failed(err), nil
		}
		again := *req
		again.Edits = append(append([]wire.Edit(nil), req.Edits...), wire.Edit{Key: wire.InputResponses, Value: responses})
		if state := wire.Lookup(reply.Result, "requestState"); state != nil {
			again.Edits = append(again.Edits, wire.Edit{Key: wire.RequestState, Value: bytes.Clone(state)})
		}
		reply.Free()
		var lost *loss
		if reply, lost = c.do(ctx, &again, owner); lost != nil {
			return reply, lost
		}
	}
	reply.Free()
	return bridge.Failed(toolformat.Errorf(toolformat.Unavailable, "%s: %s wants more input after %d rounds", c.cfg.Name, subject(req), maxRounds)), nil
}

func inputRequired(result []byte) bool {
	return string(wire.Lookup(result, "resultType")) == `"input_required"`
}

// input is a question of an input_required and who answers it.
type input struct {
	key, method string
	params      []byte
	put         func(context.Context, string, []byte) ([]byte, *toolformat.Error)
}

// inputs are the questions of an input_required. The error says why they cannot be put.
func (c *conn) inputs(req *bridge.Request, owner *session, questions []byte) (all []input, err *toolformat.Error) {
	ask := owner.caller.Ask
	if req.Back != nil {
		ask = req.Back.Ask
	}
	for key, q := range wire.Members(questions) {
		method, _ := wire.Text(wire.Lookup(q, "method"))
		capability := bridge.QuestionCapability(method)
		put := ask
		switch can := ask != nil && wire.Lookup(owner.caller.Capabilities, capability) != nil; {
		case capability != "" && can:
		case method == wire.MethodCreateMessage && c.cfg.Sampling != nil:
			put = c.cfg.sample
		default:
			return nil, toolformat.Errorf(toolformat.Unavailable, "%s wants %.80s, which the client cannot do", c.cfg.Name, method)
		}
		all = append(all, input{key, method, wire.Lookup(q, "params"), put})
	}
	if len(all) > maxAsked {
		return nil, toolformat.Errorf(toolformat.Unavailable, "%s asks %d questions at once, more than %d", c.cfg.Name, len(all), maxAsked)
	}
	return all, nil
}

// answers puts the questions of an input_required to the caller, side by side, for as long
// as a call may take. The first one without an answer ends the others.
func (c *conn) answers(ctx context.Context, req *bridge.Request, owner *session, questions []byte) ([]byte, *toolformat.Error) {
	all, err := c.inputs(req, owner, questions)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, c.cfg.MaxTimeout, errTimeout)
	defer cancel()
	var mu sync.Mutex // guards responses and failed
	responses, failed := []byte("{}"), (*toolformat.Error)(nil)
	var wg sync.WaitGroup
	for _, in := range all {
		wg.Go(func() {
			result, err := in.put(limited, in.method, in.params)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				responses = wire.SetMember(responses, in.key, result)
			case failed == nil:
				failed = err
				cancel()
			}
		})
	}
	wg.Wait()
	if failed != nil && context.Cause(limited) == errTimeout {
		failed = toolformat.Errorf(toolformat.Timeout, tookLonger, c.cfg.Name, subject(req), c.cfg.MaxTimeout, "maxTimeout")
	}
	return responses, failed
}

// untagged is params less the tag of the listen stream that they came on.
func untagged(params []byte) []byte {
	if !bytes.Contains(params, []byte("subscriptionId")) {
		return params
	}
	p, err := wire.SplitParams(bytes.Clone(params))
	if err != nil {
		return params
	}
	return p.Append(nil, wire.Edit{Key: wire.MetaSubscriptionID})
}
