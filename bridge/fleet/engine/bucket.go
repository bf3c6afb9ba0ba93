package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Bucket is a set of keys with values that all nodes share. A key is any text; its parts, which patterns
// match, have dots between them. Its methods may be called at once by several goroutines. Their errors
// are those of this package, or of ctx when it was canceled.
type Bucket struct {
	e      *Engine
	name   string // of the stream
	prefix string // of subjects
	config jetstream.StreamConfig

	mu      sync.Mutex // guards what follows
	stream  jetstream.Stream
	opened  time.Time
	born    time.Time     // when the stream was made, by this node's clock
	ahead   time.Duration // of NATS' clock is this node's
	bounded bool          // the stream has had the bound of the config
}

// Entry is a key with its value.
type Entry struct {
	Key      string
	Value    []byte // not to be changed
	Revision uint64 // grows with each change of any key of the bucket
	Deleted  bool   // in a watch: the key was deleted, or its time has passed

	// Not in a watch:
	Written time.Time     // by the clock of NATS
	Left    time.Duration // for which it is kept, at least a second; 0 if it is until it is deleted
}

// markerTTL is how long it can be seen that a key was deleted, by a watch that begins again.
const markerTTL = time.Minute

// The headers of what is written. Other tools for key-value pairs on NATS understand them.
const (
	operationHeader = "KV-Operation"
	deleteOperation = "DEL"
)

// maxKeys bounds the keys of a bucket: one more fails with ErrUnavailable. NATS needs some 200 bytes for each.
const maxKeys = 1_000_000

// Bucket returns the bucket of a name, which is letters and digits. It is made when it is first used. A value
// is kept for ttl after it was written; 0 keeps it until it is deleted.
func (e *Engine) Bucket(name string, ttl time.Duration) *Bucket {
	b := &Bucket{e: e, name: "KV_mb_" + e.options.Cluster + "_" + name}
	b.prefix = "$KV." + b.name[len("KV_"):] + "."
	b.config = jetstream.StreamConfig{
		Name: b.name, Subjects: []string{b.prefix + ">"}, Storage: jetstream.FileStorage,
		MaxMsgsPerSubject: 1, MaxMsgs: maxKeys, MaxBytes: -1, MaxMsgSize: -1, MaxConsumers: -1, MaxAge: ttl,
		Discard: jetstream.DiscardNew, AllowRollup: true, DenyDelete: true, // as every bucket of NATS
		AllowMsgTTL: true, SubjectDeleteMarkerTTL: markerTTL,
		// AllowDirect is not set: a server that lags behind would answer.
	}
	return b
}

// Bounded bounds the bytes of a bucket, beyond which the values that were written first are deleted. It is to be called
// before any method of it. Of nodes with different bounds that counts which has begun to use the bucket last.
func Bounded(b *Bucket, bytes int64) {
	b.config.MaxBytes, b.config.Discard = bytes, jetstream.DiscardOld
}

// Get returns the value of a key. The error is ErrNotFound if it has none.
func (b *Bucket) Get(ctx context.Context, key string) (Entry, error) {
	entry, err := b.last(ctx, key)
	if err == nil && entry.Deleted {
		err = ErrNotFound
	}
	if err != nil {
		return Entry{}, failure(ctx, "get "+key, err)
	}
	return entry, nil
}

// Put sets the value of a key. It is kept for ttl, in whole seconds, if that is not 0 and is less than the
// bucket's.
func (b *Bucket) Put(ctx context.Context, key string, value []byte, ttl time.Duration) (revision uint64, err error) {
	revision, err = b.write(ctx, key, value, ttl)
	return revision, failure(ctx, "put "+key, err)
}

// Create is a Put that fails with ErrExists if the key has a value.
func (b *Bucket) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (revision uint64, err error) {
	revision, err = b.write(ctx, key, value, ttl, jetstream.WithExpectLastSequencePerSubject(0))
	if isConflict(err) {
		var is Entry
		switch is, err = b.last(ctx, key); {
		case err == nil && is.Deleted:
			revision, err = b.write(ctx, key, value, ttl, jetstream.WithExpectLastSequencePerSubject(is.Revision))
		case err == nil:
			err = ErrExists
		}
	}
	if isConflict(err) || errors.Is(err, ErrNotFound) { // another was faster
		err = ErrExists
	}
	return revision, failure(ctx, "create "+key, err)
}

