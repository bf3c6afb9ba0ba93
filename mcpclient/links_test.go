package mcpclient_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// eraFile is the file in the directory of a child of the mode "era" that says which eras
// it speaks: legacy, modern or dual.
const eraFile = "era"

// eraChild serves on stdio in the eras of eraFile.
func eraChild(tools string, take func(s *peer.Server, era string, c *peer.Call)) {
	era, err := os.ReadFile(eraFile)
	if err != nil {
		os.Exit(1)
	}
	s := peer.NewServer(map[string]string{"legacy": peer.Legacy, "refusing": peer.Legacy, "dying": peer.Legacy, "mute": peer.Legacy, "modern": peer.Modern}[string(era)])
	s.Tools = tools
	switch string(era) {
	case "binding":
		s.Before = bindEra()
	case "upgraded": // one that binds, of another version
		bind := bindEra()
		s.Before = func(c *peer.Call) bool {
			if bind(c) {
				return true
			}
			if c.Method == wire.MethodInitialize {
				c.Reply(`"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"peer","version":"2"}`)
			}
			return c.Method == wire.MethodInitialize
		}
	case "dying", "mute": // when they are sent server/discover
		s.Before = func(c *peer.Call) bool {
			if c.Method == wire.MethodDiscover && string(era) == "dying" {
				os.Exit(1)
			}
			return c.Method == wire.MethodDiscover
		}
	case "refusing": // server/discover, in words that one which binds could use
		s.Before = func(c *peer.Call) bool {
			if c.Method != wire.MethodDiscover {
				return false
			}
			if len(s.Seen(wire.MethodInitialize)) > 0 {
				c.Fail(wire.InvalidRequest, "no", "")
			}
			return true // as the first message it has no answer
		}
	}
	s.Take = func(c *peer.Call) { take(s, string(era), c) }
	s.ServeLines(stdio{os.Stdin, os.Stdout})
}

// bindEra makes a server refuse the requests of another era than that of its first one.
func bindEra() func(*peer.Call) bool {
	var mu sync.Mutex
	first := ""
	return func(c *peer.Call) bool {
		mu.Lock()
		defer mu.Unlock()
		if c.Kind() != wire.Request {
			return false
		}
		if first == "" {
			first = c.Method
		}
		if c.Modern == (first == wire.MethodDiscover) {
			return false
		}
		c.Fail(wire.InvalidRequest, "this connection serves the other era", "")
		return true
	}
}

type stdio struct {
	io.Reader
	io.WriteCloser
}

// eraTake answers calls with what the server knows of its client.
func eraTake(s *peer.Server, era string, c *peer.Call) {
	switch {
	case c.Method == wire.MethodTasksGet:
		c.Reply(`"status":"working"`)
	case c.Name() == "end":
		os.Exit(1)
	case c.Name() == "task":
		c.Reply(`"resultType":"task","taskId":"t1"`)
	case c.Name() == "who":
		told, offered := "null", "null"
		if raw := c.Params.Get(wire.MetaClientCapabilities); raw != nil {
			told = string(raw)
		}
		for _, initialize := range s.Seen(wire.MethodInitialize) {
			if era != "modern" { // else it was refused
				offered = string(wire.Lookup(initialize.Params.Raw, "capabilities"))
			}
		}
		c.Reply(fmt.Sprintf(`"pid":%d,"told":%s,"offered":%s`, os.Getpid(), told, offered))
	default:
		c.Fail(wire.MethodNotFound, "method not found", "")
	}
}

// eraConfig is a child that speaks an era.
func eraConfig(t *testing.T, era string, sharing mcpclient.Sharing) mcpclient.Config {
	cfg := child(t, "era")
	cfg.Sharing = sharing
	setEra(t, cfg, era)
	return cfg
}

func setEra(t *testing.T, cfg mcpclient.Config, era string) {
	if err := os.WriteFile(filepath.Join(cfg.Dir, eraFile), []byte(era), 0o600); err != nil {
		t.Fatal(err)
	}
}

const (
	asksMe   = `{"extensions":{"x/y":{}},"elicitation":{}}`
	asksMore = `{"elicitation":{},"sampling":{}}`
)

// askable is a caller of the modern era that can be asked something.
func askable(id, principal, capabilities string) bridge.Caller {
	return bridge.Caller{
		ID: id, Principal: bridge.Principal{Name: principal}, Capabilities: []byte(capabilities), Modern: true,
		Ask: func(context.Context, string, []byte) ([]byte, *toolformat.Error) {
			return nil, toolformat.Errorf(toolformat.Unavailable, "not now")
		},
	}
}

