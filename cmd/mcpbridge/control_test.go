package main

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

// Windows with other variables have other processes of a server, which are restarted at once: whoever asks waits only a
// bit longer than for one.
func TestManageAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stacks []*stack.Stack
		for range 2 {
			s, err := stack.New(&config.Config{Servers: []config.Server{{Name: "a", URL: "http://127.0.0.1:1/mcp", Lazy: true}}}, stack.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			stacks = append(stacks, s)
		}
		c := &control{stacks: func() []*stack.Stack { return stacks }}
		var restarting sync.WaitGroup
		restarting.Add(len(stacks))
		done, err := c.manage("a", "restarted", func(*mcpclient.Client) {
			restarting.Done()
			all := make(chan struct{})
			go func() {
				restarting.Wait()
				close(all)
			}()
			select {
			case <-all:
			case <-time.After(time.Hour):
				t.Error("one is restarted after the other")
			}
		})
		if done != "restarted a" || err != nil {
			t.Errorf("%q, %v", done, err)
		}
	})
}

// Without any server there are no names to choose from.
func TestNoServer(t *testing.T) {
	c := &control{stacks: func() []*stack.Stack { return nil }}
	if _, err := c.named("a"); err == nil || err.Error() != `no server "a" here: none is connected now` {
		t.Errorf("got %v", err)
	}
}

// What callers without credentials wait for says nothing of a server that serves others, or fails them.
func TestDownOf(t *testing.T) {
	link := func(state mcpclient.State) mcpclient.LinkStatus {
		return mcpclient.LinkStatus{Status: mcpclient.Status{State: state, Reason: "why"}}
	}
	waiting := link("waiting")
	for _, c := range []struct {
		links []mcpclient.LinkStatus
		want  string
	}{
		{nil, ""},
		{[]mcpclient.LinkStatus{waiting, waiting}, ", which is waiting: why"},
		{[]mcpclient.LinkStatus{waiting, link(mcpclient.Ready)}, ""},
		{[]mcpclient.LinkStatus{link(mcpclient.Idle), waiting}, ""},
		{[]mcpclient.LinkStatus{waiting, link(mcpclient.Failed)}, ", and it is down: why"},
		{[]mcpclient.LinkStatus{waiting, link(mcpclient.Connecting)}, ", which is still connecting"},
		{[]mcpclient.LinkStatus{link(mcpclient.Ready), link(mcpclient.Failed)}, ", and it is down: why"},
	} {
		if got := downOf(c.links); got != c.want {
			t.Errorf("%+v: %q, want %q", c.links, got, c.want)
		}
	}
}
