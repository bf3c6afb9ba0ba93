package mcpserver

import (
	"context"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// duplex is a session on a connection that carries both ways: stdio, SSE, WebSocket.
// Everything to the client goes through one outbox, so that what belongs to a request
// precedes its response.
type duplex struct {
	*session
	box  *outbox
	work sync.WaitGroup // requests under way
}

func (s *Server) newDuplex(who identity) *duplex {
	box := newOutbox(s.opts.QueueBytes)
	d := &duplex{session: s.newSession(who, nil), box: box}
	d.standing = d
	return d
}

// take handles one message of the client, which it takes over. Requests run side by
// side.
func (d *duplex) take(msg *wire.Buffer) {
	m, err := wire.Split(msg.B)
	switch {
	case err != nil && isBatch(msg.B):
		if !d.start(func() { d.takeBatch(msg) }) {
			msg.Free()
		}
		return
	case err != nil:
		d.complain(err)
	case m.Kind() == wire.Notification:
		d.notified(&m)
	case m.Kind() == wire.Response:
		d.asking.answered(&m)
	case m.Kind() == wire.Request:
		u := d.begin(d.ctx, &m) // here, so that a cancellation that follows finds it
		opened := func() {}
		if m.Method == wire.MethodInitialize {
			opened = d.opening()
		}
		started := d.start(func() {
			defer opened()
			resp := d.carry(u, &m, d)
			if resp.mute {
				resp.reply.Free()
			} else {
				d.box.send(resp.encode())
			}
			msg.Free()
		})
		if started {
			return
		}
		opened()
		u.cancel(errEnded)
	}
	msg.Free()
}

// start runs f in a goroutine that close waits for; false when the session has ended.
func (d *duplex) start(f func()) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.ended {
		d.work.Go(f)
	}
	return !d.ended
}

func (d *duplex) takeBatch(msg *wire.Buffer) {
	defer msg.Free()
	members, err := d.batchMembers(msg.B)
	if err != nil {
		d.complain(err)
		return
	}
	if all := d.batch(d.ctx, members, d); all != nil {
		d.box.send(all.Buffer)
	}
}

// complain answers what is no JSON-RPC message.
func (d *duplex) complain(err error) {
	out := wire.NewBuffer(128)
	out.B = appendUnreadable(out.B, err)
	d.box.send(out)
}

// quiet waits until no request is under way, or ctx ends.
func (d *duplex) quiet(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		d.work.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// close ends the session and waits for its requests. What was put in for the client
// before is still sent.
func (d *duplex) close(why error) {
	d.box.end(why)
	d.end()
	d.work.Wait()
}

// Ask implements bridge.Back for a connection that carries both ways.
func (d *duplex) Ask(ctx context.Context, method string, params []byte) ([]byte, *toolformat.Error) {
	return d.ask(ctx, d.box, method, params)
}

// Notify implements bridge.Back.
func (d *duplex) Notify(method string, params []byte) { d.box.Notify(method, params) }
