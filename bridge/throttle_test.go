package bridge_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// A burst is written, then a line at each interval, which says what was left out before it.
func TestThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		throttle := &bridge.Throttle{To: slog.New(slog.NewTextHandler(&out, nil)), Burst: 3, Every: time.Second}
		lines := func() int { return strings.Count(out.String(), "msg=x") }
		for range 10 {
			throttle.Log(slog.LevelInfo, "x")
			throttle.Log(slog.LevelDebug, "x") // not enabled: not counted
		}
		written := lines()
		if written < 3 || written > 4 || strings.Contains(out.String(), "left_out_before") {
			t.Errorf("%d lines at once: %s", written, out.String())
		}
		time.Sleep(time.Second)
		throttle.Log(slog.LevelInfo, "x", "k", "v")
		throttle.Log(slog.LevelInfo, "x")
		if lines() != written+1 || !strings.Contains(out.String(), "k=v left_out_before=") {
			t.Errorf("after a second: %s", out.String())
		}
	})
}
