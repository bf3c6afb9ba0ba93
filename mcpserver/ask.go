package mcpserver

import (
	"bytes"
	"context"
	"strconv"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// questions holds the requests sent to a client that wait for its response.
type questions struct {
	mu      sync.Mutex // guards the fields below
	last    int64      // id
	waiting map[int64]chan *wire.Buffer
}

// answer delivers a copy of a client's response to the question that waits for it, if any.
func (q *questions) answer(m *wire.Message) {
	id, err := strconv.ParseInt(string(m.ID), 10, 64)
	q.mu.Lock()
	defer q.mu.Unlock()
	if waiting := q.waiting[id]; err == nil && waiting != nil {
		delete(q.waiting, id)
		waiting <- &wire.Buffer{B: bytes.Clone(m.Raw)}
	}
}

// ask sends a request to the client through box and waits for its response. life ends with the
// client's session.
func (q *questions) ask(ctx, life context.Context, box *outbox, method string, params []byte) ([]byte, *toolformat.Error) {
	answer := make(chan *wire.Buffer, 1)
	q.mu.Lock()
	if q.waiting == nil {
		q.waiting = map[int64]chan *wire.Buffer{}
	}
	q.last++
	id := q.last
	q.waiting[id] = answer
	q.mu.Unlock()
	defer func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.waiting, id)
	}()
	box.send(&wire.Buffer{B: wire.AppendCall(nil, id, method, params)})
	select {
	case msg := <-answer:
		m, err := wire.Split(msg.B)
		if err != nil {
			return nil, toolformat.AsError(err)
		}
		if m.Error != nil {
			text, _ := wire.Text(wire.Lookup(m.Error, "message"))
			return nil, &toolformat.Error{Code: toolformat.Internal, Message: text, Raw: m.Error}
		}
		return m.Result, nil
	case <-ctx.Done():
		box.Notify(wire.NotificationCancelled, append(strconv.AppendInt([]byte(`{"requestId":`), id, 10), '}'))
		return nil, toolformat.Errorf(toolformat.Canceled, "canceled")
	case <-life.Done():
	case <-box.done: // nothing can be sent any more
	}
	return nil, unavailable("the client has gone")
}
