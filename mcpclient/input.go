package mcpclient

import (
	"bytes"
	"context"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

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

// samples reports whether an input_required asks for what only Sampling can answer.
func (c *conn) samples(owner *session, result []byte) bool {
	if c.cfg.Sampling == nil || wire.Lookup(owner.caller.Capabilities, "sampling") != nil {
		return false
	}
	for _, q := range wire.Members(wire.Lookup(result, "inputRequests")) {
		if method, _ := wire.Text(wire.Lookup(q, "method")); method == wire.MethodCreateMessage {
			return true
		}
	}
	return false
}
