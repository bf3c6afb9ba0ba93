package stack

import (
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/mcpclient"
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

// What is kept of a lazy server is for all that decides what it lists.
func TestListFile(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	command := mcpclient.Config{Name: "x", Command: []string{"files"}, Dir: "a", Lazy: true}
	url := mcpclient.Config{Name: "x", URL: "https://example.com/mcp", Lazy: true}
	for _, c := range []struct {
		name   string
		of     mcpclient.Config
		change func(*mcpclient.Config)
		same   bool
	}{
		{"nothing", command, func(*mcpclient.Config) {}, true},
		{"timeout", command, func(c *mcpclient.Config) { c.Timeout = time.Hour }, true},
		{"folder", command, func(c *mcpclient.Config) { c.Dir = "b" }, false},
		{"variable", command, func(c *mcpclient.Config) { c.Env = map[string]string{"TOOLSETS": "all"} }, false},
		{"argument", command, func(c *mcpclient.Config) { c.Command = []string{"files", "-w"} }, false},
		{"folder of a URL", url, func(c *mcpclient.Config) { c.Dir = "b" }, true},
		{"header", url, func(c *mcpclient.Config) { c.Headers = map[string]string{"Authorization": "Bearer other"} }, false},
		{"URL", url, func(c *mcpclient.Config) { c.URL += "/2" }, false},
	} {
		one := definition{Config: c.of}
		other := one
		c.change(&other.Config)
		if a, b := one.listFile(), other.listFile(); a == "" || (a == b) != c.same {
			t.Errorf("another %s: %s and %s", c.name, a, b)
		}
	}
}
