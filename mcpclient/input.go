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

// provideInput asks a caller of the legacy era for the input that a server of the modern one
// requires, and repeats the request with it until the result is complete. A caller of the modern
// era is asked only for input that goes with what Sampling answers.
func (c *conn) provideInput(ctx context.Context, req *bridge.Request, owner *session, reply bridge.Reply) (bridge.Reply, *loss) {
	for range maxRounds {
		if reply.Err != nil || !inputRequired(reply.Result) || owner.caller.Modern && !c.samples(owner, reply.Result) {
			return reply, nil
		}
		responses, err := c.inputResponses(ctx, req, owner, wire.Lookup(reply.Result, "inputRequests"))
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
	return bridge.Failed(c.cfg.errorf(toolformat.Unavailable, "%s still requires input after %d rounds", subject(req), maxRounds)), nil
}

func inputRequired(result []byte) bool {
	return string(wire.Lookup(result, "resultType")) == `"input_required"`
}

// samples reports whether a result requires input that only Sampling can provide.
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

// inputRequest is one of a result's inputRequests.
type inputRequest struct {
	key, method string
	params      []byte
	ask         asker
}

// inputRequests decides who answers each of a result's inputRequests. The error says why one
// cannot be answered.
func (c *conn) inputRequests(req *bridge.Request, owner *session, raw []byte) (all []inputRequest, err *toolformat.Error) {
	ask := asker(owner.caller.Ask)
	if req.Back != nil {
		ask = req.Back.Ask
	}
	for key, q := range wire.Members(raw) {
		method, _ := wire.Text(wire.Lookup(q, "method"))
		in := inputRequest{key, method, wire.Lookup(q, "params"), ask}
		capability := bridge.QuestionCapability(method)
		switch {
		case capability != "" && ask != nil && wire.Lookup(owner.caller.Capabilities, capability) != nil:
		case method == wire.MethodCreateMessage && c.cfg.Sampling != nil:
			in.ask = c.cfg.sample
		default:
			return nil, toolformat.Errorf(toolformat.Unavailable, "%s wants %.80s, which the client cannot do", c.cfg.Name, method)
		}
		all = append(all, in)
	}
	if len(all) > maxQuestions {
		return nil, toolformat.Errorf(toolformat.Unavailable, "%s asks %d questions at once, more than %d", c.cfg.Name, len(all), maxQuestions)
	}
	return all, nil
}

// inputResponses asks for all input at once, within the maximum of a call. The first failure
// cancels the other questions.
func (c *conn) inputResponses(ctx context.Context, req *bridge.Request, owner *session, raw []byte) ([]byte, *toolformat.Error) {
	all, err := c.inputRequests(req, owner, raw)
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
			result, err := in.ask(limited, in.method, in.params)
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
		failed = c.cfg.errorf(toolformat.Timeout, tookLonger, subject(req), c.cfg.MaxTimeout, "maxTimeout")
	}
	return responses, failed
}
