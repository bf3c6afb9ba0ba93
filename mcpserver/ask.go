package mcpserver

import (
	"bytes"
	"context"
	"strconv"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// asking are the requests to a client that wait for its response.
type asking struct {
	mu      sync.Mutex // guards what follows
	last    int64
	waiting map[int64]chan *wire.Buffer
}

func (a *asking) begin() (id int64, answer chan *wire.Buffer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting == nil {
		a.waiting = map[int64]chan *wire.Buffer{}
	}
	a.last++
	answer = make(chan *wire.Buffer, 1)
	a.waiting[a.last] = answer
	return a.last, answer
}

func (a *asking) end(id int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, id)
}

// answered takes a response of the client, of which it keeps a copy.
func (a *asking) answered(m *wire.Message) {
	id, err := strconv.ParseInt(string(m.ID), 10, 64)
	a.mu.Lock()
	defer a.mu.Unlock()
	answer := a.waiting[id]
	if err != nil || answer == nil {
		return // nobody asked, or not any more
	}
	delete(a.waiting, id)
	answer <- &wire.Buffer{B: bytes.Clone(m.Raw)}
}

// ask sends a request to the client through an outbox and waits for its response.
func (s *session) ask(ctx context.Context, box *outbox, method string, params []byte) ([]byte, *toolformat.Error) {
	id, answer := s.asking.begin()
	defer s.asking.end(id)
	box.send(&wire.Buffer{B: wire.AppendCall(nil, id, method, params)})
	select {
	case msg := <-answer:
		m, err := wire.Split(msg.B)
		if err != nil {
			return nil, toolformat.Errorf(toolformat.Internal, "internal error").Because(err)
		}
		if m.Error != nil {
			text, _ := wire.Text(wire.Lookup(m.Error, "message"))
			return nil, &toolformat.Error{Code: toolformat.Internal, Message: text, Raw: m.Error}
		}
		return m.Result, nil
	case <-ctx.Done():
		box.Notify(wire.NotificationCancelled, append(strconv.AppendInt([]byte(`{"requestId":`), id, 10), '}'))
		return nil, toolformat.Errorf(toolformat.Canceled, "cancelled")
	case <-s.ctx.Done():
	case <-box.done: // the answer to what was sent before, if any, has nothing to go along
	}
	return nil, toolformat.Errorf(toolformat.Unavailable, "the client has gone")
}
