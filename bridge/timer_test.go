package bridge_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// A timer expires when its timeout has passed since the last progress, or its maximum since
// the start. Time for which it is held counts towards neither.
func TestTimer(t *testing.T) {
	type step struct {
		after time.Duration // of the step before
		do    func(*bridge.Timer)
	}
	extend, hold, release := (*bridge.Timer).Extend, (*bridge.Timer).Hold, (*bridge.Timer).Release
	const s = time.Second
	for _, c := range []struct {
		name             string
		timeout, maximum time.Duration
		steps            []step
		want             time.Duration // from the start; 0: never
		atMaximum        bool
	}{
		{"nothing", 5 * s, 20 * s, nil, 5 * s, false},
		{"a maximum below the timeout", 5 * s, 2 * s, nil, 2 * s, true},
		{"progress", 5 * s, 20 * s, []step{{4 * s, extend}, {4 * s, extend}}, 13 * s, false},
		{"progress without end", 5 * s, 12 * s, []step{{4 * s, extend}, {4 * s, extend}, {3 * s, extend}}, 12 * s, true},
		{"held", 5 * s, 20 * s, []step{{4 * s, hold}, {60 * s, release}}, 65 * s, false},
		{"held twice at once", 5 * s, 20 * s, []step{{1 * s, hold}, {1 * s, hold}, {10 * s, release}, {10 * s, release}}, 26 * s, false},
		{"held twice in turn", 5 * s, 20 * s, []step{{1 * s, hold}, {10 * s, release}, {1 * s, hold}, {10 * s, release}}, 25 * s, false},
		{"progress while held", 5 * s, 20 * s, []step{{4 * s, hold}, {10 * s, extend}, {10 * s, release}}, 29 * s, false},
		{"the maximum does not count what was held", 5 * s, 8 * s, []step{{4 * s, hold}, {60 * s, release}, {0, extend}}, 68 * s, true},
		{"never released", 5 * s, 8 * s, []step{{4 * s, hold}, {60 * s, extend}}, 0, false},
		{"stopped", 5 * s, 8 * s, []step{{4 * s, (*bridge.Timer).Stop}, {0, extend}}, 0, false},
		{"stopped while held", 5 * s, 8 * s, []step{{4 * s, hold}, {0, (*bridge.Timer).Stop}, {0, release}}, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun, ended := time.Now(), make(chan time.Duration, 1)
				var timer, polled bridge.Timer
				timer.Start(c.timeout, c.maximum, func() { ended <- time.Since(begun) })
				polled.Start(c.timeout, c.maximum, nil)
				for _, step := range c.steps {
					time.Sleep(step.after)
					step.do(&timer)
					step.do(&polled)
				}
				if c.want == 0 {
					time.Sleep(time.Hour)
					synctest.Wait()
					if len(ended) > 0 {
						t.Errorf("expired after %s", <-ended)
					}
					return
				}
				time.Sleep(time.Until(begun.Add(c.want - 1)))
				synctest.Wait()
				if len(ended) > 0 || polled.Expired() {
					t.Error("expired too early")
				}
				if took := <-ended; took != c.want {
					t.Errorf("expired after %s, want %s", took, c.want)
				}
				if !polled.Expired() || polled.AtMaximum() != c.atMaximum {
					t.Errorf("polled: expired %t, at its maximum %t; want true, %t", polled.Expired(), polled.AtMaximum(), c.atMaximum)
				}
			})
		})
	}
}
