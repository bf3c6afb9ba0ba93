package engine

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Trim deletes of the values of a bucket whose keys match a pattern, as of Watch, those that were written first, so that the rest has at
// most so many bytes.
func Trim(ctx context.Context, b *Bucket, keys string, most int64) error {
	err := b.do(ctx, func(ctx context.Context, s jetstream.Stream) error {
		filter := b.prefix + pattern(keys)
		first, err := firstWithin(ctx, s, filter, most)
		if err != nil || first == 0 {
			return err
		}
		return s.Purge(ctx, jetstream.WithPurgeSubject(filter), jetstream.WithPurgeSequence(first))
	})
	return failure(ctx, "trim "+keys, err)
}

// firstWithin returns the sequence of the first message of a subject from which on all have at most so many bytes; 0 if
// all have.
func firstWithin(ctx context.Context, s jetstream.Stream, filter string, most int64) (first uint64, err error) {
	c, err := s.CreateConsumer(ctx, jetstream.ConsumerConfig{FilterSubject: filter, DeliverPolicy: jetstream.DeliverAllPolicy, HeadersOnly: true,
		AckPolicy: jetstream.AckNonePolicy, InactiveThreshold: time.Minute, MemoryStorage: true, Replicas: 1})
	if err != nil || c.CachedInfo().NumPending == 0 {
		return 0, err
	}
	messages, err := c.Messages()
	if err != nil {
		return 0, err
	}
	defer messages.Stop()
	var sizes []int64
	var sequences []uint64
	for pending := uint64(1); pending > 0; {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return 0, err
		}
		meta, err := m.Metadata()
		if err != nil {
			return 0, err
		}
		size, _ := strconv.ParseInt(m.Headers().Get(nats.MsgSize), 10, 64)
		sizes, sequences = append(sizes, size+messageSize), append(sequences, meta.Sequence.Stream)
		pending = meta.NumPending
	}
	last := sequences[len(sequences)-1] + 1
	for i, size := range slices.Backward(sizes) {
		if most -= size; most < 0 {
			return last, nil
		}
		last = sequences[i]
	}
	return 0, nil
}

// messageSize estimates the bytes of a message without its value.
const messageSize = 200
