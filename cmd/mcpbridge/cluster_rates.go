package main

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/fleet/engine"
	"github.com/mcpbridge/mcpbridge/bridge/rates"
)

const (
	ratesEvent = "rates" // the subject, and the purpose of what is sealed
	ratesTime  = 100 * time.Millisecond
	ratesMost  = 500 // of one event
)

// shareRates tells the other nodes what callers have used of their rates here, and takes what they have used
// there, until ctx ends. While NATS is away each node counts alone: what is lost is not told later.
func (c *cluster) shareRates(ctx context.Context, buckets *rates.Buckets) error {
	stop, err := c.engine.Subscribe(ratesEvent, func(e engine.Event) {
		var uses []rates.Use
		data, by, ok := c.node.Open(ratesEvent, string(e.Data))
		if ok && by != "" && json.Unmarshal(data, &uses) == nil {
			buckets.Take(uses)
		}
	})
	if err != nil {
		return err
	}
	go func() {
		defer stop()
		tick := time.NewTicker(ratesTime)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			for uses := range slices.Chunk(buckets.Used(), ratesMost) {
				data, _ := json.Marshal(uses) // cannot fail
				_ = c.engine.Publish(ratesEvent, []byte(c.node.Seal(ratesEvent, data)))
			}
		}
	}()
	return nil
}
