package mcpclient

import (
	"context"
	"errors"
	"log/slog"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// maxAsked bounds the questions of a server that wait for an answer.
const maxAsked = 64

// asked takes a request of the server, whose message it takes over: a question goes to
// the caller on whose behalf it is asked.
func (c *conn) asked(m *wire.Message, buf *wire.Buffer, from *call) {
	capability := bridge.QuestionCapability(m.Method)
	switch {
	case m.Method == wire.MethodPing:
		c.respond(wire.AppendResult(nil, m.ID, []byte("{}")))
	case capability == "" || wire.Lookup(c.offered, capability) == nil:
		c.flood.Log(slog.LevelInfo, "refused a request of the server: nothing of the kind was offered to it", "method", m.Method)
		c.respond(wire.AppendError(nil, m.ID, wire.MethodNotFound, "method not found: "+m.Method, nil))
	default:
		c.ask(m, buf, from)
		return
	}
	buf.Free()
}

// respond sends a response in the background.
func (c *conn) respond(msg []byte) {
	c.background(func(ctx context.Context) { c.carrier.send(ctx, &wire.Buffer{B: msg}, nil) })
}

// say sends the answer to a question from the goroutine that has waited for it: there are
// no more than maxAsked, and none of their answers is dropped.
func (c *conn) say(msg []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), backgroundTime)
	defer cancel()
	select {
	case <-c.dialled:
		c.carrier.send(ctx, &wire.Buffer{B: msg}, nil)
	case <-ctx.Done():
	}
}

// ask puts a question to the caller and sends the answer to the server. Meanwhile no
// call of the link runs out of time: it waits for a person. It ends with the call that it
// belongs to, and in any case when no call could have lasted longer.
func (c *conn) ask(m *wire.Message, buf *wire.Buffer, from *call) {
	id := string(m.ID)
	put, of := c.whom(m.Method, from)
	ctx, cancel := context.WithTimeout(of, c.cfg.MaxTimeout)
	if !c.beginAsk(id, cancel) {
		cancel()
		c.respond(wire.AppendError(nil, m.ID, wire.InternalError, "too many requests are waiting for an answer", nil))
		buf.Free()
		return
	}
	method, params := m.Method, m.Params.Raw
	if method == wire.MethodCreateMessage && wire.Lookup(c.link.key.offered(), "sampling") == nil {
		put = c.cfg.sample
	}
	c.start(func() {
		defer buf.Free()
		defer cancel()
		result, err := put(ctx, method, params)
		if !c.endAsk(id) {
			return // the server has taken its question back
		}
		answer := wire.AppendResult(nil, []byte(id), result)
		if err != nil {
			answer = appendAskError([]byte(id), err)
		}
		c.say(answer)
	})
}

// whom is who is asked: the caller along the call that caused the question, where that is
// known, else along the newest one. The context is that of the call that it surely belongs
// to: the one on whose stream it came, or the only one. A server may want to know the roots
// at any time.
func (c *conn) whom(method string, from *call) (put func(context.Context, string, []byte) ([]byte, *toolformat.Error), of context.Context) {
	along := from
	if from == nil || from.back == nil {
		if newest, only := c.newest(); newest != nil {
			along = newest
			if only {
				from = newest
			}
		}
	}
	put, of = c.link.ask, context.Background()
	if along != nil && along.back != nil {
		put = along.back.Ask
	}
	if from != nil && method != wire.MethodRootsList {
		of = from.ctx
	}
	return put, of
}

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

func (c *conn) beginAsk(id string, cancel context.CancelFunc) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost || len(c.asks) >= maxAsked || c.asks[id] != nil {
		return false
	}
	c.asks[id] = cancel
	if len(c.asks) == 1 {
		for _, k := range c.under {
			k.timer.Hold()
		}
	}
	return true
}

// endAsk takes a question off; false when it was taken back.
func (c *conn) endAsk(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.removeAsk(id) != nil
}

// removeAsk removes a question, if it is still open, and lets the calls' time go on after the
// last one. c.mu is held.
func (c *conn) removeAsk(id string) context.CancelFunc {
	cancel := c.asks[id]
	delete(c.asks, id)
	if cancel != nil && len(c.asks) == 0 {
		for _, k := range c.under {
			k.timer.Release()
		}
	}
	return cancel
}

// unask takes a question back because the server says so.
func (c *conn) unask(id string) {
	c.mu.Lock()
	cancel := c.removeAsk(id)
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}
