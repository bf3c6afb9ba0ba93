package main

import (
	"os"
	"testing"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

// A config that comes while it is looked for is loaded, or there is an error.
func TestLoadAppearing(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("AppData", t.TempDir())
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				os.WriteFile(config.FileName, []byte("{}"), 0o600)
				os.Remove(config.FileName)
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	f := newFlags("pins", "", "", streams{})
	f.inConfig = true
	for range 5000 {
		if cfg, err := f.load(nil); cfg == nil && err == nil {
			t.Fatal("neither a config nor an error")
		}
	}
}
