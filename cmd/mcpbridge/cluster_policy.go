package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/bridge/policy"
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

	// sealedStop is why no call runs where it is not known whether all are stopped.
	sealedStop = "whether all calls of the cluster are stopped was sealed under a secret that this node does not have: " +
		"add that to cluster.secrets, behind the others, and start it again, or let calls run with mcpbridge stop --lift"

	stopTime = 2 * time.Second // that a node waits to be told whether calls are stopped, before it serves
)

// share has all nodes of the cluster decide the same approvals, use the same rates and quotas, and stop all calls
// together, until ctx ends. No call runs until it is known that they may.
func (c *cluster) share(ctx context.Context, pool *stack.Pool, log *slog.Logger) {
	desk := pool.Approvals
	desk.Share(ctx, c.node.Book(approvalsBook, keptApprovals))
	var quotas rates.Store = dayStore{context.WithoutCancel(ctx), c.node.Book(quotasBook, keptQuotas)}
	pool.Quotas.Store(&quotas)
	if err := c.shareRates(ctx, &pool.Buckets); err != nil {
		log.Error("rates are of this node alone", "error", err)
	}
	c.shareStops(ctx, desk, log)
}

// shareStops has the Desk stop all calls when any node has, and waits until it is known whether one has, but no longer
// than stopTime.
func (c *cluster) shareStops(ctx context.Context, desk *policy.Desk, log *slog.Logger) {
	desk.Hold(stoppedCluster, "this node has just started and does not know yet whether calls may run, as NATS has not answered: call again")
	c.stops = fleet.Strict(c.node.Book(stopBook, 0))
	var mu sync.Mutex // guards stopped, and the Desk while it follows that
	stopped := ""
	putBack := keepDoing(ctx, func() error { // what NATS has lost, unless it was lifted meanwhile
		mu.Lock()
		value := "+" + stopped
		mu.Unlock()
		if value == "+" {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, bookTime)
		defer cancel()
		_, _, err := c.stops.Add(ctx, stopKey, []byte(value), 0)
		return err
	})
	ready := c.stops.Watch(ctx, func(key string, value []byte, _ uint64) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case key != stopKey:
		case value == nil:
			putBack()
		case len(value) == 0:
			c.sealed.Store(true)
			desk.Hold(stoppedCluster, sealedStop)
			log.Error(sealedStop)
		case string(value) == lifted:
			stopped = ""
			c.sealed.Store(false)
			c.told.Store(true)
			desk.Resume(stoppedCluster)
			log.Info("calls of the cluster run again")
		default:
			stopped = string(value[1:])
			c.sealed.Store(false)
			c.told.Store(true)
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
			if stopped == "" && !c.sealed.Load() {
				desk.Resume(stoppedCluster)
			}
			c.told.Store(!c.sealed.Load())
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
	ctx  context.Context // outlives serve, which gives calls back in its end
	book *fleet.Book
}

// Update implements rates.Store.
func (d dayStore) Update(change func(text []byte) ([]byte, error)) error {
	ctx, cancel := context.WithTimeout(d.ctx, stopTime)
	defer cancel()
	return fleet.Update(ctx, d.book, quotasKey, change)
}
