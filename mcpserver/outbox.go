package mcpserver

import (
	"errors"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// maxProgress is how much progress of one token waits for a slow client before the newest
// takes the place of the one before it.
const maxProgress = 1000

// maxKeyed is how many keys the memory for them is kept for when all has been taken.
const maxKeyed = 1000

// errSlow ends a connection whose client does not read.
var errSlow = errors.New("the client does not read what it is sent")

// outbox holds what waits to be sent to a client, in order. Any goroutine puts in, one
// takes out.
type outbox struct {
	limit int           // bytes that may wait before something more does
	wake  chan struct{} // there is something to take
	done  chan struct{} // closed with the outbox

	mu    sync.Mutex // guards what follows
	items []*wire.Buffer
	spare []*wire.Buffer   // the batch taken last, to be used again
	keyed map[string]keyed // what of the items has a key
	bytes int
	err   error // why it is closed
}

// keyed is what waits of one key: the method of a list change, or a progress token.
type keyed struct {
	n      int
	newest int // its index in the items
}

func newOutbox(limit int) *outbox {
	return &outbox{limit: limit, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

// send puts a response or a request in. It is never dropped unless the outbox is closed.
func (o *outbox) send(msg *wire.Buffer) { o.put(msg, "", 0) }

// Notify puts a notification in. It is bridge.Back and the session's own voice.
func (o *outbox) Notify(method string, params []byte) {
	msg := wire.NewBuffer(len(params) + len(method) + 64)
	msg.B = wire.AppendNotification(msg.B, method, params)
	switch {
	case params == nil: // list changes say nothing but that there is one
		o.put(msg, method, 1)
	case method == wire.NotificationProgress:
		o.put(msg, string(wire.Lookup(params, "progressToken")), maxProgress)
	default:
		o.put(msg, "", 0)
	}
}

// put puts a message in, at the end, or in the place of the newest one with the same key
// when most of these wait already. Without a key there is no such bound.
func (o *outbox) put(msg *wire.Buffer, key string, most int) {
	o.mu.Lock()
	if o.err != nil {
		o.mu.Unlock()
		msg.Free()
		return
	}
	same := o.keyed[key]
	if key != "" && same.n >= most {
		old := o.items[same.newest]
		o.bytes += len(msg.B) - len(old.B)
		o.items[same.newest] = msg
		o.mu.Unlock()
		old.Free()
		return
	}
	if o.bytes > o.limit {
		o.close(errSlow)
		o.mu.Unlock()
		msg.Free()
		return
	}
	if key != "" {
		if o.keyed == nil {
			o.keyed = map[string]keyed{}
		}
		o.keyed[key] = keyed{same.n + 1, len(o.items)}
	}
	o.items = append(o.items, msg)
	o.bytes += len(msg.B)
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// take returns what waits, when something does. The batch is valid until the next
// take; its messages are the taker's.
func (o *outbox) take() ([]*wire.Buffer, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.items) == 0 {
		return nil, o.err
	}
	batch := o.items
	clear(o.spare)
	o.items, o.spare = o.spare[:0], batch
	o.bytes = 0
	if len(o.keyed) > maxKeyed {
		o.keyed = nil
	} else {
		clear(o.keyed)
	}
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
// gone is closed; idle is called each keepAlive. It returns why it ended.
func (o *outbox) drain(gone <-chan struct{}, write func([]*wire.Buffer) error, idle func() error) error {
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
			if err = write(batch); err != nil {
				return err
			}
			select {
			case <-t.C:
				err = idle()
			default:
			}
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
