package e2etest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/swap"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

// swapping replaces the inner source of a Source until the test ends.
func swapping(t *testing.T, inner func() bridge.Source) bridge.Source {
	s := swap.New(inner(), nil)
	stop := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				s.Replace(inner(), nil)
			}
		}
	})
	t.Cleanup(func() {
		close(stop)
		work.Wait()
		s.Close()
	})
	return s
}

// Tasks outlive the source in which they were created, as long as their server is in the next one.
func TestTasksSwapped(t *testing.T) {
	sourcetest.NoLeaks(t)
	for _, p := range prefixes {
		for _, up := range taskCarriers {
			for _, sharing := range []mcpclient.Sharing{mcpclient.Shared, mcpclient.Session} {
				sideBySide(t, fmt.Sprintf("%s%s-%s", p.prefix, up.name, sharing), func(t *testing.T) {
					s := newTaskServer("legacy")
					cfg := up.config(t, s.Server)
					cfg.Sharing = sharing
					members := p.members(dial(t, cfg))
					f := newFront(t, swapping(t, func() bridge.Source { return bridge.New(bridge.Options{Settle: time.Minute}, members...) }))
					useTasks(newCaller(t, f, overWS, false, `{}`), s, p.prefix)
				})
			}
		}
	}
}

// Subscriptions are repeated with the next source: the client gets each update once, and the server is
// told of no change.
func TestSubscriptionsSwapped(t *testing.T) {
	sharedLinks(t, func(t *testing.T, s *script, source bridge.Source) {
		swapped := swap.New(source, nil)
		c := newCaller(t, newFront(t, swapped), overWS, !s.legacy, `{}`)
		c.result(c.request("tools/list", "", ""))
		tag := c.watch("file:///a")
		for range 5 {
			swapped.Replace(source, nil)
			c.tool("touch", `{"uri":"file:///a"}`)
			m := c.note(wire.NotificationResourceUpdated)
			c.same("updated", string(m.Params.Get(wire.URI)), `"file:///a"`)
			c.same("the tag", tagOf(&m), tag)
		}
		if got := c.heard(); strings.Contains(got, "resources/updated") {
			t.Errorf("the client was told %s", got)
		}
		s.MustUntil(c, "one subscription", func() bool { return s.watchers("file:///a") == 1 })
		if n := len(s.Seen(wire.MethodSubscribe)); s.legacy && n != 1 {
			t.Errorf("the server was asked %d times", n)
		}
	})
}
