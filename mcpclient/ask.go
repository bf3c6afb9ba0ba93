package mcpclient

import (
	"context"
	"errors"
	"log/slog"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// maxQuestions bounds the questions of a server that wait for an answer.
const maxQuestions = 64

// requested takes a request of the server, which was received on the stream of the call from, if
// any. It owns buf, the message's memory.
func (c *conn) requested(m *wire.Message, buf *wire.Buffer, from *call) {
	capability := bridge.QuestionCapability(m.Method)
	switch {
	case m.Method == wire.MethodPing:
		c.respond(wire.AppendResult(nil, m.ID, []byte("{}")))
	case capability == "" || wire.Lookup(c.offered, capability) == nil:
		c.cfg.throttle.Log(slog.LevelInfo, "refused a request of the server: no such capability was offered to it", "method", m.Method)
		c.respond(wire.AppendError(nil, m.ID, wire.MethodNotFound, "method not found: "+m.Method, nil))
	default:
		c.forward(m, buf, from)
		return
	}
	buf.Free()
}

// forward puts a question to the caller and sends the answer to the server. Meanwhile the time of
// calls stands still. The question ends with the call that it belongs to, or after the maximum of
// a call.
func (c *conn) forward(m *wire.Message, buf *wire.Buffer, from *call) {
	id := string(m.ID)
	ask, of := c.route(m.Method, from)
	ctx, cancel := context.WithTimeout(of, c.cfg.MaxTimeout)
	if !c.addQuestion(id, cancel) {
		cancel()
		c.respond(wire.AppendError(nil, m.ID, wire.InternalError, "too many requests are waiting for an answer", nil))
		buf.Free()
		return
	}
	method, params := m.Method, m.Params.Raw
	c.start(func() {
		defer buf.Free()
		defer cancel()
		result, err := ask(ctx, method, params)
		if !c.endQuestion(id) {
			return // canceled by the server
		}
		answer := wire.AppendResult(nil, []byte(id), result)
		if err != nil {
			answer = appendAskError([]byte(id), err)
		}
		// Not in the background, where it could be dropped: maxQuestions bounds these goroutines.
		c.whenDialed(func(ctx context.Context) { c.carrier.send(ctx, &wire.Buffer{B: answer}, nil) })
	})
}

// route decides which caller answers a question: that of the call on whose stream it came, else
// that of the newest call. The context is that of the call that the question certainly belongs
// to, if there is one: that of the stream, or the only one. A server may ask for roots at any time.
func (c *conn) route(method string, from *call) (asker, context.Context) {
	along := from
	if from == nil || from.back == nil {
		if newest, only := c.newestCall(); newest != nil {
			along = newest
			if only {
				from = newest
			}
		}
	}
	ask, of := c.handler.ask, context.Background()
	switch {
	case method == wire.MethodCreateMessage && !c.clientSamples:
		ask = c.cfg.sample
	case along != nil && along.back != nil:
		ask = along.back.Ask
	}
	if from != nil && method != wire.MethodRootsList {
		of = from.ctx
	}
	return ask, of
}

// appendAskError makes the response for a question without an answer.
func appendAskError(id []byte, e *toolformat.Error) []byte {
	if e.Raw != nil {
		return wire.AppendErrorObject(nil, id, e.Raw)
	}
	code := wire.InternalError
	if errors.Is(e, context.Canceled) || e.Code == toolformat.Canceled {
		code = -32000
	}
	return wire.AppendError(nil, id, code, e.Message, nil)
}

// addQuestion adds a question, and holds the calls' time if it is the first; false means that
// there are too many, or that its id is in use.
func (c *conn) addQuestion(id string, cancel context.CancelFunc) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost || len(c.questions) >= maxQuestions || c.questions[id] != nil {
		return false
	}
	c.questions[id] = cancel
	if len(c.questions) == 1 {
		for _, k := range c.calls {
			k.timer.Hold()
		}
	}
	return true
}

// endQuestion removes and cancels a question; false means that the id is unknown.
func (c *conn) endQuestion(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.removeQuestion(id)
}

// removeQuestion is endQuestion with c.mu held.
func (c *conn) removeQuestion(id string) bool {
	cancel := c.questions[id]
	if cancel == nil {
		return false
	}
	cancel()
	delete(c.questions, id)
	if len(c.questions) == 0 {
		for _, k := range c.calls {
			k.timer.Release()
		}
	}
	return true
}
