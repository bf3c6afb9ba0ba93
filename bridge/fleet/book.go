package fleet

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/fleet/engine"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Book is what all nodes know of something, each value under a key: sealed, so that NATS cannot read or make
// one. Its methods may be called at once. An error says that NATS is away, or the value too large for it.
type Book struct {
	node   *Node
	name   string
	bucket *engine.Bucket
	strict bool
}

// Book returns the book of a name, which is letters and digits. No value is kept for longer than most.
func (n *Node) Book(name string, most time.Duration) *Book {
	return &Book{node: n, name: name, bucket: n.opts.Engine.Bucket(name, most)}
}

// Strict makes a value that was sealed under a secret that this node does not have an error of Get and Add, and an empty
// value of Watch. Otherwise it counts as none, of which Watch does not tell: what is known of the key before that stays, as
// who takes it for removed would put back something older. It returns b, and is called before any method of it.
func Strict(b *Book) *Book {
	b.strict = true
	return b
}

// Bounded bounds the bytes of a Book, beyond which the values that were set first are gone. It returns b, and is called
// before any method of it.
func Bounded(b *Book, bytes int) *Book {
	engine.Bounded(b.bucket, int64(bytes))
	return b
}

// Trim removes of the values of a Book whose keys match a pattern those that were set first, so that the rest takes NATS at
// most so many bytes. A * in a pattern stands for any part of a key between dots, and > at its end for all that follow.
func Trim(ctx context.Context, b *Book, keys string, most int) error {
	return engine.Trim(ctx, b.bucket, keys, int64(most))
}

var errSealed = errors.New("it was sealed under a secret that this node does not have: add that to cluster.secrets in its config, behind the others")

// Add sets the value of a key that does not exist, for as long as keep. If the key exists, Add returns its value.
// An error is a *toolformat.Error with the code Invalid if the value is too large.
func (b *Book) Add(ctx context.Context, key string, value []byte, keep time.Duration) (existing []byte, revision uint64, err error) {
	for {
		revision, err = b.bucket.Create(ctx, key, b.seal(key, value), keep)
		if errors.Is(err, engine.ErrTooLarge) {
			return nil, 0, toolformat.Errorf(toolformat.Invalid, "it has %d bytes, which is too much for the nodes to share", len(value))
		}
		if !errors.Is(err, engine.ErrExists) {
			return nil, revision, err
		}
		entry, err := b.bucket.Get(ctx, key)
		if errors.Is(err, engine.ErrNotFound) {
			continue // it has gone meanwhile
		}
		if err != nil {
			return nil, 0, err
		}
		if existing, _ = b.open(key, entry.Value); existing != nil {
			return existing, entry.Revision, nil
		}
		if b.strict {
			return nil, 0, errSealed
		}
		if _, _, err := b.Change(ctx, key, nil, entry.Revision, 0); err != nil { // of a secret that was taken out
			return nil, 0, err
		}
	}
}

// Get returns the value of a key and its revision; nil and 0 if the key does not exist.
func (b *Book) Get(ctx context.Context, key string) (value []byte, revision uint64, err error) {
	entry, err := b.bucket.Get(ctx, key)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	switch value, _ = b.open(key, entry.Value); {
	case value != nil:
		return value, entry.Revision, nil
	case b.strict:
		return nil, 0, errSealed
	}
	return nil, 0, nil // of a secret that was taken out
}

// Change replaces the value of a key if it has the revision, for as long as keep; nil removes it. changed is
// false if the key has another revision. 0 stands for any revision, and none.
func (b *Book) Change(ctx context.Context, key string, value []byte, revision uint64, keep time.Duration) (next uint64, changed bool, err error) {
	switch {
	case value == nil:
		err = b.bucket.Delete(ctx, key, revision)
	case revision == 0:
		next, err = b.bucket.Put(ctx, key, b.seal(key, value), keep)
	default:
		next, err = b.bucket.Update(ctx, key, b.seal(key, value), revision, keep)
	}
	if errors.Is(err, engine.ErrConflict) {
		return 0, false, nil
	}
	return next, err == nil, err
}

