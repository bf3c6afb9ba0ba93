package mcpserver

import (
	"bytes"
	"errors"
	"maps"
	"math"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

const (
	// maxProgress is how many notifications of one progress token wait for a slow client; the newest
	// one then replaces the one before it.
	maxProgress = 1000
	// maxKeyed bounds the map of keys that is kept when messages have been taken.
	maxKeyed = 1000
	// batchBytes bounds what is taken at once, in bytes, so that what has been written counts no
	// longer; a single message may be larger.
	batchBytes = 256 << 10
	// itemBytes is what a message holds beside its bytes.
	itemBytes = 64
	// compactFrom is how many messages wait before those that come get no more memory than they need:
	// pooled buffers are many times as large as most messages.
	compactFrom = 16
	// freeBytes may wait in an outbox without being counted in the account of its principal; what
	// exceeds it is counted in steps of that size.
	freeBytes = 16 << 10

	keepAlive = 25 * time.Second // how often something is sent on a quiet connection
	writeTime = 30 * time.Second // bounds a write to a client
	slowTime  = 25 * time.Second // how long a client may take nothing from a full outbox; less than writeTime
	never     = math.MaxInt64    // of a time.Duration
)

var (
	errSlow     = errors.New("the client does not read what it is sent")
	errDetached = errors.New("the client has gone") // ends a drain; the outbox stays open
)

// outbox holds what is to be sent to a client, in order. Any goroutine may send; one drains.
type outbox struct {
	limit   int           // bytes that may wait before the client counts as too slow
	account *account      // of the client's principal
	wake    chan struct{} // holds a token when there is something for drain to do
	done    chan struct{} // closed with the outbox
	full    atomic.Bool   // half of limit waits: no more is read from the client
	room    chan struct{} // holds a token when full has ended
	parts   atomic.Int64  // parts of large messages that the client has taken

	mu       sync.Mutex // guards the fields below
	items    []*wire.Buffer
	first    int              // number of items[0]; they are numbered from the beginning
	keyed    map[string]keyed // the items that have a key
	batch    []*wire.Buffer   // taken last
	bytes    int              // held by the items and the batch
	taken    int              // held by the batch
	counted  int              // bytes that the account has counted
	draining bool
	left     bool  // its client has gone, and may come back, or has come back to more than limit
	err      error // why the outbox is closed
}

// keyed counts the items of one key: the method of a list change, or a progress token.
type keyed struct {
	n      int // since its first item that waited; more than wait when some of them have been taken
	newest int // the number of the last item
}

func newOutbox(limit int, a *account) *outbox {
	return &outbox{limit: limit, account: a, wake: make(chan struct{}, 1), done: make(chan struct{}), room: make(chan struct{}, 1)}
}

// send adds a response or a request, which is dropped only when the outbox is closed. It may exceed
// the limit: no more is read from the client then, and what was read before is bounded by the account
// and by the calls of a session.
func (o *outbox) send(msg *wire.Buffer) { o.add(msg, "", 0, math.MaxInt) }

// respond sends a response. It becomes an error if the principal has no bytes left, or if more than half of them wait
// for this client: one that does not read leaves room for others.
func (o *outbox) respond(r *response) {
	msg := r.encode()
	if held(msg) > freeBytes && !o.reserve(held(msg)) {
		msg.Free()
		r.refuse(o.account)
		msg = r.encode()
	}
	o.send(msg)
}

// reserve reports whether there is room for a response of n bytes.
func (o *outbox) reserve(n int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err != nil || int64(o.bytes) <= o.account.most[heldBytes].Load()/2 && o.count(n)
}

// Notify adds a notification, as bridge.Back.Notify does.
func (o *outbox) Notify(method string, params []byte) {
	msg := wire.NewBuffer(len(params) + len(method) + 64)
	msg.B = wire.AppendNotification(msg.B, method, params)
	switch {
	case params == nil: // one list change stands for all of its kind, and has room when there is none for others
		o.add(msg, method, 1, 2*o.limit)
	case method == wire.NotificationProgress:
		o.add(msg, string(wire.Lookup(params, "progressToken")), maxProgress, o.limit)
	default:
		o.add(msg, "", 0, o.limit)
	}
}

// add appends a message. If most messages with its key wait already, it replaces the newest of them
// instead; an empty key has no such bound. If more than limit bytes wait, the client is too slow, unless it has gone: then
// what is beyond them is dropped, so that it finds the response when it comes back.
func (o *outbox) add(msg *wire.Buffer, key string, most, limit int) {
	o.mu.Lock()
	if len(o.items) >= compactFrom && cap(msg.B) > 2*len(msg.B) {
		pooled := msg
		msg = &wire.Buffer{B: bytes.Clone(msg.B)}
		pooled.Free()
	}
	dropped := o.put(msg, key, most, limit)
	o.mu.Unlock()
	dropped.Free()
	o.signal()
}

// signal makes drain look for what there is to do.
func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// put is add with o.mu held. It returns the message that is not sent, if any.
func (o *outbox) put(msg *wire.Buffer, key string, most, limit int) (dropped *wire.Buffer) {
	var same keyed
	if key != "" {
		same = o.keyed[key]
		same.n = min(same.n, max(0, same.newest-o.first+1)) // no more of them can wait
	}
	switch {
	case o.err != nil:
		return msg
	case key != "" && same.n >= most:
		at := same.newest - o.first
		if more := held(msg) - held(o.items[at]); more > 0 && (o.bytes+more > o.limit || !o.count(more)) {
			return msg // a smaller one stays
		}
		dropped, o.items[at] = o.items[at], msg
		o.bytes += held(msg) - held(dropped)
		return dropped
	case o.left && limit < math.MaxInt && (o.bytes > limit || !o.count(held(msg))):
		return msg
	case o.bytes > limit:
		o.close(errSlow)
		return msg
	case !o.count(held(msg)):
		o.close(errCrowded)
		return msg
	case key != "":
		if o.keyed == nil {
			o.keyed = map[string]keyed{}
		}
		o.keyed[key] = keyed{same.n + 1, o.first + len(o.items)}
	}
	o.items = append(o.items, msg)
	o.bytes += held(msg)
	if o.bytes > o.limit/2 {
		o.full.Store(true)
	}
	return nil
}

// held returns the bytes that a message holds as long as it waits.
func held(msg *wire.Buffer) int { return cap(msg.B) + itemBytes }

// count counts n more bytes in the account, and reports whether it has room for them. o.mu is held.
func (o *outbox) count(n int) bool {
	need := o.bytes + n - freeBytes
	if need <= o.counted {
		return true
	}
	need = (need + freeBytes - 1) / freeBytes * freeBytes
	if !o.account.take(heldBytes, need-o.counted) {
		return false
	}
	o.counted = need
	return true
}

// take returns the next messages that wait, which are the caller's, as is the slice until the next
// take. Without any, it returns why the outbox is closed.
func (o *outbox) take() ([]*wire.Buffer, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.settle()
	clear(o.batch) // not in settle: the batch may be in use
	n := 0
	for n < len(o.items) && (n == 0 || o.taken+held(o.items[n]) <= batchBytes) {
		o.taken += held(o.items[n])
		n++
	}
	o.first += n
	switch {
	case n == 0:
		return nil, o.err
	case n < len(o.items):
		o.batch = append(o.batch[:0], o.items[:n]...)
		o.items = slices.Delete(o.items, 0, n)
		maps.DeleteFunc(o.keyed, func(_ string, k keyed) bool { return k.newest < o.first })
	default:
		o.items, o.batch = o.batch[:0], o.items
		if len(o.keyed) > maxKeyed {
			o.keyed = nil
		}
		clear(o.keyed)
	}
	return o.batch, nil
}

// settle counts the batch taken last as written. o.mu is held.
func (o *outbox) settle() {
	o.bytes -= o.taken
	o.taken = 0
	if o.draining && o.bytes <= o.limit {
		o.left = false
	}
	if spare := o.counted - max(o.bytes-freeBytes, 0); spare >= freeBytes || spare > 0 && o.bytes == 0 {
		o.account.give(heldBytes, spare)
		o.counted -= spare
	}
	if o.bytes <= o.limit/2 && o.full.Load() {
		o.full.Store(false)
		select {
		case o.room <- struct{}{}:
		default:
		}
	}
}

// awaitRoom waits while too much waits for the client for anything more to be read from it, and
// closes the outbox when the client takes nothing for as long as patience.
func (o *outbox) awaitRoom(patience time.Duration) {
	if !o.full.Load() {
		return
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	for taken := o.takenSoFar(); o.full.Load() && !o.isClosed(); {
		select {
		case <-o.room:
		case <-o.done:
		case <-late.C:
			before := taken
			if taken = o.takenSoFar(); taken == before {
				o.end(errSlow)
			}
			late.Reset(patience)
		}
	}
}

// takenSoFar returns the number of messages, and of parts of large ones, that have been taken.
func (o *outbox) takenSoFar() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return int64(o.first) + o.parts.Load()
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
		o.signal()
	}
}

