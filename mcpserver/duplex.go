package mcpserver

import (
	"context"
	"log/slog"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// duplex is a session on a connection that carries both ways: stdio, SSE, WebSocket. Everything
// for the client goes through one outbox, so that what belongs to a request precedes its response.
type duplex struct {
	*session
	box  *outbox
	work requests

	works bool // it has been counted in workers.users, or comes too late for that
}

func (s *Server) newDuplex(sender identity) *duplex {
	d := &duplex{session: s.newSession(sender)}
	d.box = newOutbox(s.opts().QueueBytes, d.account)
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
	w := d.server.workers.take(d, msg)
	var err error
	w.m, err = wire.Split(msg.B)
	switch {
	case err != nil && isBatch(msg.B):
		if d.start(func() { d.receiveBatch(msg) }) {
			w.put()
			return
		}
	case err != nil:
		if !d.questions.fail(msg.B, msg.B, err) {
			d.box.send(unreadable(err))
		}
	case !d.accept(&w.m):
		d.startRequest(w)
		return
	}
	w.put()
	msg.Free()
}

// startRequest carries out the request of a worker in the background, or refuses it.
func (d *duplex) startRequest(w *worker) {
	w.begun = d.beginRequest(d.ctx, &w.m, &d.work) // here, so that a cancellation that follows finds it
	if w.begun.refused != nil {
		d.answer(w)
		w.put()
		return
	}
	if w.m.Method == wire.MethodInitialize {
		w.initialized = d.beginInitialize()
	}
	w.start()
}

// answer carries out the request of a worker and answers it.
func (d *duplex) answer(w *worker) {
	if resp, ok := d.carryOut(w.begun, &w.m, d); ok {
		d.box.respond(&resp)
	}
	w.msg.Free()
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
	if reason := d.box.reason(); reason == errSlow || reason == errCrowded {
		d.server.log.Log(slog.LevelWarn, "ended a connection", "reason", reason, "principal", d.sender.principal.Name, "carrier", d.sender.carrier)
	}
	if d.server.begin() { // else Close ends the session
		d.end(errEnded)
		d.server.work.Done()
	}
	d.work.waitAll()
	d.server.workers.leave(d)
	d.box.discard() // or its writer does
}

// How long pending requests may go on to be answered.
const (
	answerGrace = time.Second     // after the connection has ended, or the Server has canceled them
	pipedGrace  = 4 * time.Second // after a client on stdio has closed its end: it may have piped them in, to a server that only starts
)

// awaitAnswers waits until the pending requests are answered, at most for grace and until done.
func (d *duplex) awaitAnswers(grace time.Duration, done <-chan struct{}) {
	await(d.work.waitAll, grace, done)
}

// await waits until wait returns, at most for grace and until done.
func await(wait func(), grace time.Duration, done <-chan struct{}) {
	answered := make(chan struct{})
	go func() {
		wait()
		close(answered)
	}()
	select {
	case <-answered:
	case <-time.After(grace):
	case <-done:
	}
}

// endBox ends the outbox for the reason for which the session has ended, with the answers to its requests.
func (d *duplex) endBox() {
	d.awaitAnswers(answerGrace, d.box.done)
	d.box.end(context.Cause(d.ctx))
}