// Watch calls f with each value that there is, and then with each change, in order, until ctx or the node ends.
// A value is nil when it has been removed, or has been there for long enough. ready is closed when f has been called
// with all that there were.
func (b *Book) Watch(ctx context.Context, f func(key string, value []byte, revision uint64)) (ready <-chan struct{}) {
	return b.bucket.Watch(ctx, ">", func(e engine.Entry) {
		switch value, _ := b.open(e.Key, e.Value); {
		case e.Deleted:
			f(e.Key, nil, e.Revision)
		case value != nil:
			f(e.Key, value, e.Revision)
		case b.strict:
			f(e.Key, []byte{}, e.Revision)
		}
	})
}

// Reseal seals each value anew that there is, and was sealed with another secret than the node's first, so that
// it can be opened when that is taken out, and keeps it for no longer. It returns when it has, or ctx or the node ends.
// lock, unless it is nil, keeps others from changing a key until unlock is called; with a nil unlock, or an error, the value stays.
func Reseal(ctx context.Context, b *Book, lock func(ctx context.Context, key string) (unlock func(), err error)) {
	var mu sync.Mutex
	var old []string
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	ready := b.bucket.Watch(watching, ">", func(e engine.Entry) {
		if _, is := b.open(e.Key, e.Value); is && !e.Deleted {
			mu.Lock()
			defer mu.Unlock()
			old = append(old, e.Key)
		}
	})
	select {
	case <-ready:
	case <-b.node.ctx.Done():
	case <-ctx.Done():
	}
	cancel()
	mu.Lock()
	defer mu.Unlock()
	for _, key := range old {
		for b.resealKey(ctx, key, lock) != nil && ctx.Err() == nil {
			select {
			case <-time.After(resealRetry):
			case <-b.node.ctx.Done():
				return
			case <-ctx.Done():
			}
		}
	}
}

const resealRetry = time.Second // after a failure

func (b *Book) resealKey(ctx context.Context, key string, lock func(ctx context.Context, key string) (unlock func(), err error)) error {
	if lock != nil {
		unlock, err := lock(ctx, key)
		if err != nil || unlock == nil {
			return err
		}
		defer unlock()
	}
	entry, err := b.bucket.Get(ctx, key)
	if errors.Is(err, engine.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if value, old := b.open(key, entry.Value); old {
		_, _, err = b.Change(ctx, key, value, entry.Revision, entry.Left) // else it has been changed, and sealed, meanwhile
	}
	return err
}

// Changeable is a Book, or another way to one.
type Changeable interface {
	Add(ctx context.Context, key string, value []byte, keep time.Duration) (existing []byte, revision uint64, err error)
	Change(ctx context.Context, key string, value []byte, revision uint64, keep time.Duration) (next uint64, changed bool, err error)
}

// Update calls change with the value of a key, nil if the key does not exist, and sets it to what change returns,
// unless another Update has been faster: then it calls change again. If change fails, the value stays.
func Update(ctx context.Context, book Changeable, key string, change func(value []byte) ([]byte, error)) error {
	for before, revision := []byte(nil), uint64(0); ; {
		value, err := change(before)
		if err != nil {
			return err
		}
		changed := false
		if before != nil && bytes.Equal(value, before) {
			return nil
		}
		if before == nil {
			before, revision, err = book.Add(ctx, key, value, 0)
			changed = before == nil
		} else if _, changed, err = book.Change(ctx, key, value, revision, 0); !changed {
			before = nil // and Add returns what it is now
		}
		if err != nil || changed {
			return err
		}
	}
}

const sealedBook = "book" // purpose of values

// seal seals a value together with the place that it is for.
func (b *Book) seal(key string, value []byte) []byte {
	return []byte(b.node.opts.Keys.seal(sealedBook, append([]byte(b.place(key)), value...)))
}

// open returns what seal has sealed for a key, and whether that was with another secret than the first; nil for any
// other text.
func (b *Book) open(key string, sealed []byte) (value []byte, old bool) {
	plain, old, err := b.node.opts.Keys.open(sealedBook, string(sealed))
	value, here := bytes.CutPrefix(plain, []byte(b.place(key)))
	if err != nil || !here {
		return nil, false
	}
	return value, old
}

func (b *Book) place(key string) string { return b.name + "\x00" + key + "\x00" }
