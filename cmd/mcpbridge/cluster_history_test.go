package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/fleet/engine"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

// Each node finds the responses that another one has stored, until they are deleted. One that is too large is refused, and
// so is everything while NATS is away.
func TestHistoryOfNodes(t *testing.T) {
	var all []*clusterHistory
	nodes := clusterOf(t, "a", "b")
	for _, c := range nodes {
		cfg := &config.Config{}
		cfg.Cluster.History.Enabled = true
		c.shareHistory(t.Context(), cfg, slog.New(slog.DiscardHandler))
		all = append(all, c.kept)
	}
	a, b, ctx := all[0], all[1], t.Context()
	if err := a.put(ctx, "ann", "x", []byte("a conversation")); err != nil {
		t.Fatal(err)
	}
	expect := func(principal, key, want string) {
		t.Helper()
		if got, err := b.get(ctx, principal, key); err != nil || string(got) != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	expect("ann", "x", "a conversation")
	expect("bob", "x", "")
	if err := b.put(ctx, "ann", "x", nil); err != nil {
		t.Error(err)
	}
	expect("ann", "x", "")
	if err := a.put(ctx, "ann", "noise", noise(1<<20)); !errors.Is(err, engine.ErrTooLarge) {
		t.Error(err)
	}
	expect("ann", "noise", "")
	nodes[0].engine.Close()
	for _, value := range [][]byte{nil, []byte("x")} {
		if err := a.put(ctx, "ann", "y", value); !errors.Is(err, engine.ErrUnavailable) {
			t.Error(err)
		}
	}
	if value, err := a.get(ctx, "ann", "y"); !errors.Is(err, engine.ErrUnavailable) {
		t.Error(value, err)
	}
}

func noise(size int) []byte {
	b := make([]byte, size)
	rand.Read(b)
	return b
}

// What one principal has stored does not push out what others have.
func TestHistoryOfOnePrincipal(t *testing.T) {
	c := clusterOf(t, "a")[0]
	cfg := &config.Config{}
	cfg.Cluster.History.Enabled, cfg.Cluster.History.MaxBytes = true, 2<<20
	var logged strings.Builder
	c.shareHistory(t.Context(), cfg, slog.New(slog.NewTextHandler(&logged, nil)))
	put := func(principal, key string) {
		t.Helper()
		if err := c.kept.put(t.Context(), principal, key, noise(100<<10)); err != nil {
			t.Fatal(err)
		}
	}
	put("bob", "first")
	for i := range 40 {
		put("ann", fmt.Sprint("k", i))
	}
	for key, principal := range map[string]string{"first": "bob", "k39": "ann", "k33": "ann"} {
		if value, err := c.kept.get(t.Context(), principal, key); value == nil {
			t.Errorf("%s of %s is gone: %v", key, principal, err)
		}
	}
	// A MiB is seven values, as they are sealed, and a sixteenth more is less than another one.
	if value, err := c.kept.get(t.Context(), "ann", "k32"); value != nil || err != nil || logged.Len() > 0 {
		t.Errorf("%d bytes, %v, %s", len(value), err, &logged)
	}
}
