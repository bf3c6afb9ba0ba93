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

// What is kept of a lazy server is for its command in its folder, and for its URL.
func TestListFile(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	command, url := config.Server{Name: "x", Command: "files", Lazy: true}, config.Server{Name: "x", URL: "https://example.com/mcp", Lazy: true}
	if a := listFile(&command, "a"); a == "" || a != listFile(&command, "a") || a == listFile(&command, "b") {
		t.Error("a command has not one file in each folder")
	}
	if a := listFile(&url, "a"); a == "" || a != listFile(&url, "b") || a == listFile(&command, "a") {
		t.Error("a URL has not one file")
	}
}
