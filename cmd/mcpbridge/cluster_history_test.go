package main

import (
	"bytes"
	"crypto/rand"
	"log/slog"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

// Each node finds the responses that another one has stored. A response that is too large stays with its node, which
// logs that.
func TestHistoryOfNodes(t *testing.T) {
	var all []*clusterHistory
	var logged bytes.Buffer
	for _, c := range clusterOf(t, "a", "b") {
		cfg := &config.Config{}
		cfg.Cluster.History.Enabled = true
		c.shareHistory(t.Context(), cfg, slog.New(slog.NewTextHandler(&logged, nil)))
		all = append(all, c.kept)
	}
	a, b := all[0], all[1]
	long := strings.Repeat("a conversation of many words. ", 100_000)
	a.put("long", []byte(long))
	if got, err := b.get("long"); err != nil || string(got) != long {
		t.Errorf("%d bytes, want %d", len(got), len(long))
	}
	b.put("long", nil)
	if got, err := a.get("long"); err != nil || got != nil || logged.Len() > 0 {
		t.Errorf("%d bytes, want none: %s", len(got), &logged)
	}
	noise := make([]byte, 1<<20)
	rand.Read(noise)
	a.put("noise", noise)
	if got, err := b.get("noise"); err != nil || got != nil || !strings.Contains(logged.String(), "known to this node alone") {
		t.Errorf("%d bytes, want none: %s", len(got), &logged)
	}
}
