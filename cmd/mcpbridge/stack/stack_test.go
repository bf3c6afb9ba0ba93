package stack

import (
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

// The first lists wait for as long as the config says, and in commands for every server.
func TestSettleTime(t *testing.T) {
	slow := []config.Server{{}, {ConnectTimeout: time.Minute}}
	for _, c := range []struct {
		cfg  config.Config
		all  bool
		want time.Duration
	}{
		{config.Config{}, false, 0},
		{config.Config{Settle: 5 * time.Second, Servers: slow}, false, 5 * time.Second},
		{config.Config{Settle: 5 * time.Second, Servers: slow}, true, 61 * time.Second},
		{config.Config{}, true, 31 * time.Second},
	} {
		if got := settleTime(&c.cfg, c.all); got != c.want {
			t.Errorf("%v, %v: %s, want %s", c.cfg, c.all, got, c.want)
		}
	}
}