// who is what the server knows of a caller.
func (c *caller) who() (pid, told, offered string) {
	c.Helper()
	r := c.call("who")
	if r.Err != nil {
		c.Fatal(r.Err)
	}
	of := func(key string) string { return string(wire.Lookup(r.Result, key)) }
	return of("pid"), of("told"), of("offered")
}

// pids are the links of n callers that come at once.
func (c *caller) pids(n int, who func(i int) bridge.Caller) map[string]bool {
	c.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	all := map[string]bool{}
	for i := range n {
		one := c.also(who(i))
		wg.Go(func() {
			r := one.call("who")
			mu.Lock()
			defer mu.Unlock()
			all[string(wire.Lookup(r.Result, "pid"))] = true
		})
	}
	wg.Wait()
	return all
}

// startEra makes a client whose server has been found to speak its era, and returns its
// first caller.
func startEra(t *testing.T, cfg mcpclient.Config) *caller {
	sourcetest.NoLeaks(t)
	cfg.Name = "up"
	c := &caller{T: t, client: mcpclient.New(cfg)}
	t.Cleanup(func() { c.client.Close() })
	first := c.also(askable("first", "", asksMe))
	first.who()
	return first
}

// A server that binds a connection to the era of its first request has a process for each era, from
// the first connection of each on.
func TestBindingServer(t *testing.T) {
	first := startEra(t, eraConfig(t, "binding", mcpclient.Shared))
	modern, told, _ := first.who()
	if told == "null" {
		t.Error("a modern caller is served in the legacy era")
	}
	legacy, told, offered := first.also(bridge.Caller{ID: "legacy"}).who()
	if told != "null" || offered == "null" || legacy == modern {
		t.Errorf("a legacy caller: told %s, offered %s, process %s beside %s", told, offered, legacy, modern)
	}
	first.call("end") // the process is told to begin with the same era
	again, told, _ := first.who()
	if told == "null" || again == modern {
		t.Errorf("after its end: told %s, process %s after %s", told, again, modern)
	}
}

// A server of the legacy era that refuses server/discover as one that binds does, and as the first
// message does not answer it, serves modern callers. Its next version may be one that binds.
func TestRefusingServer(t *testing.T) {
	cfg := eraConfig(t, "refusing", mcpclient.Shared)
	cfg.ConnectTimeout, cfg.Steady = 6*time.Second, time.Nanosecond
	first := startEra(t, cfg)
	pid, told, offered := first.who()
	if told != "null" || offered == "null" {
		t.Errorf("told %s, offered %s", told, offered)
	}
	first.call("end")
	again, _, offered := first.who()
	if offered == "null" || again == pid {
		t.Errorf("after its end: offered %s, process %s after %s", offered, again, pid)
	}
	setEra(t, cfg, "upgraded")
	first.call("end")
	if _, told, _ := first.who(); told == "null" {
		t.Error("the next version serves a modern caller in the legacy era")
	}
}

// A server of the legacy era is one process for callers of both eras, whoever came first, also if
// server/discover ends it.
func TestLegacyServerOfBothEras(t *testing.T) {
	for _, era := range []string{"legacy", "dying", "mute"} {
		for _, modernFirst := range []bool{false, true} {
			t.Run(fmt.Sprint(era, ", modern first ", modernFirst), func(t *testing.T) {
				none := bothEras(t, era)
				kept, _, _ := none.also(bridge.Caller{ID: "1", Modern: modernFirst}).who()
				for i := range 4 {
					if pid, _, _ := none.also(bridge.Caller{ID: fmt.Sprint("c", i), Modern: i%2 == 0}).who(); pid != kept {
						t.Errorf("caller %d has the process %s, want %s", i, pid, kept)
					}
				}
			})
		}
	}
}

// bothEras makes a client of a server on stdio that callers share.
func bothEras(t *testing.T, era string, change ...func(*mcpclient.Config)) *caller {
	sourcetest.NoLeaks(t)
	cfg := eraConfig(t, era, mcpclient.Shared)
	for _, f := range change {
		f(&cfg)
	}
	cfg.Name, cfg.Steady, cfg.IdleTimeout, cfg.ConnectTimeout = "up", time.Nanosecond, time.Hour, 10*time.Second
	if era == "mute" {
		cfg.ConnectTimeout = 6 * time.Second
	}
	client := mcpclient.New(cfg)
	t.Cleanup(func() { client.Close() })
	return &caller{T: t, client: client}
}