// Update is a Put that fails with ErrConflict if the revision of the key is not that of the parameter.
func (b *Bucket) Update(ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration) (uint64, error) {
	next, err := b.write(ctx, key, value, ttl, jetstream.WithExpectLastSequencePerSubject(revision))
	if isConflict(err) {
		err = ErrConflict
	}
	return next, failure(ctx, "update "+key, err)
}

// Delete removes a key from the bucket. That the key does not exist is not an error. If revision is not 0 and is not
// that of the key, the error is ErrConflict.
func (b *Bucket) Delete(ctx context.Context, key string, revision uint64) error {
	m := &nats.Msg{Subject: b.prefix + subject(key), Header: nats.Header{operationHeader: {deleteOperation}}}
	options := []jetstream.PublishOpt{jetstream.WithMsgTTL(markerTTL)}
	if revision != 0 {
		options = append(options, jetstream.WithExpectLastSequencePerSubject(revision))
	}
	_, err := b.publish(ctx, m, options...)
	if isConflict(err) {
		err = ErrConflict
	}
	return failure(ctx, "delete "+key, err)
}

func (b *Bucket) write(ctx context.Context, key string, value []byte, ttl time.Duration, options ...jetstream.PublishOpt) (uint64, error) {
	if len(value) > MaxSize {
		return 0, ErrTooLarge
	}
	if ttl > 0 {
		options = append(options, jetstream.WithMsgTTL((ttl + time.Second - 1).Truncate(time.Second)))
	}
	ack, err := b.publish(ctx, &nats.Msg{Subject: b.prefix + subject(key), Data: value}, options...)
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

func (b *Bucket) publish(ctx context.Context, m *nats.Msg, options ...jetstream.PublishOpt) (ack *jetstream.PubAck, err error) {
	err = b.do(ctx, func(ctx context.Context, _ jetstream.Stream) error {
		ack, err = b.e.js.PublishMsg(ctx, m, options...)
		return err
	})
	return ack, err
}

// last returns the last entry of a key, which may be that it was deleted.
func (b *Bucket) last(ctx context.Context, key string) (entry Entry, err error) {
	err = b.do(ctx, func(ctx context.Context, s jetstream.Stream) error {
		m, err := s.GetLastMsgForSubject(ctx, b.prefix+subject(key))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return ErrNotFound
		} else if err == nil {
			entry = Entry{Key: key, Value: m.Data, Revision: m.Sequence, Deleted: isMarker(m.Header), Written: m.Time, Left: b.left(m)}
		}
		return err
	})
	return entry, err
}

// left returns Entry.Left of a message.
func (b *Bucket) left(m *jetstream.RawStreamMsg) time.Duration {
	ttl := b.config.MaxAge
	if own, err := time.ParseDuration(m.Header.Get(jetstream.MsgTTLHeader)); err == nil && (ttl == 0 || own < ttl) {
		ttl = own
	}
	if ttl == 0 {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(ttl-time.Since(m.Time.Add(b.ahead)), time.Second)
}

// isMarker reports whether what has these headers says that a key is gone.
func isMarker(h nats.Header) bool {
	return h.Get(operationHeader) != "" || h.Get(jetstream.MarkerReasonHeader) != ""
}

// do runs an operation with the bucket's stream. If the stream is gone it is made again and the operation
// is tried once more.
func (b *Bucket) do(ctx context.Context, op func(context.Context, jetstream.Stream) error) error {
	ctx, cancel, err := b.e.bound(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	for again := true; ; again = false {
		s, err := b.open(ctx)
		if err == nil {
			err = op(ctx, s)
		}
		gone := errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrNoStreamResponse)
		if gone {
			b.mu.Lock()
			b.stream = nil
			b.mu.Unlock()
		}
		if !gone || !again {
			return err
		}
	}
}

// replicasAgain is after how long more replicas are tried again: a cluster begins with fewer servers.
const replicasAgain = time.Minute

// open returns the bucket's stream, and creates it if it does not exist.
func (b *Bucket) open(ctx context.Context) (jetstream.Stream, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stream != nil && (b.stream.CachedInfo().Config.Replicas >= b.replicas() || time.Since(b.opened) < replicasAgain) {
		return b.stream, nil
	}
	if err := b.e.support(ctx); err != nil {
		return nil, err
	}
	s, err := b.e.js.Stream(ctx, b.name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = b.replicate(ctx, b.e.js.CreateStream, b.config)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another node was faster
			s, err = b.e.js.Stream(ctx, b.name)
		}
		b.bounded = err == nil
	} else if err == nil {
		s = b.adjust(ctx, s)
	}
	if err != nil {
		return nil, err
	}
	b.stream, b.opened = s, time.Now()
	info := s.CachedInfo()
	b.ahead = b.opened.Sub(info.TimeStamp)
	b.born = info.Created.Add(b.ahead)
	return s, nil
}

