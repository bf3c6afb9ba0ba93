package stack

import (
	"fmt"
	"os"
	"path/filepath"
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
	command := definition{Config: mcpclient.Config{Name: "x", Command: []string{"files"}, Dir: "a", Lazy: true}}
	url := definition{Config: mcpclient.Config{Name: "x", URL: "https://example.com/mcp", Lazy: true}}
	for _, c := range []struct {
		name   string
		of     definition
		change func(*definition)
		same   bool
	}{
		{"nothing", command, func(*definition) {}, true},
		{"timeout", command, func(d *definition) { d.Timeout = time.Hour }, true},
		{"folder", command, func(d *definition) { d.Dir = "b" }, false},
		{"variable", command, func(d *definition) { d.Env = map[string]string{"TOOLSETS": "all"} }, false},
		{"argument", command, func(d *definition) { d.Command = []string{"files", "-w"} }, false},
		{"folder of a URL", url, func(d *definition) { d.Dir = "b" }, true},
		{"header", url, func(d *definition) { d.Headers = map[string]string{"Authorization": "Bearer other"} }, false},
		{"client of OAuth", url, func(d *definition) { d.identity = "other" }, false},
		{"URL", url, func(d *definition) { d.URL += "/2" }, false},
	} {
		other := c.of
		c.change(&other)
		if a, b := c.of.listFile(), other.listFile(); a == "" || (a == b) != c.same {
			t.Errorf("another %s: %s and %s", c.name, a, b)
		}
	}
}

// Of the files of lists the newest stay, whatever they are called.
func TestSweepLists(t *testing.T) {
	folder, now := t.TempDir(), time.Now()
	name := func(i int) string { return filepath.Join(folder, fmt.Sprintf("%d.json", i)) }
	write := func(i int) {
		if err := os.WriteFile(name(i), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name(i), now, now.Add(-time.Duration(i)*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range maxListFiles {
		write(i)
	}
	sweepLists(folder)
	if left, _ := os.ReadDir(folder); len(left) != maxListFiles {
		t.Fatalf("%d files are left of %d", len(left), maxListFiles)
	}
	write(maxListFiles)
	write(maxListFiles + 1)
	sweepLists(folder)
	left, _ := os.ReadDir(folder)
	if _, err := os.Stat(name(maxListFiles - 1)); err != nil || len(left) != maxListFiles {
		t.Errorf("%d files are left, and of the oldest that was to stay: %v", len(left), err)
	}
	p := new(Pool)
	for i := range 3 * sweepEach {
		write(maxListFiles + i)
		p.listSaved(folder)
	}
	if left, _ = os.ReadDir(folder); len(left) > maxListFiles+sweepEach {
		t.Errorf("%d files are left of a process that goes on", len(left))
	}
}
