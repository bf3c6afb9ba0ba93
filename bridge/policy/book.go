package policy

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Book has the Approvals of the Desks of several processes, so that a call finds what was decided at another
// Desk, and each is used once. A key is text without dots. Errors are about the Book, not about what it has.
type Book interface {
	// Add sets the value of a key that does not exist, for as long as keep. If the key exists, Add returns its
	// value. An error is a *toolformat.Error with the code Invalid if the value is too large.
	Add(ctx context.Context, key string, value []byte, keep time.Duration) (existing []byte, revision uint64, err error)

	// Change replaces the value of a key if it has the revision, for as long as keep; nil removes it.
	// changed is false if the key has another revision.
	Change(ctx context.Context, key string, value []byte, revision uint64, keep time.Duration) (next uint64, changed bool, err error)

	// Watch calls f with each value that there is, and then with each change, in order, until ctx ends. A value
	// is nil when it has been removed, or has been there for long enough. ready is closed when f has been
	// called with all that there were.
	Watch(ctx context.Context, f func(key string, value []byte, revision uint64)) (ready <-chan struct{})
}

// bookTime bounds what the Book is asked.
const bookTime = 2 * time.Second

// Share has the Desk keep its Approvals in a Book, as other Desks do, until ctx ends.
func (d *Desk) Share(ctx context.Context, book Book) {
	d.mu.Lock()
	d.book = book
	d.mu.Unlock()
	book.Watch(ctx, func(key string, value []byte, revision uint64) {
		var a Approval
		d.mu.Lock()
		defer d.mu.Unlock()
		d.expire(time.Now())
		if value == nil {
			d.forget(key, revision)
		} else if json.Unmarshal(value, &a) == nil && a.ID != "" && time.Now().Before(a.Expires) {
			d.learn(&a, revision)
		}
	})
}

// learn makes an Approval what the Book says, and returns its request; d.mu is held.
func (d *Desk) learn(a *Approval, revision uint64) *request {
	own := keyOf(a)
	r := d.open[own]
	if r != nil && revision <= r.revision {
		return r
	}
	if r == nil || r.ID != a.ID {
		if ended, _ := d.find(a.ID); ended != nil {
			return ended // meanwhile
		}
		if r != nil {
			d.end(r)
		}
		r = newRequest(*a, own)
		r.State = Pending
		d.put(r)
	}
	if r.revision = revision; r.State == Pending && a.State != Pending {
		d.settle(r, Answer{Approve: a.State == Approved, Note: a.Note, Arguments: a.Changed}, a.By)
	}
	return r
}

// forget ends the request whose Approval the Book had until a revision; d.mu is held.
func (d *Desk) forget(text string, revision uint64) {
	for own, r := range d.open {
		if own.text() == text && (revision == 0 || revision > r.revision) { // 0 if NATS has lost it
			d.end(r)
		}
	}
}

// end ends a request whose Approval the Book no longer has: its time has passed, or a call here or at another Desk
// has used it. Calls that wait are still told that it is Denied. d.mu is held.
func (d *Desk) end(r *request) {
	d.close(r)
	switch {
	case r.State == Pending && !time.Now().Before(r.until):
		r.State = Expired
		close(r.decided)
	case r.State == Pending:
		r.State = Used
		close(r.decided)
	case r.State == Approved:
		r.State = Used
	}
}

// add puts a new Approval into the Book, and returns its request, or that of an equal one in the Book.
func (d *Desk) add(ctx context.Context, book Book, a Approval) (*request, *toolformat.Error) {
	ctx, cancel := context.WithTimeout(ctx, bookTime)
	defer cancel()
	own := keyOf(&a)
	for last := ""; ; { // twice at least: the Desk may have heard of an Approval's end before it learned of the Approval
		a.ID = newID()
		value, _ := json.Marshal(a) // cannot fail: its arguments are valid
		existing, revision, err := book.Add(ctx, own.text(), value, time.Until(a.Expires))
		var known Approval
		if err == nil {
			if existing != nil {
				value = existing
			}
			err = json.Unmarshal(value, &known)
		}
		if e := toolformat.AsError(err); err != nil && e.Code == toolformat.Invalid {
			return nil, toolformat.Errorf(toolformat.Denied, "%s needs approval, and nobody can be asked: %s", a.Target, e.Message)
		}
		if err != nil {
			fault := toolformat.Errorf(toolformat.Unavailable, "%s needs approval, and the nodes cannot agree on it now: %v", a.Target, err)
			fault.After = bookTime
			return nil, fault
		}
		d.mu.Lock()
		r := d.learn(&known, revision)
		if existing == nil {
			d.tell(a)
		}
		d.mu.Unlock()
		if known.ID == last {
			return r, nil
		}
		last = known.ID
	}
}

// change makes the Approval of a request another one in the Book, and reports whether it could: it may have
// changed there meanwhile. One that is Used is removed.
func (d *Desk) change(book Book, r *request, a *Approval, revision uint64) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), bookTime)
	defer cancel()
	var value []byte
	if a.State != Used {
		value, _ = json.Marshal(a) // cannot fail
	}
	next, changed, err := book.Change(ctx, r.key.text(), value, revision, time.Until(a.Expires))
	if err != nil {
		return false, fmt.Errorf("approval %s: the nodes cannot agree on it now: %w", a.ID, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case a.State == Used && (changed || r.State == Approved): // by this call, or by another
		d.end(r)
	case a.State == Used: // it was approved at another Desk, while it was denied at this
	case changed:
		d.learn(a, next)
	}
	return changed, nil
}

// denyShared denies a request at all Desks of the Book, or at this one if the Book is away.
func (d *Desk) denyShared(r *request, answer Answer) {
	if _, err := d.Decide(r.ID, answer, byOperator); err != nil {
		select {
		case <-r.decided: // at another Desk
		case <-time.After(bookTime):
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.State == Pending {
		d.settle(r, answer, byOperator)
	}
}

func (k key) text() string { return base64.RawURLEncoding.EncodeToString(k[:]) }
