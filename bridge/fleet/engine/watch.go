package engine

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Watch calls f with each key that matches a pattern and then with each change, in order and one call at a
// time, until ctx or the engine ends. In a pattern a part * stands for any one part, and > at the end for
// all that follow. Ready is closed when f has been called with all that were there, which waits for NATS.
//
// When the connection was lost, f is called with what has changed meanwhile; of several changes of a key it
// may see the last only.
func (b *Bucket) Watch(ctx context.Context, pattern string, f func(Entry)) (ready <-chan struct{}) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(b.e.ctx, cancel)
	w := &watch{bucket: b, pattern: pattern, f: f, known: map[string]version{}, ready: make(chan struct{})}
	b.e.start(func() {
		defer cancel()
		defer stop()
		w.run(ctx)
	})
	return w.ready
}

// watch is a Watch that runs.
type watch struct {
	bucket  *Bucket
	pattern string
	f       func(Entry)
	known   map[string]version // of the keys that f knows of
	ready   chan struct{}
	isReady sync.Once
}

// version tells a value from others, also after NATS lost all it had and counts revisions from 1 again.
type version struct {
	revision uint64
	written  int64 // when, by NATS' clock
}

// Without word from the server for two heartbeats, a watch begins again.
const (
	watchHeartbeat = 2 * time.Second
	watchRetry     = time.Second // after a failure with a connection
)

func (w *watch) run(ctx context.Context) {
	for ctx.Err() == nil {
		link := w.bucket.e.connection(ctx)
		if link == nil {
			return
		}
		err := w.follow(ctx, link)
		if ctx.Err() == nil && err != nil {
			w.bucket.e.log.Debug("a watch begins again", "bucket", w.bucket.name, "error", err)
		}
		select {
		case <-link.Done(): // the next connection is waited for
		case <-time.After(watchRetry):
		case <-ctx.Done():
		}
	}
}

var errGap = errors.New("an entry is missing")

// follow reads all entries and then the changes, until something fails or a context ends.
func (w *watch) follow(ctx, link context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(link, cancel)()
	consumer, err := w.consumer(ctx)
	if err != nil {
		return err
	}
	messages, err := consumer.Messages(jetstream.PullExpiry(30*time.Second), jetstream.PullHeartbeat(watchHeartbeat), jetstream.WithMessagesErrOnMissingHeartbeat(true))
	if err != nil {
		return err
	}
	defer messages.Stop()
	seen := map[string]bool{} // until all that were there have come
	if consumer.CachedInfo().NumPending == 0 {
		w.settle(seen)
		seen = nil
	}
	for next := uint64(1); ; next++ {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return err
		}
		meta, err := m.Metadata()
		if err != nil {
			return err
		} else if meta.Sequence.Consumer != next {
			return errGap
		}
		w.tell(m, version{meta.Sequence.Stream, meta.Timestamp.UnixNano()}, seen)
		if seen != nil && meta.NumPending == 0 {
			w.settle(seen)
			seen = nil
		}
	}
}

// consumer makes what the server sends this watch from; the server drops it when nobody asks any more.
func (w *watch) consumer(ctx context.Context) (c jetstream.Consumer, err error) {
	err = w.bucket.do(ctx, func(ctx context.Context, s jetstream.Stream) error {
		c, err = s.CreateConsumer(ctx, jetstream.ConsumerConfig{
			FilterSubject: w.bucket.prefix + pattern(w.pattern), DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy,
			AckPolicy: jetstream.AckNonePolicy, InactiveThreshold: time.Minute, MemoryStorage: true, Replicas: 1})
		return err
	})
	return c, err
}

// tell calls f with what a message says, if that is news.
func (w *watch) tell(m jetstream.Msg, is version, seen map[string]bool) {
	name, err := key(strings.TrimPrefix(m.Subject(), w.bucket.prefix))
	if err != nil {
		return // of another program
	}
	if seen != nil {
		seen[name] = true
	}
	deleted := isMarker(m.Headers())
	if was, known := w.known[name]; known && was == is || !known && deleted {
		return
	}
	if deleted {
		delete(w.known, name)
	} else {
		w.known[name] = is
	}
	w.f(Entry{Key: name, Value: m.Data(), Revision: is.revision, Deleted: deleted})
}

// settle calls f with the keys that have gone without a trace.
func (w *watch) settle(seen map[string]bool) {
	for name := range w.known {
		if !seen[name] {
			delete(w.known, name)
			w.f(Entry{Key: name, Deleted: true})
		}
	}
	w.isReady.Do(func() { close(w.ready) })
}
