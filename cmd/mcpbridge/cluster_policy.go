package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/bridge/rates"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
)

const (
	approvalsBook = "approvals"
	quotasBook    = "quotas"
	quotasKey     = "days"
	stopBook      = "stop"
	stopKey       = "calls" // has why all calls are stopped, or lifted

	// lifted is the value when calls may run: that there is none says nothing, as NATS may have lost it.
	lifted = "-"

	// keptApprovals is for how long NATS keeps an approval at most, whatever the config says.
	keptApprovals = 7 * 24 * time.Hour
	keptQuotas    = 10 * 24 * time.Hour // after the last change

	stopTime = 2 * time.Second // that a node waits to be told whether calls are stopped, before it serves
)

// share has all nodes of the cluster decide the same approvals, use the same quotas, and stop all calls together,
// until ctx ends. No call runs until it is known that they may.
func (c *cluster) share(ctx context.Context, pool *stack.Pool, log *slog.Logger) {
	desk := pool.Approvals
	desk.Share(ctx, c.node.Book(approvalsBook, keptApprovals))
	var quotas rates.Store = dayStore{ctx, c.node.Book(quotasBook, keptQuotas)}
	pool.Quotas.Store(&quotas)
	desk.Stop(stoppedCluster, "it is not known yet whether calls may run: NATS has not answered")
	c.stops = c.node.Book(stopBook, 0)
	var mu sync.Mutex // guards stopped, and the Desk while it follows that
	stopped := ""
	ready := c.stops.Watch(ctx, func(key string, value []byte, _ uint64) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case key != stopKey:
		case value == nil && stopped != "": // NATS has lost it
			go c.stopCalls(ctx, stopped)
		case value == nil:
		case string(value) == lifted:
			stopped = ""
			desk.Resume(stoppedCluster)
			log.Info("calls of the cluster run again")
		default:
			stopped = string(value[1:])
			desk.Stop(stoppedCluster, stopped)
			log.Warn("all calls of the cluster are stopped (mcpbridge stop --lift ends that)", "reason", stopped)
		}
	})
	known := make(chan struct{})
	go func() {
		defer close(known)
		select {
		case <-ready:
			mu.Lock()
			defer mu.Unlock()
			if stopped == "" {
				desk.Resume(stoppedCluster)
			}
		case <-ctx.Done():
		}
	}()
	select {
	case <-known:
	case <-time.After(stopTime):
	}
}

// stopCalls stops all calls of the cluster for a reason, and lets them run again for "".
func (c *cluster) stopCalls(ctx context.Context, reason string) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	value := lifted
	if reason != "" {
		value = "+" + reason
	}
	if _, _, err := c.stops.Change(ctx, stopKey, []byte(value), 0, 0); err != nil {
		return fmt.Errorf("cluster %s could not be told, and its nodes are as they were: %w", c.name, err)
	}
	return nil
}

// dayStore has the calls of the latest days for all nodes.
type dayStore struct {
	ctx  context.Context // ends with the node
	book *fleet.Book
}

// Update implements rates.Store.
func (d dayStore) Update(change func(text []byte) ([]byte, error)) error {
	ctx, cancel := context.WithTimeout(d.ctx, stopTime)
	defer cancel()
	return d.book.Update(ctx, quotasKey, change)
}
