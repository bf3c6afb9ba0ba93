package mcpclient_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const res = "file:///a"

// eras runs a test of subscriptions at servers of both eras; how is the method by which
// they are asked to tell of a resource.
func eras(t *testing.T, test func(t *testing.T, u *upstream, cfg mcpclient.Config, how string)) {
	for era, how := range map[string]string{"legacy": wire.MethodSubscribe, "modern": wire.MethodListen} {
		t.Run(era, func(t *testing.T) {
			upstreams(t, era == "legacy", func(t *testing.T, u *upstream, cfg mcpclient.Config) {
				test(t, u, cfg, how)
			})
		})
	}
}

// told checks that an update reaches a caller.
func told(t *testing.T, updates <-chan string, want string) {
	t.Helper()
	select {
	case got := <-updates:
		if got != want {
			t.Errorf("told %s, want %s", got, want)
		}
	case <-time.After(patience):
		t.Error("not told")
	}
}

// watcher is a session that is told of resources.
func (c *caller) watcher(id string) (*caller, <-chan string) {
	updates := make(chan string, 100)
	return c.also(bridge.Caller{ID: id, Notify: func(method string, params []byte) {
		if method == wire.NotificationResourceUpdated {
			updates <- string(params)
		}
	}}), updates
}

// A caller that subscribes has its answer when the server has agreed: what happens to
// the resource from then on it is told.
func TestSubscribeAwaitsServer(t *testing.T) {
	eras(t, func(t *testing.T, u *upstream, cfg mcpclient.Config, how string) {
		c := u.open(t, cfg)
		one, updates := c.watcher("one")
		reply := one.ask(t.Context(), wire.MethodSubscribe, res)
		a := u.next(t, how, res)
		one.waits(reply)
		a.agree()
		one.agreed(reply)
		if how == wire.MethodListen {
			a.note(wire.NotificationResourceUpdated, `"uri":"`+res+`"`)
			told(t, updates, `{"_meta":{},"uri":"`+res+`"}`)
		}
		one.agreed(one.ask(t.Context(), wire.MethodSubscribe, res)) // again
		u.quiet(t)
		reply = one.ask(t.Context(), wire.MethodUnsubscribe, res)
		if how == wire.MethodSubscribe {
			u.next(t, wire.MethodUnsubscribe, res).agree()
		}
		one.agreed(reply)
		a.ended(t)
		reply = one.ask(t.Context(), wire.MethodSubscribe, res)
		u.next(t, how, res).agree()
		one.agreed(reply)
	})
}

// A subscription that the server refuses is an error, and the next one is asked anew.
func TestSubscribeRefused(t *testing.T) {
	refusals := map[string]func(*asked){
		"error": func(a *asked) { a.refuse(-32602) },
		"other": func(a *asked) { a.grant(`{"resourceSubscriptions":["file:///b"]}`) },
		"none":  func(a *asked) { a.grant(`{}`) },
		"ended": func(a *asked) { a.result(`"resultType":"complete"`) },
	}
	for name, refuse := range refusals {
		t.Run(name, func(t *testing.T) {
			eras(t, func(t *testing.T, u *upstream, cfg mcpclient.Config, how string) {
				if how == wire.MethodSubscribe && name != "error" {
					t.Skip("the legacy era knows no other refusal")
				}
				c := u.open(t, cfg)
				one, updates := c.watcher("one")
				for range 2 {
					reply := one.ask(t.Context(), wire.MethodSubscribe, res)
					a := u.next(t, how, res)
					refuse(a)
					if r := one.reply(reply); r.Err == nil || r.Err.Code == toolformat.Timeout {
						t.Fatalf("got %s %v", r.Result, r.Err)
					} else if name == "error" && r.Err.Raw == nil {
						t.Errorf("it is not the server's error: %v", r.Err)
					}
					a.ended(t)
				}
				reply := one.ask(t.Context(), wire.MethodSubscribe, res)
				a := u.next(t, how, res)
				a.agree()
				one.agreed(reply)
				u.quiet(t)
				if how == wire.MethodListen {
					a.note(wire.NotificationResourceUpdated, `"uri":"`+res+`"`)
					told(t, updates, `{"_meta":{},"uri":"`+res+`"}`)
				}
			})
		})
	}
}