// Callers of both eras that come at once end up with one process, and those that leave meanwhile leave
// nothing.
func TestLegacyServerAtOnce(t *testing.T) {
	none := bothEras(t, "legacy")
	var wg sync.WaitGroup
	for i := range 20 {
		one := none.also(bridge.Caller{ID: fmt.Sprint("c", i), Modern: i%2 == 0})
		wg.Go(func() {
			defer one.session.Close()
			if i < 10 {
				one.session.List(t.Context(), bridge.Tools)
			}
		})
	}
	pids := none.pids(10, func(i int) bridge.Caller { return bridge.Caller{ID: fmt.Sprint(i), Modern: i%2 == 0} })
	wg.Wait()
	if links := none.client.Links(); len(pids) != 1 || len(links) != 1 || links[0].Callers != 10 {
		t.Errorf("processes %v, links %+v", pids, links)
	}
}

// What a modern caller asks for before the era of the server is known is answered by the process for
// legacy callers, also if the bound leaves no room for a second one.
func TestHandOver(t *testing.T) {
	for _, room := range []int{1, 2} {
		t.Run(fmt.Sprint("room for ", room), func(t *testing.T) {
			none := bothEras(t, "legacy", func(cfg *mcpclient.Config) { cfg.Children = &mcpclient.Children{Max: room} })
			none.also(bridge.Caller{ID: "legacy"}).who()
			modern := none.also(bridge.Caller{ID: "modern", Modern: true})
			if r := modern.reply(modern.ask(t.Context(), wire.MethodSubscribe, "file:///a")); r.Err == nil || r.Err.Code != toolformat.Unsupported {
				t.Errorf("a subscription, which the server does not know: %s %v", r.Result, r.Err)
			}
			if list, err := modern.session.List(t.Context(), bridge.Tools); err != nil || len(list.Items) == 0 {
				t.Errorf("its list: %v %v", list, err)
			}
		})
	}
}

// A server that binds, and could have no second process, is given one at its next connection.
func TestBindingServerWithoutRoom(t *testing.T) {
	cfg := eraConfig(t, "binding", mcpclient.Shared)
	cfg.Children = &mcpclient.Children{Max: 2}
	other := eraConfig(t, "legacy", mcpclient.Shared)
	other.Name, other.Children = "other", cfg.Children
	neighbor := mcpclient.New(other)
	defer neighbor.Close()
	(&caller{T: t, client: neighbor}).also(bridge.Caller{ID: "1"}).who()
	first := startEra(t, cfg)
	if _, told, _ := first.who(); told != "null" {
		t.Error("it has a second process")
	}
	neighbor.Close()
	first.call("end")
	if _, told, _ := first.who(); told == "null" {
		t.Error("it has no second process")
	}
}

// Callers of the modern era that can be asked something share a link to a server of
// that era, and have one each to a server of the legacy era.
func TestLinksByEra(t *testing.T) {
	const n = 5
	for _, sharing := range []mcpclient.Sharing{mcpclient.Session, mcpclient.Leased} {
		for era, want := range map[string]int{"legacy": n, "modern": 1, "dual": 1} {
			t.Run(fmt.Sprint(sharing, "-", era), func(t *testing.T) {
				first := startEra(t, eraConfig(t, era, sharing))
				all := first.pids(n, func(i int) bridge.Caller { return askable(fmt.Sprint(i), "", asksMe) })
				if len(all) != want {
					t.Errorf("%d links, want %d", len(all), want)
				}
			})
		}
	}
	t.Run("configured", func(t *testing.T) { // the first one shares too
		sourcetest.NoLeaks(t)
		cfg := eraConfig(t, "modern", mcpclient.Session)
		cfg.Name, cfg.Era = "up", mcpclient.Modern
		c := &caller{T: t, client: mcpclient.New(cfg)}
		t.Cleanup(func() { c.client.Close() })
		if all := c.pids(n, func(i int) bridge.Caller { return askable(fmt.Sprint(i), "", asksMe) }); len(all) != 1 {
			t.Errorf("%d links", len(all))
		}
	})
}

