package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/engine"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

const (
	historyBook  = "history"
	historyTime  = 30 * 24 * time.Hour // for which a conversation is kept
	historyBytes = 256 << 20           // of all

	historyTrims = 16 // part of a principal's bytes by which all nodes together may exceed them
)

// clusterHistory has conversations of all nodes in a book of all.
type clusterHistory struct {
	book  *fleet.Book
	of    *engine.Engine
	keep  time.Duration
	share int // bytes of one principal
	log   *slog.Logger

	mu   sync.Mutex
	room map[string]int // bytes that this node may put, by how their keys begin (256 ways), until the oldest are removed
}

// shareHistory keeps conversations for all nodes, if cluster.history is set.
func (c *cluster) shareHistory(ctx context.Context, cfg *config.Config, log *slog.Logger) {
	own := cfg.Cluster.History
	if !own.Enabled {
		return
	}
	most := cmp.Or(own.MaxBytes, historyBytes)
	c.kept = &clusterHistory{
		book: fleet.Bounded(c.node.Book(historyBook, 0), most), of: c.engine, keep: cmp.Or(own.Keep, historyTime),
		share: most / 2, log: log, room: map[string]int{},
	}
	if len(cfg.Cluster.Secrets) > 1 { // else nothing is sealed under another one
		go fleet.Reseal(ctx, c.kept.book, nil)
	}
}

// historyOf returns how the keys of a principal begin, and those of a few others: it tells those who see NATS next to nothing.
func historyOf(principal string) string {
	digest := sha256.Sum256([]byte(principal))
	return hex.EncodeToString(digest[:1]) + "."
}

// bound bounds a question to the book. It fails at once while NATS does not answer.
func (h *clusterHistory) bound(ctx context.Context) (context.Context, context.CancelFunc, error) {
	if !h.of.Up() {
		return nil, nil, engine.ErrUnavailable
	}
	ctx, cancel := context.WithTimeout(ctx, bookTime)
	return ctx, cancel, nil
}

// put keeps a value of a principal, nil for no longer. It is not kept if it is too large.
func (h *clusterHistory) put(ctx context.Context, principal, key string, value []byte) error {
	ctx, cancel, err := h.bound(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	keys := historyOf(principal)
	if _, _, err := h.book.Change(ctx, keys+key, value, 0, h.keep); err != nil {
		return err
	}
	if value != nil && h.fills(keys, len(value)) {
		if err := fleet.Trim(ctx, h.book, keys+">", h.share); err != nil { // the next room is as large: then again
			h.log.Warn("a principal has more conversations than it may", "principal", principal, "error", err)
		}
	}
	return nil
}

// fills takes room for a value that was put, and reports whether there was not enough, as for the first one. The caller is
// to remove the oldest then; what is put meanwhile takes of the next room.
func (h *clusterHistory) fills(keys string, size int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	left := h.room[keys] - size*4/3 // as long as it is sealed
	full := left < 0
	if full {
		left = h.share / historyTrims / max(len(h.of.Nodes()), 1)
	}
	h.room[keys] = left
	return full
}

// get returns a value, nil without one.
func (h *clusterHistory) get(ctx context.Context, principal, key string) ([]byte, error) {
	ctx, cancel, err := h.bound(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	value, _, err := h.book.Get(ctx, historyOf(principal)+key)
	return value, err
}
