package engine

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const incrementHeader = "Nats-Incr"

// Add adds n to a counter that all nodes share and returns its value. A counter that does not exist is 0; it is
// kept for ttl, in whole seconds, after the last Add. Counters with another ttl are others. After ErrUnavailable
// n may have been added.
func (e *Engine) Add(ctx context.Context, counter string, n int64, ttl time.Duration) (total int64, err error) {
	what := "count " + counter
	b := e.counterBucket(max(ttl.Truncate(time.Second), time.Second))
	ack, err := b.publish(ctx, &nats.Msg{Subject: b.prefix + subject(counter), Header: nats.Header{incrementHeader: {fmt.Sprintf("%+d", n)}}})
	if err != nil {
		return 0, failure(ctx, what, err)
	}
	total, err = strconv.ParseInt(ack.Value, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: value %q: %w", what, ack.Value, err)
	}
	return total, nil
}

// counterBucket returns the stream of counters that are kept for ttl.
func (e *Engine) counterBucket(ttl time.Duration) *Bucket {
	e.mu.Lock()
	defer e.mu.Unlock()
	b := e.counters[ttl]
	if b == nil {
		seconds := strconv.Itoa(int(ttl / time.Second))
		b = &Bucket{e: e, name: "mb_" + e.options.Cluster + "_count_" + seconds, prefix: e.prefix + "count." + seconds + "."}
		b.config = jetstream.StreamConfig{Name: b.name, Subjects: []string{b.prefix + ">"}, Storage: jetstream.FileStorage,
			MaxMsgsPerSubject: 1, MaxAge: ttl, AllowMsgCounter: true}
		e.counters[ttl] = b
	}
	return b
}