// Who subscribes to a resource while the server is asked about it already has the same
// answer when that is yes, and asks itself otherwise.
func TestSubscribeTogether(t *testing.T) {
	outcomes := map[string]struct {
		first func(a *asked, cancel context.CancelFunc, first *caller)
		code  toolformat.Code // of the first caller's error
	}{
		"agreed":   {first: func(a *asked, _ context.CancelFunc, _ *caller) { a.agree() }},
		"refused":  {func(a *asked, _ context.CancelFunc, _ *caller) { a.refuse(-32602) }, toolformat.Invalid},
		"canceled": {func(_ *asked, cancel context.CancelFunc, _ *caller) { cancel() }, toolformat.Canceled},
		"closed":   {func(_ *asked, _ context.CancelFunc, first *caller) { first.session.Close() }, toolformat.Canceled},
	}
	for name, outcome := range outcomes {
		t.Run(name, func(t *testing.T) {
			eras(t, func(t *testing.T, u *upstream, cfg mcpclient.Config, how string) {
				c := u.open(t, cfg)
				one, _ := c.watcher("one")
				two, updates := c.watcher("two")
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				first := one.ask(ctx, wire.MethodSubscribe, res)
				a := u.next(t, how, res)
				second := two.ask(t.Context(), wire.MethodSubscribe, res)
				c.waits(first, second)
				u.quiet(t)
				outcome.first(a, cancel, one)
				if name == "agreed" {
					one.agreed(first)
				} else {
					one.fails(one.reply(first), outcome.code, "")
					a.ended(t)
					a = u.next(t, how, res)
					c.waits(second)
					a.agree()
				}
				two.agreed(second)
				u.quiet(t)
				if how == wire.MethodListen {
					a.note(wire.NotificationResourceUpdated, `"uri":"`+res+`"`)
					told(t, updates, `{"_meta":{},"uri":"`+res+`"}`)
				}
			})
		})
	}
}

// A server that never agrees is waited for as long as for any call, also by those who
// wait for somebody else's answer.
func TestSubscribeTimeout(t *testing.T) {
	eras(t, func(t *testing.T, u *upstream, cfg mcpclient.Config, how string) {
		cfg.Timeout = time.Second
		c := u.open(t, cfg)
		c.sees("ok") // it is connected
		one, _ := c.watcher("one")
		two, _ := c.watcher("two")
		first := one.ask(t.Context(), wire.MethodSubscribe, res)
		a := u.next(t, how, res)
		second := two.ask(t.Context(), wire.MethodSubscribe, res)
		one.fails(one.reply(first), toolformat.Timeout, "took longer than 1s (timeout in its config)")
		two.fails(two.reply(second), toolformat.Timeout, "took longer than 1s (timeout in its config)")
		a.ended(t)
	})
}

// A connection that is lost before the server has agreed is made again, and the server
// asked again; so it is for what it had agreed to.
func TestSubscribeLost(t *testing.T) {
	for era, how := range map[string]string{"legacy": wire.MethodSubscribe, "modern": wire.MethodListen} {
		t.Run(era, func(t *testing.T) {
			sourcetest.NoLeaks(t)
			synctest.Test(t, func(t *testing.T) { subscribeLost(t, how) })
		})
	}
}

func subscribeLost(t *testing.T, how string) {
	u := newUpstream(t, how == wire.MethodSubscribe)
	c := u.open(t, mcpclient.Config{URL: "ws" + u.url[len("http"):] + "/ws", Sharing: mcpclient.Shared})
	one, updates := c.watcher("one")
	reply := one.ask(t.Context(), wire.MethodSubscribe, res)
	u.next(t, how, res).Drop()
	a := u.next(t, how, res)
	one.waits(reply)
	a.agree()
	one.agreed(reply)
	a.Drop()
	a = u.next(t, how, res)
	a.agree()
	a.note(wire.NotificationResourceUpdated, `"uri":"`+res+`"`)
	if how == wire.MethodListen { // the other one has been answered, and says no more
		told(t, updates, `{"_meta":{},"uri":"`+res+`"}`)
	}
	u.quiet(t)
}

