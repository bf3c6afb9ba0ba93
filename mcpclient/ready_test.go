package mcpclient_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

// Callers who come while the connection is being made all get it, however their waiting
// falls together with its coming.
func TestReadyWakesAll(t *testing.T) {
	upstreams(t, true, func(t *testing.T, u *upstream, cfg mcpclient.Config) {
		for i := range 100 {
			cfg.Name = fmt.Sprint("up", i)
			client := mcpclient.New(cfg)
			client.DialThrough(u.network.Dial)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			var wg sync.WaitGroup
			for j := range 50 {
				wg.Go(func() {
					session, err := client.Open(ctx, &bridge.Caller{ID: fmt.Sprint(j)})
					if err != nil {
						t.Error(err)
						return
					}
					defer session.Close()
					if list, err := session.List(ctx, bridge.Tools); err != nil || len(list.Items) != 1 {
						t.Errorf("caller %d of client %d: %v (%v)", j, i, list, err)
					}
				})
			}
			wg.Wait()
			cancel()
			client.Close()
		}
	})
}

// Connections of each client to a server that is up are logged for those who debug.
func TestReadyLoggedOnce(t *testing.T) {
	upstreams(t, true, func(t *testing.T, u *upstream, cfg mcpclient.Config) {
		logged := new(logBuffer)
		cfg.Name, cfg.Sharing = "up", mcpclient.Session
		cfg.Log = slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
		client := mcpclient.New(cfg)
		client.DialThrough(u.network.Dial)
		defer client.Close()
		const callers = 20
		sessions := make([]bridge.Session, callers)
		list := func(want string) {
			t.Helper()
			for _, s := range sessions {
				if _, err := s.List(t.Context(), bridge.Tools); err != nil {
					t.Error(err)
				}
			}
			synctest.Wait() // a list may be known before its link is ready
			text := logged.String()
			got := fmt.Sprintf("%d info, %d debug", strings.Count(text, "level=INFO msg=ready"), strings.Count(text, "level=DEBUG msg=ready"))
			if got != want {
				t.Errorf("logged %s, want %s", got, want)
			}
		}
		for i := range sessions {
			s, err := client.Open(t.Context(), &bridge.Caller{ID: fmt.Sprint(i)})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			sessions[i] = s
		}
		list("1 info, 19 debug")
		client.Stop()
		client.Restart()
		list("2 info, 38 debug")
	})
}

// A server that answers what it is asked at first, and no more, is the error of what it does not answer. It is not told
// that its initialize is cancelled.
func TestSilentLater(t *testing.T) {
	for method, want := range map[string]string{
		wire.MethodInitialize: "no answer within 30s",
		wire.MethodToolsList:  "tools/list failed: no answer within 30s",
	} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told atomic.Bool
				network := peer.NewNetwork()
				o := newOddOn(t, network, func(x *exchange) bool {
					switch time.Sleep(time.Second); x.Method {
					case method:
						<-x.ctx.Done()
					case wire.NotificationCancelled:
						told.Store(true)
						fallthrough
					default:
						return false
					}
					return true
				})
				openOn(t, network, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP}).unavailable(want)
				if told.Load() != (method != wire.MethodInitialize) {
					t.Errorf("that it is cancelled is told: %t", told.Load())
				}
			})
		})
	}
}

// A server over HTTP that does not answer server/discover is asked for the legacy era in time, and for its own once more
// if it is only slow.
func TestSilentAtDiscover(t *testing.T) {
	for _, legacy := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var told atomic.Bool
			var asked atomic.Int32
			network := peer.NewNetwork()
			o := newOddOn(t, network, func(x *exchange) bool {
				switch x.Method {
				case wire.NotificationCancelled:
					told.Store(true)
				case wire.MethodDiscover:
					if legacy || asked.Add(1) == 1 {
						<-x.ctx.Done()
						return true
					}
				case wire.MethodInitialize:
					if !legacy {
						x.say(`{"jsonrpc":"2.0","id":` + string(x.ID) + `,"error":{"code":-32601,"message":"method not found"}}`)
						return true
					}
				}
				return false
			})
			c := openOn(t, network, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP}).also(bridge.Caller{ID: "modern", Modern: true})
			c.works("ok")
			if told.Load() {
				t.Error("that server/discover is cancelled is told")
			}
		})
	}
}

// That it does not answer is remembered for a while, of this version of it.
func TestSilenceIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked, version atomic.Int32
		network := peer.NewNetwork()
		o := newOddOn(t, network, func(x *exchange) bool {
			switch x.Method {
			case wire.MethodDiscover:
				asked.Add(1)
				<-x.ctx.Done()
			case wire.MethodInitialize:
				x.result(fmt.Sprintf(`"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"%d"}`, version.Load()))
			default:
				return false
			}
			return true
		})
		c := openOn(t, network, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP})
		for i, step := range []struct {
			after   time.Duration
			version int32
			want    int32 // how often it has been asked
		}{{0, 1, 1}, {0, 1, 1}, {4 * time.Minute, 1, 1}, {time.Minute, 1, 2}, {0, 2, 2}, {0, 2, 3}, {0, 2, 3}} {
			time.Sleep(step.after)
			version.Store(step.version)
			c.also(bridge.Caller{ID: fmt.Sprint("modern", i), Modern: true}).works("ok")
			if got := asked.Load(); got != step.want {
				t.Errorf("caller %d: it has been asked %d times, want %d", i, got, step.want)
			}
		}
	})
}
