package main

import (
	"context"
	"slices"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/rates"
)

const (
	ratesEvent = "rates"
	ratesTime  = 100 * time.Millisecond
	ratesMost  = 500 // of one event
)

// shareRates tells the other nodes what callers have used of their rates here, and takes what they have used
// there, until ctx ends. While NATS is away each node counts alone: what is lost is not told later.
func (c *cluster) shareRates(ctx context.Context, buckets *rates.Buckets) error {
	stop, err := hear(c, ratesEvent, buckets.Take)
	if err != nil {
		return err
	}
	used := make(chan struct{}, 1)
	buckets.OnUsed(func() {
		select {
		case used <- struct{}{}:
		default:
		}
	})
	go func() {
		defer stop()
		for {
			select {
			case <-used:
			case <-ctx.Done():
				return
			}
			select {
			case <-time.After(ratesTime): // for what else is used meanwhile
			case <-ctx.Done():
				return
			}
			for uses := range slices.Chunk(buckets.Used(), ratesMost) {
				c.say(ratesEvent, uses)
			}
		}
	}()
	return nil
}
