package stack

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/pins"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

// describing is a server with a tool that it describes so.
type describing struct{ text string }

func (d *describing) Open(context.Context, *bridge.Caller) (bridge.Session, error) { return d, nil }

func (d *describing) List(_ context.Context, kind bridge.ListKind) (*bridge.List, error) {
	it, err := bridge.NewItem(kind, []byte(`{"name":"a","description":"`+d.text+`"}`))
	return bridge.NewList(kind, []bridge.Item{it}), err
}

func (d *describing) Do(context.Context, *bridge.Request) bridge.Reply { return bridge.Reply{} }

func (d *describing) Close() error { return nil }

// fullDisk keeps nothing.
type fullDisk struct{}

func (fullDisk) Read() ([]byte, error) { return nil, nil }

func (fullDisk) Update(func([]byte) ([]byte, error)) error { return errors.New("no space left") }

// What was accepted and cannot be stored is known to the Stack of a changed config.
func TestPinsOfPool(t *testing.T) {
	cfg, err := config.Loader{}.Parse("mcpbridge.json", []byte(`{"mcpServers": {"notes": {"url": "http://127.0.0.1:1/", "pin": true}}}`))
	if err != nil {
		t.Fatal(err)
	}
	server := &describing{"adds"}
	opts := Options{Pool: NewPool(), Pins: t.TempDir(), SharePins: func(string, pins.Store) pins.Store { return fullDisk{} }}
	for range 2 {
		s, err := New(cfg, opts)
		if err != nil {
			t.Fatal(err)
		}
		session, err := s.pin(server, &cfg.Servers[0], &opts).Open(t.Context(), &bridge.Caller{})
		if err != nil {
			t.Fatal(err)
		}
		l, err := session.List(t.Context(), bridge.Tools)
		if err != nil || len(l.Items) != 1 || !strings.Contains(string(l.Items[0].Raw), "adds") {
			t.Errorf("it lists %v, %v", l.Items, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		server.text = "poison"
	}
	if err := opts.Pool.Close(); err != nil {
		t.Error(err)
	}
}
