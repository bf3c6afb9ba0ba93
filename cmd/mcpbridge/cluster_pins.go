package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/bridge/pins"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

const (
	pinsBook = "pins"
	mostPins = 32 << 20 // bytes of the definitions of a server, before they are compressed
)

// clusterPins has what servers have defined, as it was accepted at any node: in a book of all nodes, compressed, of
// which each node has a copy, for when NATS is away.
type clusterPins struct{ book atomic.Pointer[sharedBook] }

func newClusterPins(cfg *config.Config) *clusterPins {
	c := &clusterPins{}
	c.use(remoteBook{cfg.Path, pinsBook})
	return c
}

func (c *clusterPins) use(book sharedBook) { c.book.Store(&book) }

// store returns what is kept of a server of all nodes. It is copied to another store.
func (c *clusterPins) store(server string, copied pins.Store) pins.Store {
	return &sharedPins{c, server, copied}
}

// sharedPins is the pins.Store of a server.
type sharedPins struct {
	of     *clusterPins
	server string
	copied pins.Store
}

// Read implements pins.Store. Without NATS and a copy it fails, as any definition could be another one than was accepted.
func (s *sharedPins) Read() ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), bookTime)
	defer cancel()
	book := *s.of.book.Load()
	value, _, away := book.Get(ctx, s.server)
	text, err := s.text(value)
	switch {
	case away == nil && value == nil && text != nil && err == nil: // NATS has lost it
		_, _, _ = book.Add(ctx, s.server, pack(text), 0) // else the next Update does
	case away != nil && text == nil && err == nil:
		return nil, fmt.Errorf("%w: %w", pins.ErrAway, away)
	case value != nil && err == nil:
		s.keep(text)
	}
	return text, err
}

// text returns what a value of the book has, or, without one, the copy.
func (s *sharedPins) text(value []byte) ([]byte, error) {
	if value == nil {
		return s.copied.Read()
	}
	return unpack(value)
}

// keep keeps the copy; what goes wrong with that matters only while NATS is away.
func (s *sharedPins) keep(text []byte) {
	_ = s.copied.Update(func([]byte) ([]byte, error) { return text, nil })
}

// Update implements pins.Store.
func (s *sharedPins) Update(change func(text []byte) ([]byte, error)) error {
	ctx, cancel := context.WithTimeout(context.Background(), bookTime)
	defer cancel()
	for book := *s.of.book.Load(); ; {
		value, revision, err := book.Get(ctx, s.server)
		if err != nil {
			return fmt.Errorf("%w: %w", pins.ErrAway, err)
		}
		before, err := s.text(value)
		if err != nil {
			return err
		}
		after, err := change(before)
		if err != nil || value != nil && bytes.Equal(after, before) {
			return err
		}
		if after == nil {
			after = []byte("{}") // nothing was seen: a node that was away has a copy of what was
		}
		if len(after) > mostPins {
			return fmt.Errorf("the definitions of %s have %d bytes: expected at most %d", s.server, len(after), mostPins)
		}
		changed := false
		if packed := pack(after); value == nil {
			value, _, err = book.Add(ctx, s.server, packed, 0)
			changed = value == nil
		} else {
			_, changed, err = book.Change(ctx, s.server, packed, revision, 0)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", pins.ErrAway, err)
		}
		if changed {
			s.keep(after)
			return nil
		}
	}
}

// unpack returns the text that pack has packed.
func unpack(value []byte) ([]byte, error) {
	unpacked, err := gzip.NewReader(bytes.NewReader(value))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(unpacked, mostPins+1))
	if err == nil && len(text) > mostPins {
		err = fmt.Errorf("more than %d bytes when uncompressed", mostPins)
	}
	return text, err
}

func pack(text []byte) []byte {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write(text) // never fails: nor does Close
	w.Close()
	return packed.Bytes()
}

// sharePins has what servers define accepted at all nodes together. When that is done at another one, callers here are
// notified.
func (l *live) sharePins(ctx context.Context) {
	book := fleet.Strict(l.cluster.open(pinsBook, 0))
	l.pins.use(book)
	again := keepDoing(ctx, func() error {
		l.apply()
		return nil
	})
	held := map[string][]pins.Change{} // by server
	book.Watch(ctx, func(server string, value []byte, _ uint64) {
		now := &pins.Book{}
		if text, err := unpack(value); err == nil {
			if known, err := pins.Parse(text); err == nil {
				now = known
			}
		}
		if accepts(now, held[server]) {
			again()
		}
		held[server] = now.Held()
	})
}

// accepts reports whether something is accepted that was held back before.
func accepts(now *pins.Book, before []pins.Change) bool {
	all := map[bridge.ListKind]map[string]*pins.Pin{bridge.Tools: now.Tools, bridge.Prompts: now.Prompts, pins.Texts: now.Texts}
	return slices.ContainsFunc(before, func(c pins.Change) bool {
		p := all[c.Kind][c.Name]
		return p != nil && p.Accepted != nil && p.Accepted.Digest == c.Held.Digest
	})
}