// adjust gives the stream, if it was made otherwise, more replicas and, once, the bound of the bucket. b.mu is held.
func (b *Bucket) adjust(ctx context.Context, s jetstream.Stream) jetstream.Stream {
	next := s.CachedInfo().Config
	before := next.MaxBytes
	if b.config.MaxBytes > 0 && !b.bounded {
		next.MaxBytes = b.config.MaxBytes
	}
	if next.MaxBytes == before && next.Replicas >= b.replicas() {
		b.bounded = true
		return s
	}
	adjusted, err := b.replicate(ctx, b.e.js.UpdateStream, next)
	if err != nil {
		b.e.complain("what NATS keeps cannot be configured as it is to be", fmt.Errorf("stream %s: %w", b.name, err))
		return s
	}
	if next.MaxBytes != before {
		b.e.log.Warn("NATS keeps another number of bytes than before: nodes have been configured with both", "stream", b.name, "before", before, "bytes", next.MaxBytes)
	}
	b.bounded = true
	return adjusted
}

// support refuses a NATS that would take what it does not know, such as the expiry of single keys, for what it does.
func (e *Engine) support(ctx context.Context) error {
	if e.supported.Load() {
		return nil
	}
	account, err := e.js.AccountInfo(ctx)
	if err != nil {
		return err
	}
	if account.API.Level < 2 {
		return fmt.Errorf("%w: nats-server %s is too old: 2.12 or later is needed", ErrUnavailable, e.conn.ConnectedServerVersion())
	}
	e.supported.Store(true)
	return nil
}

// replicas returns on how many servers the bucket is to be, if there are so many.
func (b *Bucket) replicas() int {
	if b.e.options.Replicas > 0 {
		return b.e.options.Replicas
	}
	return 3
}

// replicate makes or updates the stream, on more servers than it is on: not where nobody asked for a number and there are
// not so many.
func (b *Bucket) replicate(ctx context.Context, do func(context.Context, jetstream.StreamConfig) (jetstream.Stream, error), c jetstream.StreamConfig) (jetstream.Stream, error) {
	least := max(c.Replicas, 1)
	c.Replicas = max(least, b.replicas())
	s, err := do(ctx, c)
	var api *jetstream.APIError
	if errors.As(err, &api) && (api.ErrorCode == codeNoPeers || api.ErrorCode == codeNoReplicas) {
		if b.e.options.Replicas > 0 {
			return nil, fmt.Errorf("%w: %d replicas asked for: %w", ErrUnavailable, c.Replicas, err)
		}
		c.Replicas = least
		s, err = do(ctx, c)
	}
	return s, err
}

// The codes with which a server refuses more replicas than there are servers.
const (
	codeNoPeers    jetstream.ErrorCode = 10005
	codeNoReplicas jetstream.ErrorCode = 10074
)

// settled returns when the bucket is d old.
func (b *Bucket) settled(ctx context.Context, d time.Duration) (time.Time, error) {
	err := b.do(ctx, func(context.Context, jetstream.Stream) error { return nil })
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.born.Add(d), err
}