// listChanges returns the methods of the list changes that wait.
func (o *outbox) listChanges() (methods []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for key, k := range o.keyed { // a progress token is JSON
		if k.newest >= o.first && strings.HasPrefix(key, "notifications/") {
			methods = append(methods, key)
		}
	}
	return methods
}

// discard frees what waits in a closed outbox that nobody drains.
func (o *outbox) discard() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil || o.draining {
		return
	}
	for _, msg := range o.items {
		msg.Free()
	}
	o.items, o.keyed, o.bytes = nil, nil, o.taken
	o.settle()
}

// reason returns why the outbox is closed; nil while it is not.
func (o *outbox) reason() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
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

// spent reports whether the outbox is closed and empty.
func (o *outbox) spent() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err != nil && len(o.items) == 0
}

// drain passes batches to write until the outbox is closed and empty, write fails, or gone is
// closed, and returns why: errSlow if write has taken too long. It calls idle every keepAlive.
func (o *outbox) drain(gone <-chan struct{}, write func([]*wire.Buffer) error, idle func() error) error {
	o.setDraining(true)
	defer o.setDraining(false)
	var due atomic.Bool // set by a timer: to wait for a ticker too would cost more than the rest of the wait
	t := time.AfterFunc(keepAlive, func() {
		due.Store(true)
		o.signal()
	})
	defer t.Stop()
	for {
		batch, err := o.take()
		switch {
		case err != nil:
			return err
		case batch != nil:
			err = write(batch)
		default:
			select {
			case <-o.wake:
			case <-gone:
				err = errDetached
			}
		}
		if err == nil && due.CompareAndSwap(true, false) {
			t.Reset(keepAlive)
			err = idle()
		}
		var late net.Error
		switch {
		case errors.As(err, &late) && late.Timeout():
			return errSlow
		case err != nil:
			return err
		}
	}
}

func (o *outbox) setDraining(draining bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.draining, o.left = draining, o.left || !draining
	o.settle() // what drain has taken was written, or is lost
}