// Who shares a link, and what the server learns of them: with each request what its
// caller can do, and by initialize, which speaks for all, nothing that it could ask.
func TestLinksOfModernCallers(t *testing.T) {
	for era, offered := range map[string]string{"modern": "null", "dual": `{"extensions":{"x/y":{}}}`} {
		for _, sharing := range []mcpclient.Sharing{mcpclient.Session, mcpclient.Leased} {
			t.Run(fmt.Sprint(sharing, "-", era), func(t *testing.T) {
				first := startEra(t, eraConfig(t, era, sharing))
				own, told, all := first.who()
				if told != asksMe || era == "dual" && all != asksMe {
					t.Errorf("the first: told %s, offered %s", told, all)
				}
				pids := map[string]string{}
				for id, who := range map[string]bridge.Caller{
					"a": askable("a", "alice", asksMe), "a2": askable("a2", "alice", asksMe),
					"more": askable("more", "alice", asksMore), "b": askable("b", "bob", asksMe),
				} {
					one := first.also(who)
					pid, told, got := one.who()
					if told != string(who.Capabilities) {
						t.Errorf("%s: told %s, want %s", id, told, who.Capabilities)
					}
					if id != "more" && got != offered || strings.Contains(got, "elicitation") {
						t.Errorf("%s: offered %s, want %s", id, got, offered)
					}
					pids[id] = pid
				}
				if pids["a"] == own || pids["a"] != pids["a2"] || pids["a"] == pids["more"] || (pids["a"] == pids["b"]) != (sharing == mcpclient.Leased) {
					t.Errorf("the first one's link is %s, the others' are %v", own, pids)
				}
				old := askable("old", "alice", asksMe)
				old.Modern = false
				if pid, _, _ := first.also(old).who(); pid == own || pid == pids["a"] {
					t.Errorf("a caller of the legacy era shares a link: %s", pid)
				}
			})
		}
	}
}

// A server that comes back with another era than it had is believed.
func TestLinksEraChanges(t *testing.T) {
	for _, c := range []struct {
		from, to string
		links    int
	}{{"modern", "legacy", 3}, {"legacy", "dual", 1}} {
		t.Run(c.from+"-"+c.to, func(t *testing.T) {
			cfg := eraConfig(t, c.from, mcpclient.Session)
			first := startEra(t, cfg)
			setEra(t, cfg, c.to)
			first.call("end")
			first.who() // it is back
			all := first.pids(3, func(i int) bridge.Caller { return askable(fmt.Sprint(i), "", asksMe) })
			if len(all) != c.links {
				t.Errorf("%d links, want %d", len(all), c.links)
			}
		})
	}
}

// A task is reached by its creator, through whichever of its sessions, and by nobody
// else.
func TestTasksOfModernCallers(t *testing.T) {
	const capabilities = `{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	for _, sharing := range []mcpclient.Sharing{mcpclient.Session, mcpclient.Leased, mcpclient.Shared} {
		t.Run(string(sharing), func(t *testing.T) {
			first := startEra(t, eraConfig(t, "modern", sharing))
			get := func(id, principal string) bridge.Reply {
				params, err := wire.SplitParams([]byte(`{"taskId":"t1"}`))
				if err != nil {
					t.Fatal(err)
				}
				one := first.also(askable(id, principal, capabilities))
				defer one.session.Close()
				return one.session.Do(t.Context(), &bridge.Request{Method: wire.MethodTasksGet, Params: &params})
			}
			creator := first.also(askable("a", "alice", capabilities))
			if r := creator.call("task"); r.Err != nil {
				t.Fatal(r.Err)
			}
			creator.session.Close()
			if r := get("a2", "alice"); r.Err != nil {
				t.Errorf("the creator: %v", r.Err)
			}
			if sharing == mcpclient.Session {
				return // others have another process
			}
			first.fails(get("b", "bob"), toolformat.NotFound, "unknown task")
		})
	}
}

// A principal has a share of the children, so that it leaves room for others.
func TestChildrenOfPrincipals(t *testing.T) {
	sourcetest.NoLeaks(t)
	cfg := scriptChild(t)
	cfg.Sharing, cfg.Children = mcpclient.Session, &mcpclient.Children{Max: 3, Share: 2}
	client := mcpclient.New(cfg)
	defer client.Close()
	start := func(id, principal string) bool {
		s, err := client.Open(t.Context(), &bridge.Caller{ID: id, Principal: bridge.Principal{Name: principal}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.List(t.Context(), bridge.Tools)
		if err != nil && !strings.Contains(err.Error(), "limits.children") {
			t.Error(err)
		}
		return err == nil
	}
	for _, c := range []struct {
		id, principal string
		want          bool
	}{{"1", "ann", true}, {"2", "ann", true}, {"3", "ann", false}, {"4", "bob", true}, {"5", "bob", false}} {
		if got := start(c.id, c.principal); got != c.want {
			t.Errorf("caller %s, of %s: has a child is %v", c.id, c.principal, got)
		}
	}
}
