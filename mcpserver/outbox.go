package mcpserver

import (
	"errors"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

const (
	// maxProgress bounds the progress notifications of one token that wait for a slow client; the
	// newest one then replaces the one before it.
	maxProgress = 1000
	// maxKeyed bounds the map of keys that is reused when all messages have been taken.
	maxKeyed = 1000

	keepAlive = 25 * time.Second // how often something is sent on a quiet connection
	writeTime = 30 * time.Second // bounds a write to a client
)

var (
	errSlow     = errors.New("the client does not read what it is sent")
	errDetached = errors.New("the client has gone") // ends a drain; the outbox stays open
)

// outbox holds what is to be sent to a client, in order. Any goroutine may send; one drains.
type outbox struct {
	limit int           // bytes that may wait before the client counts as too slow
	wake  chan struct{} // holds a token when there is something to take
	done  chan struct{} // closed with the outbox

	mu    sync.Mutex // guards the fields below
	items []*wire.Buffer
	spare []*wire.Buffer   // the batch taken last, for reuse
	keyed map[string]keyed // the items that have a key
	bytes int              // of the items
	err   error            // why the outbox is closed
}

// keyed counts the items of one key: the method of a list change, or a progress token.
type keyed struct {
	n      int
	newest int // index in items
}

func newOutbox(limit int) *outbox {
	return &outbox{limit: limit, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

// send adds a response or a request, which is dropped only when the outbox is closed.
func (o *outbox) send(msg *wire.Buffer) { o.add(msg, "", 0) }

// Notify adds a notification, as bridge.Back.Notify does.
func (o *outbox) Notify(method string, params []byte) {
	msg := wire.NewBuffer(len(params) + len(method) + 64)
	msg.B = wire.AppendNotification(msg.B, method, params)
	key, most := "", 0
	switch {
	case params == nil: // one list change stands for all of its kind
		key, most = method, 1
	case method == wire.NotificationProgress:
		key, most = string(wire.Lookup(params, "progressToken")), maxProgress
	}
	o.add(msg, key, most)
}

// add appends a message. If most messages with its key wait already, it replaces the newest of them
// instead; an empty key has no such bound.
func (o *outbox) add(msg *wire.Buffer, key string, most int) {
	o.mu.Lock()
	dropped := o.put(msg, key, most)
	o.mu.Unlock()
	dropped.Free()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// put is add with o.mu held. It returns the message that is not sent, if any.
func (o *outbox) put(msg *wire.Buffer, key string, most int) (dropped *wire.Buffer) {
	same := o.keyed[key]
	switch {
	case o.err != nil:
		return msg
	case key != "" && same.n >= most:
		dropped, o.items[same.newest] = o.items[same.newest], msg
		o.bytes += len(msg.B) - len(dropped.B)
		return dropped
	case o.bytes > o.limit:
		o.close(errSlow)
		return msg
	case key != "":
		if o.keyed == nil {
			o.keyed = map[string]keyed{}
		}
		o.keyed[key] = keyed{same.n + 1, len(o.items)}
	}
	o.items = append(o.items, msg)
	o.bytes += len(msg.B)
	return nil
}

// take returns the messages that wait, which are the caller's; without any, it returns why the
// outbox is closed. The slice is valid until the next take.
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

// end closes the outbox: what waits can still be taken, and nothing is added any more.
func (o *outbox) end(reason error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.close(reason)
}

// close is end with o.mu held.
func (o *outbox) close(reason error) {
	if o.err == nil {
		o.err = reason
		close(o.done)
	}
}

// isClosed reports whether the outbox is closed. It need not be empty.
func (o *outbox) isClosed() bool {
	select {
	case <-o.done:
		return true
	default:
		return false
	}
}

// drain passes batches to write until the outbox is closed and empty, write fails, or gone is
// closed, and returns why. It calls idle every keepAlive.
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
