package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/policy"
)

const (
	approvalsBook = "approvals"
	stopBook      = "stop"
	stopKey       = "calls"

	// keptApprovals is for how long NATS keeps an approval at most, whatever the config says.
	keptApprovals = 7 * 24 * time.Hour

	stopTime = 2 * time.Second // that a node waits to be told whether calls are stopped, before it runs any
)

// share has all nodes of the cluster decide the same approvals, and stop all calls together, until ctx ends.
func (c *cluster) share(ctx context.Context, desk *policy.Desk, log *slog.Logger) {
	desk.Share(ctx, c.node.Book(approvalsBook, keptApprovals))
	c.stops = c.node.Book(stopBook, 0)
	ready := c.stops.Watch(ctx, func(key string, reason []byte, _ uint64) {
		switch {
		case key != stopKey:
		case reason == nil:
			desk.Resume(stoppedCluster)
			log.Info("calls of the cluster run again")
		default:
			desk.Stop(stoppedCluster, string(reason))
			log.Warn("all calls of the cluster are stopped (mcpbridge stop --lift ends that)", "reason", string(reason))
		}
	})
	select {
	case <-ready:
	case <-time.After(stopTime): // NATS is away
	case <-ctx.Done():
	}
}

// stopCalls stops all calls of the cluster for a reason, and lets them run again for "".
func (c *cluster) stopCalls(ctx context.Context, reason string) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	var value []byte
	if reason != "" {
		value = []byte(reason)
	}
	if _, _, err := c.stops.Change(ctx, stopKey, value, 0, 0); err != nil {
		return fmt.Errorf("the other nodes of cluster %s were not told: %w", c.name, err)
	}
	return nil
}