// The update of a part of a resource reaches a subscriber of the whole, but not on a link that
// several principals share: the part may be another one's.
func TestUpdateOfPart(t *testing.T) {
	const whole, part = "file:///", "file:///ann/plan"
	for _, other := range []string{"", "bob"} {
		t.Run(other, func(t *testing.T) {
			u := newUpstream(t, true)
			c := u.open(t, mcpclient.Config{URL: "ws" + u.url[len("http"):] + "/ws", Sharing: mcpclient.Shared})
			updates := make(chan string, 10)
			o := c.also(bridge.Caller{ID: "other", Principal: bridge.Principal{Name: other}, Notify: func(method string, params []byte) {
				if method == wire.NotificationResourceUpdated {
					uri, _ := wire.Text(wire.Lookup(params, "uri"))
					updates <- uri
				}
			}})
			reply := o.ask(t.Context(), wire.MethodSubscribe, whole)
			a := u.next(t, wire.MethodSubscribe, whole)
			a.agree()
			o.agreed(reply)
			a.note(wire.NotificationResourceUpdated, `"uri":"`+part+`"`)
			a.note(wire.NotificationResourceUpdated, `"uri":"`+whole+`"`)
			if other == "" {
				told(t, updates, part)
			}
			told(t, updates, whole)
		})
	}
}

// A caller that goes takes its subscriptions with it.
func TestSubscriberGoes(t *testing.T) {
	eras(t, func(t *testing.T, u *upstream, cfg mcpclient.Config, how string) {
		c := u.open(t, cfg)
		one, _ := c.watcher("one")
		two, _ := c.watcher("two")
		reply := one.ask(t.Context(), wire.MethodSubscribe, res)
		a := u.next(t, how, res)
		a.agree()
		one.agreed(reply)
		two.agreed(two.ask(t.Context(), wire.MethodSubscribe, res))
		one.session.Close()
		c.works("ok")
		u.quiet(t)
		two.session.Close()
		if how == wire.MethodSubscribe {
			u.next(t, wire.MethodUnsubscribe, res).agree()
		}
		a.ended(t)
	})
}

// sees waits until a caller's list has a tool.
func (c *caller) sees(tool string) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), patience)
	defer cancel()
	for {
		l, err := c.session.List(ctx, bridge.Tools)
		if err != nil {
			c.Fatal(err)
		}
		if _, ok := l.Find(tool); ok {
			return
		}
		select {
		case <-c.changes:
		case <-ctx.Done():
			c.Fatalf("the list has no %s", tool)
		}
	}
}

