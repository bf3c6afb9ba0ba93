package main

import (
	"path/filepath"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/pins"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
)

// A definition that is held back at one node is so at all, and what is accepted at one is accepted at all, as it was
// shown at any.
func TestPinsOfNodes(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir()) // where no program runs
	all, dir, server := clusterOf(t, "a", "b", "c"), t.TempDir(), sourcetest.NewFake()
	store := func(node int, folder string) pins.Store {
		own := &clusterPins{}
		own.use(all[node].node.Book(pinsBook, 0))
		return own.store("notes", stack.PinStore(filepath.Join(dir, folder), "config", "notes"))
	}
	expect := func(store pins.Store, tool string, want bool) {
		t.Helper()
		session, err := pins.New(server, pins.Options{Store: store}).Open(t.Context(), &bridge.Caller{})
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		list, err := session.List(t.Context(), bridge.Tools)
		if err != nil {
			t.Fatal(err)
		}
		if _, listed := list.Find(tool); listed != want {
			t.Errorf("tool %s is listed: %t", tool, listed)
		}
	}
	accept := func(store pins.Store, shown bool) {
		t.Helper()
		err := store.Update(func(text []byte) ([]byte, error) {
			after, accepted, unseen, err := pins.Accept(text, "")
			if shown != (len(accepted) == 1) || shown == (len(unseen) == 1) {
				t.Errorf("%v are accepted, and %v have not been shown", accepted, unseen)
			}
			return after, err
		})
		if err != nil {
			t.Error(err)
		}
	}
	a, b, c := store(0, "a"), store(1, "b"), store(2, "c")
	expect(a, "echo", true) // all is, the first time
	server.Add(`{"name":"two","inputSchema":{"type":"object"}}`)
	expect(b, "two", false)
	expect(a, "two", false)
	expect(a, "echo", true)
	accept(c, false)
	accept(b, true)
	expect(a, "two", true)
	expect(c, "two", true)
	server.Add(`{"name":"three","inputSchema":{"type":"object"}}`)
	all[2].engine.Close()
	expect(c, "two", true) // its copy says so
	expect(c, "three", false)
	expect(store(2, "new"), "echo", false) // it is not known what was accepted
	if err := c.Update(func([]byte) ([]byte, error) { return nil, nil }); err == nil {
		t.Error("without NATS it is forgotten what was accepted")
	}
	expect(a, "two", true)
	late := &clusterPins{} // of a node that joins after it has listed what it serves
	late.use(remoteBook{"config", pinsBook})
	once := pins.New(server, pins.Options{Store: late.store("late", stack.PinStore(filepath.Join(dir, "late"), "config", "late"))})
	session, err := once.Open(t.Context(), &bridge.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for _, joined := range []bool{false, true} {
		if list, err := session.List(t.Context(), bridge.Tools); err != nil || joined != (len(list.Items) > 0) {
			t.Errorf("joined %t: %d tools are listed: %v", joined, len(list.Items), err)
		}
		late.use(all[0].node.Book(pinsBook, 0))
	}
	server.Add(`{"name":"four","inputSchema":{"type":"object"}}`)
	expect(late.store("late", stack.PinStore(filepath.Join(dir, "other"), "config", "late")), "four", false)
}
