package main

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

const (
	historyBook  = "history"
	historyTime  = 30 * 24 * time.Hour // for which a conversation is kept
	historyBytes = 256 << 20           // of all
)

// clusterHistory has conversations of all nodes, compressed, in a book of all.
type clusterHistory struct {
	book *fleet.Book
	keep time.Duration
	log  *slog.Logger
}

// shareHistory keeps conversations for all nodes, if cluster.history is set.
func (c *cluster) shareHistory(ctx context.Context, cfg *config.Config, log *slog.Logger) {
	own := cfg.Cluster.History
	if !own.Enabled {
		return
	}
	c.kept = &clusterHistory{fleet.Bounded(c.node.Book(historyBook, 0), cmp.Or(own.MaxBytes, historyBytes)), cmp.Or(own.Keep, historyTime), log}
	if len(cfg.Cluster.Secrets) > 1 { // else nothing is sealed under another one
		go fleet.Reseal(ctx, c.kept.book, nil)
	}
}

// put keeps a value, nil for no longer. Without NATS, or if the value is too large, only this node has it.
func (h *clusterHistory) put(key string, value []byte) {
	if value != nil {
		value = pack(value)
	}
	ctx, cancel := context.WithTimeout(context.Background(), bookTime)
	defer cancel()
	if _, _, err := h.book.Change(ctx, key, value, 0, h.keep); err != nil {
		h.log.Warn("a conversation is known to this node alone", "error", err)
	}
}

// get returns a value, nil without one.
func (h *clusterHistory) get(key string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), bookTime)
	defer cancel()
	value, _, err := h.book.Get(ctx, key)
	if value == nil || err != nil {
		return nil, err
	}
	return unpack(value)
}