// No change of a list is missed, whenever the server begins to tell of them.
func TestListChangesFromTheStart(t *testing.T) {
	for name, listen := range map[string]func(u *upstream, a *asked){
		"at once": func(u *upstream, a *asked) {
			u.add("new")
			a.grant(everything)
		},
		"late": func(u *upstream, a *asked) {
			go func() { // meanwhile it answers other requests
				u.Until(context.Background(), func() bool { return u.Count(wire.MethodToolsList) > 0 })
				u.add("new")
				a.grant(everything)
			}()
		},
		"never": func(u *upstream, a *asked) {
			u.add("new")
			a.refuse(wire.MethodNotFound)
		},
		"nothing": func(u *upstream, a *asked) {
			u.add("new")
			a.grant(`{}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			upstreams(t, false, func(t *testing.T, u *upstream, cfg mcpclient.Config) {
				u.listen = func(a *asked) { listen(u, a) }
				u.open(t, cfg).sees("new")
			})
		})
	}
}

// A listen that has ended is opened anew, and the lists are read again.
func TestListChangesAgain(t *testing.T) {
	for how, end := range map[string]func(a *asked){
		"answered":  func(a *asked) { a.result(`"resultType":"complete"`) },
		"cancelled": func(a *asked) { a.note(wire.NotificationCancelled, `"requestId":`+string(a.ID)) },
	} {
		t.Run(how, func(t *testing.T) {
			upstreams(t, false, func(t *testing.T, u *upstream, cfg mcpclient.Config) {
				listens := make(chan *asked, 10)
				u.listen = func(a *asked) {
					a.grant(everything)
					listens <- a
				}
				c := u.open(t, cfg)
				c.sees("ok")
				u.add("one")
				a := <-listens
				a.note(wire.NotificationToolsChanged, `"x":1`)
				c.sees("one")
				u.add("two")
				end(a)
				again := <-listens
				c.sees("two")
				u.add("three")
				again.note(wire.NotificationToolsChanged, `"x":1`)
				c.sees("three")
			})
		})
	}
}

// A lazy server is not started for the end of a subscription, of which it knows nothing.
func TestUnsubscribeStartsNothing(t *testing.T) {
	upstreams(t, true, func(t *testing.T, u *upstream, cfg mcpclient.Config) {
		cfg.Lazy = true
		c := u.open(t, cfg)
		c.agreed(c.ask(t.Context(), wire.MethodUnsubscribe, res))
		if st := c.client.Status(); st.State != mcpclient.Idle {
			t.Errorf("it is started: %+v", st)
		}
	})
}

// Nor is it started again if its connection is lost meanwhile.
func TestUnsubscribeEndsWithConnection(t *testing.T) {
	upstreams(t, true, func(t *testing.T, u *upstream, cfg mcpclient.Config) {
		cfg.Lazy = true
		c := u.open(t, cfg)
		begun := c.ask(t.Context(), wire.MethodSubscribe, res)
		u.next(t, wire.MethodSubscribe, res).agree()
		c.agreed(begun)
		ended := c.ask(t.Context(), wire.MethodUnsubscribe, res)
		u.next(t, wire.MethodUnsubscribe, res)
		c.client.Restart()
		c.agreed(ended)
		synctest.Wait()
		if st := c.client.Status(); st.State != mcpclient.Idle {
			t.Errorf("it is started: %+v", st)
		}
	})
}

// It is repeated on a connection that goes on without its answer: the server may send updates still.
func TestUnsubscribeIsRepeated(t *testing.T) {
	upstreams(t, true, func(t *testing.T, u *upstream, cfg mcpclient.Config) {
		if strings.HasPrefix(cfg.URL, "ws") {
			t.Skip("the connection ends with the answer")
		}
		c := u.open(t, cfg)
		begun := c.ask(t.Context(), wire.MethodSubscribe, res)
		u.next(t, wire.MethodSubscribe, res).agree()
		c.agreed(begun)
		ended := c.ask(t.Context(), wire.MethodUnsubscribe, res)
		a := u.next(t, wire.MethodUnsubscribe, res)
		a.Drop()
		a.end()
		u.next(t, wire.MethodUnsubscribe, res).agree()
		c.agreed(ended)
	})
}

// A lazy server is connected again while callers want updates of a resource, and is not once they do not.
func TestLazyServerIsWatchedOn(t *testing.T) {
	eras(t, func(t *testing.T, u *upstream, cfg mcpclient.Config, how string) {
		cfg.Lazy = true
		c := u.open(t, cfg)
		one, updates := c.watcher("one")
		reply := one.ask(t.Context(), wire.MethodSubscribe, res)
		u.next(t, how, res).agree()
		one.agreed(reply)
		c.client.Restart()
		a := u.next(t, how, res)
		a.agree()
		if how == wire.MethodListen {
			a.note(wire.NotificationResourceUpdated, `"uri":"`+res+`"`)
			told(t, updates, `{"_meta":{},"uri":"`+res+`"}`)
		}
		one.session.Close()
		if how == wire.MethodSubscribe {
			u.next(t, wire.MethodUnsubscribe, res).agree()
		}
		synctest.Wait()
		c.client.Restart()
		c.idle()
	})
}
