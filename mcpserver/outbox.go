package mcpserver

import (
	"errors"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// maxNotes is how many notifications wait for a slow client before progress of one
// token is coalesced to the newest.
const maxNotes = 1000

// errSlow ends a connection whose client does not read.
var errSlow = errors.New("the client does not read what it is sent")

// outbox holds what waits to be sent to a client, in order. Any goroutine puts in, one
// takes out.
type outbox struct {
	limit int           // bytes that may wait before something more does
	wake  chan struct{} // there is something to take
	done  chan struct{} // closed with the outbox

	mu    sync.Mutex // guards what follows
	items []item
	spare []item // the batch taken last, to be used again
	bytes int
	notes int
	err   error // why it is closed
}

// item is one message. Of items with the same key the newest is enough.
type item struct {
	msg  *wire.Buffer
	key  string
	note bool
}

func newOutbox(limit int) *outbox {
	return &outbox{limit: limit, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

// send puts a response or a request in. It is never dropped unless the outbox is closed.
func (o *outbox) send(msg *wire.Buffer) { o.put(item{msg: msg}, false) }

// Notify puts a notification in. It is bridge.Back and the session's own voice.
func (o *outbox) Notify(method string, params []byte) {
	it := item{msg: wire.NewBuffer(len(params) + len(method) + 64), note: true}
	it.msg.B = wire.AppendNotification(it.msg.B, method, params)
	newest := params == nil // list changes say nothing but that there is one
	if newest {
		it.key = method
	} else if method == wire.NotificationProgress {
		it.key = string(wire.Lookup(params, "progressToken"))
	}
	o.put(it, newest)
}

func (o *outbox) put(it item, newest bool) {
	o.mu.Lock()
	if o.err != nil {
		o.mu.Unlock()
		it.msg.Free()
		return
	}
	if it.key != "" && (newest || o.notes >= maxNotes) && o.replace(it) {
		o.mu.Unlock()
		return
	}
	if o.bytes > o.limit {
		o.close(errSlow)
		o.mu.Unlock()
		it.msg.Free()
		return
	}
	o.items = append(o.items, it)
	o.bytes += len(it.msg.B)
	if it.note {
		o.notes++
	}
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// replace puts an item in the place of the last one with its key; o.mu is held.
func (o *outbox) replace(it item) bool {
	for i := len(o.items) - 1; i >= 0; i-- {
		if o.items[i].key == it.key {
			o.bytes += len(it.msg.B) - len(o.items[i].msg.B)
			o.items[i].msg.Free()
			o.items[i] = it
			return true
		}
	}
	return false
}

// take returns what waits, when something does. The batch is valid until the next
// take; its messages are the taker's.
func (o *outbox) take() ([]item, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.items) == 0 {
		return nil, o.err
	}
	batch := o.items
	clear(o.spare)
	o.items, o.spare = o.spare[:0], batch
	o.bytes, o.notes = 0, 0
	return batch, nil
}

// end closes the outbox: what waits can still be taken, nothing more is put in.
func (o *outbox) end(why error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.close(why)
}

// close is end with o.mu held.
func (o *outbox) close(why error) {
	if o.err == nil {
		o.err = why
		close(o.done)
	}
}

// errDetached ends a drain whose consumer has gone; the outbox stays.
var errDetached = errors.New("the client has gone")

// drain hands batches to write until the outbox is closed and empty, write fails, or
// gone is closed; idle is called each keepAlive without any. It returns why it ended.
func (o *outbox) drain(gone <-chan struct{}, write func([]item) error, idle func() error) error {
	t := time.NewTicker(keepAlive)
	defer t.Stop()
	for {
		batch, err := o.take()
		if batch == nil && err == nil {
			select {
			case <-o.wake:
			case <-o.done:
			case <-t.C:
				err = idle()
			case <-gone:
				err = errDetached
			}
		} else if batch != nil {
			err = write(batch)
		}
		if err != nil {
			return err
		}
	}
}

const (
	keepAlive = 25 * time.Second // how often something is sent on a quiet connection
	writeTime = 30 * time.Second // how long a client may take to take something
)
