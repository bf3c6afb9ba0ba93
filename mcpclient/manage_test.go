package mcpclient_test

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A server can be restarted and stopped while it has callers.
func TestRestartAndStop(t *testing.T) {
	everywhere(t, nil, func(t *testing.T, carrier string, c *caller) {
		state := func() mcpclient.LinkStatus {
			t.Helper()
			links := c.client.Links()
			if len(links) != 1 || links[0].Callers != 1 || links[0].Since.IsZero() || (links[0].PID != 0) != (carrier == "stdio" && links[0].State == mcpclient.Ready) {
				t.Fatalf("links: %+v", links)
			}
			return links[0]
		}
		c.works("ok")
		first := state()
		c.client.Restart()
		c.works("ok")
		second := state()
		if carrier == "stdio" && first.PID == second.PID {
			t.Errorf("the process is the same, %d", first.PID)
		}
		c.client.Stop()
		c.fails(c.call("ok"), toolformat.Unavailable, "it was stopped (mcpbridge restart starts it again)")
		if st := state(); st.State != mcpclient.Stopped {
			t.Errorf("the state is %s", st.State)
		}
		c.client.Stop()
		c.client.Restart()
		c.works("ok")
	})
}

// A list that is being read does not keep its connection, however long its server takes.
func TestRestartWhileListing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lists atomic.Int32
		network := peer.NewNetwork()
		o := newOddOn(t, network, func(x *exchange) bool {
			if x.Method != wire.MethodToolsList || lists.Add(1) != 2 {
				return false
			}
			<-x.ctx.Done()
			return true
		})
		c := openOn(t, network, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP})
		c.works("ok")
		if _, err := c.session.List(t.Context(), bridge.Tools); err != nil || lists.Load() != 2 {
			t.Fatalf("%d lists, %v", lists.Load(), err)
		}
		begun := time.Now()
		c.client.Restart()
		if took := time.Since(begun); took > time.Second {
			t.Errorf("a restart took %v", took)
		}
		c.works("ok")
	})
}

// An attempt to connect, which may take long, is ended too.
func TestRestartAndStopWhileConnecting(t *testing.T) {
	sourcetest.NoLeaks(t)
	synctest.Test(t, func(t *testing.T) {
		client := mcpclient.New(mcpclient.Config{Name: "up", URL: "http://up.example/mcp", ConnectTimeout: time.Hour})
		defer client.Close()
		var dials atomic.Int32
		client.DialThrough(func(ctx context.Context, _, _ string) (net.Conn, error) {
			dials.Add(1)
			<-ctx.Done()
			return nil, ctx.Err()
		})
		session, err := client.Open(t.Context(), &bridge.Caller{ID: "1"})
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		is := func(state mcpclient.State) (attempts int32) {
			t.Helper()
			synctest.Wait()
			if links := client.Links(); len(links) != 1 || links[0].State != state {
				t.Errorf("links: %+v; want one that is %s", links, state)
			}
			return dials.Load()
		}
		first := is(mcpclient.Connecting)
		client.Restart()
		if again := is(mcpclient.Connecting); again <= first {
			t.Errorf("%d attempts after a restart, %d before", again, first)
		}
		begun := time.Now()
		client.Stop()
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("Stop took %v", took)
		}
		is(mcpclient.Stopped)
	})
}

// A call over HTTP, which may go on when its connection is lost, ends when the server is restarted.
func TestRestartEndsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network, begun := peer.NewNetwork(), make(chan struct{})
		o := newOddOn(t, network, func(x *exchange) bool {
			if x.Method != wire.MethodToolsCall {
				return false
			}
			close(begun)
			<-x.ctx.Done()
			return true
		})
		c := openOn(t, network, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP})
		reply := make(chan bridge.Reply)
		go func() { reply <- c.call("ok") }()
		<-begun
		c.client.Restart()
		c.fails(<-reply, toolformat.Unavailable, "it is unknown whether it ran")
	})
}

// So does one that goes on when its connection was lost before that, and it ends when its caller has gone.
func TestRestartEndsCallsOfLostConnection(t *testing.T) {
	for name, end := range map[string]func(*caller){
		"restart": func(c *caller) { c.client.Restart() },
		"stop":    func(c *caller) { c.client.Stop() },
		"close":   func(c *caller) { c.session.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network, begun := peer.NewNetwork(), make(chan struct{})
				o := newOddOn(t, network, func(x *exchange) bool {
					if x.Method != wire.MethodToolsCall || toolOf(&x.Message) != "waits" {
						return false
					}
					close(begun)
					<-x.ctx.Done()
					return true
				})
				c, down := openFailing(t, network, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP, Sharing: mcpclient.Shared})
				other := c.also(bridge.Caller{ID: "other"})
				other.works("ok")
				reply := make(chan bridge.Reply, 1)
				go func() { reply <- other.do(t.Context(), "waits", "{}") }()
				<-begun
				time.Sleep(time.Minute) // idle connections end
				down.Store(1)
				c.works("ok")
				synctest.Wait()
				if len(reply) > 0 {
					t.Fatal("it does not go on")
				}
				end(other)
				synctest.Wait()
				select {
				case r := <-reply:
					if r.Err == nil {
						t.Errorf("it is answered: %s", r.Result)
					}
				default:
					t.Error("it goes on")
				}
			})
		})
	}
}

// TestRecheck: links that connected before the login became another's make their connections anew, those that connected
// later do not.
func TestRecheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var greeted atomic.Int32
		network := peer.NewNetwork()
		o := newOddOn(t, network, func(x *exchange) bool {
			if x.Method == wire.MethodInitialize {
				greeted.Add(1)
			}
			return false
		})
		c := openOn(t, network, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP, Auth: &tokens{}})
		c.works("ok")
		c.also(bridge.Caller{ID: "other"}).works("ok")
		time.Sleep(time.Second)
		switched := time.Now()
		time.Sleep(time.Second)
		c.also(bridge.Caller{ID: "later"}).works("ok")
		before := greeted.Load()
		c.client.Recheck(func(any) (came, other time.Time) { return switched, switched })
		time.Sleep(time.Minute)
		if again := greeted.Load() - before; before != 3 || again != 2 {
			t.Errorf("%d of %d links connect again", again, before)
		}
	})
}

// TestRecheckFailed: a link that failed before credentials came tries again at once, one that has failed with them does not.
func TestRecheckFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var greeted atomic.Int32
		network := peer.NewNetwork()
		o := newOddOn(t, network, func(x *exchange) bool {
			greeted.Add(1)
			x.w.WriteHeader(http.StatusUnauthorized)
			return true
		})
		began := time.Now()
		c := openOn(t, network, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP, Auth: &tokens{}, RetryMin: time.Hour, RetryMax: time.Hour})
		c.fails(c.call("ok"), toolformat.Unavailable, "401")
		time.Sleep(time.Second)
		for _, at := range []struct {
			came  time.Time
			tries bool
		}{{time.Time{}, false}, {began.Add(-time.Second), false}, {time.Now(), true}} {
			before := greeted.Load()
			c.client.Recheck(func(any) (came, switched time.Time) { return at.came, time.Time{} })
			time.Sleep(time.Second)
			if tries := greeted.Load() > before; tries != at.tries {
				t.Errorf("credentials that came %v: it tries again: %t", at.came, tries)
			}
		}
	})
}
