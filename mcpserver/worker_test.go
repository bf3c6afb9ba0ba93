package mcpserver

import (
	"testing"
	"testing/synctest"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A connection may have more requests than workers stay; those that stay end with the last
// connection, and one that is busy then ends with its request.
func TestWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(sourcetest.NewFake(), Options{})
		d := s.newDuplex(identity{})
		busy := make([]*worker, maxIdleWorkers+3)
		for i := range busy {
			busy[i] = s.workers.take(d, message{Buffer: wire.NewBuffer(0)})
		}
		for _, w := range busy[:maxIdleWorkers+1] {
			w.put()
		}
		if n := len(s.workers.idle); n != maxIdleWorkers {
			t.Errorf("%d workers are idle", n)
		}
		for range 2 * maxIdleWorkers {
			request := wire.NewBuffer(0)
			request.B = append(request.B, `{"jsonrpc":"2.0","id":1,"method":"ping"}`...)
			d.receive(message{Buffer: request})
			synctest.Wait()
		}
		last := busy[maxIdleWorkers+1]
		last.m, _ = wire.Split([]byte(`{"jsonrpc":"2.0","id":2,"method":"ping"}`))
		last.begun = d.beginRequest(d.ctx, &last.m, &d.work)
		last.start()
		synctest.Wait() // it has become idle again, or has ended
		other := s.newDuplex(identity{})
		s.workers.take(other, message{}).put()
		d.close(errEnded)
		if len(s.workers.idle) == 0 {
			t.Error("the workers have ended before the last connection")
		}
		other.close(errEnded)
		busy[maxIdleWorkers+2].put() // after the end
		if len(s.workers.idle) > 0 {
			t.Error("workers are idle after the end")
		}
		s.Close()
	})
}
