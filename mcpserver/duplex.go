package mcpserver

import (
	"context"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// duplex is a session on a connection that carries both ways: stdio, SSE, WebSocket. Everything
// for the client goes through one outbox, so that what belongs to a request precedes its response.
type duplex struct {
	*session
	box  *outbox
	work sync.WaitGroup // requests
}

func (s *Server) newDuplex(sender identity) *duplex {
	d := &duplex{session: s.newSession(sender)}
	d.box = newOutbox(s.opts.QueueBytes, d.account)
	d.back = d
	return d
}

// Notify implements bridge.Back.
func (d *duplex) Notify(method string, params []byte) { d.box.Notify(method, params) }

// Ask implements bridge.Back.
func (d *duplex) Ask(ctx context.Context, method string, params []byte) ([]byte, *toolformat.Error) {
	return d.ask(ctx, d.box, method, params)
}

// receive handles one message of the client, and takes it over. Requests run concurrently.
func (d *duplex) receive(msg message) {
	m, err := wire.Split(msg.B)
	switch {
	case err != nil && isBatch(msg.B):
		if d.start(func() { d.receiveBatch(msg) }) {
			return
		}
	case err != nil:
		d.box.send(unreadable(err))
	case !d.accept(&m):
		if d.startRequest(&m, msg) {
			return
		}
	}
	msg.Free()
}

// startRequest carries out a request in the background, and reports false when the session has
// ended.
func (d *duplex) startRequest(m *wire.Message, msg message) bool {
	p := d.beginRequest(d.ctx, m) // here, so that a cancellation that follows finds it
	initialized := func() {}
	if m.Method == wire.MethodInitialize {
		initialized = d.beginInitialize()
	}
	started := d.start(func() {
		defer initialized()
		if resp, ok := d.carryOut(p, m, d); ok {
			d.box.respond(&resp)
		}
		msg.Free()
	})
	if !started {
		initialized()
		if p.refused == nil {
			d.endRequest(p.id)
			p.refused = unavailable("%v", errEnded)
		}
		refusal, _ := d.carryOut(p, m, d)
		d.box.respond(&refusal)
	}
	return started
}

// start runs f in a goroutine that close waits for, and reports false when the session has ended.
func (d *duplex) start(f func()) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended == nil {
		d.work.Go(f)
	}
	return d.ended == nil
}

func (d *duplex) receiveBatch(msg message) {
	defer msg.Free()
	members, err := d.batchMembers(msg.B)
	if err != nil {
		d.box.send(unreadable(err))
		return
	}
	if responses := d.batch(d.ctx, members, d); responses != nil {
		responses.sendTo(d.box)
	}
}

// close ends the session and waits for its requests. What is in the outbox already is still sent.
func (d *duplex) close(reason error) {
	d.box.end(reason)
	d.end(errEnded)
	d.work.Wait()
	d.box.discard() // or its writer does
}

// answerGrace is how long requests may go on to be answered after the client has closed its end, or
// the Server has canceled them.
const answerGrace = time.Second

// awaitAnswers waits until the pending requests are answered, at most for answerGrace.
func (d *duplex) awaitAnswers(done <-chan struct{}) {
	answered := make(chan struct{})
	go func() {
		d.work.Wait()
		close(answered)
	}()
	select {
	case <-answered:
	case <-time.After(answerGrace):
	case <-done:
	}
}

// endBox ends the outbox when the session has ended, with the answers to its requests.
func (d *duplex) endBox() {
	d.awaitAnswers(d.box.done)
	d.box.end(errClosing)
}
