package mcpclient_test

import (
	"fmt"
	"log/slog"
	"path/filepath"
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
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// lister is a server whose list of tools is what its test sets, and a client on which there is room
// for the lists of three callers.
type lister struct {
	*peer.Server
	log   syncText
	first *caller
}

// syncText is a text that is written and read at once.
type syncText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *syncText) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *syncText) count(text string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Count(s.text.String(), text)
}

// listers runs a test in a bubble. tools is a format that makes those of a list out of its number and 10 KB
// of text.
func listers(t *testing.T, tools string, test func(t *testing.T, l *lister, list func(number int))) {
	synctest.Test(t, func(t *testing.T) {
		l, network := &lister{Server: peer.NewServer(peer.Legacy)}, peer.NewNetwork()
		var shown atomic.Int64
		l.Before = func(c *peer.Call) bool {
			if c.Method == wire.MethodToolsList {
				number := shown.Load()
				if number < 0 { // one of its own for each request
					number = 1000 - shown.Add(-1)
				}
				c.Reply(`"tools":[{"name":"ok","inputSchema":{}},` + fmt.Sprintf(tools, number, strings.Repeat("x", 10_000)) + `]`)
			}
			return c.Method == wire.MethodToolsList
		}
		l.Take = done
		cfg := mcpclient.Config{URL: l.Serve(t, network) + "/mcp", Transport: mcpclient.HTTP, Sharing: mcpclient.Session, Log: slog.New(slog.NewTextHandler(&l.log, nil))}
		l.first = openOn(t, network, cfg)
		l.first.client.KeepLists(35_000)
		test(t, l, func(number int) { shown.Store(int64(number)) })
	})
}

// another returns another caller, which has a link of its own.
func (l *lister) another(id int) *caller { return l.first.also(bridge.Caller{ID: fmt.Sprint(id)}) }

// keptTools are the tools that a test's list has beside ok: as it is, with a definition that is
// rewritten, and left out.
var keptTools = map[string]string{
	"as it is":  `{"name":"more","description":"%d %s","inputSchema":{}}`,
	"rewritten": `{"name":"more","description":"\u200b%d %s","inputSchema":{}}`,
	"left out":  `{"name":"\u200b%d %s","inputSchema":{}}`,
}

// What a server's lists take is bounded over all links: one without room has no list, while all else
// works, until another link ends.
func TestKeptLists(t *testing.T) {
	for name, tools := range keptTools {
		t.Run(name, func(t *testing.T) {
			listers(t, tools, func(t *testing.T, l *lister, list func(int)) {
				callers := []*caller{l.first}
				l.first.lists("ok")
				for i := 1; i <= 3; i++ {
					list(i)
					callers = append(callers, l.another(i))
					_, err := callers[i].session.List(t.Context(), bridge.Tools)
					if got := fmt.Sprint(err); i < 3 && err != nil || i == 3 && !(strings.Contains(got, "tools/list is left out") && strings.Contains(got, "35000 bytes")) {
						t.Fatalf("caller %d: %v", i, err)
					}
				}
				last := callers[3]
				last.works("ok")
				if p := l.first.client.Problems(); len(p) != 1 || !p[0].LeftOut || !strings.Contains(p[0].Text, "tools/list is left out") {
					t.Errorf("the problems are %+v", p)
				}
				if n := l.log.count("tools/list is left out"); n != 1 {
					t.Errorf("logged %d times", n)
				}
				callers[1].session.Close()
				time.Sleep(time.Minute)
				if !last.lists("ok") {
					t.Error("there is room, and no list")
				}
			})
		})
	}
}

// A list gives back its room when it is replaced, also when that is refused, and when its link ends.
func TestKeptListsReplaced(t *testing.T) {
	for name, tools := range keptTools {
		t.Run(name, func(t *testing.T) {
			listers(t, tools, func(t *testing.T, l *lister, list func(int)) {
				list(-1)
				reread := func(c *caller) bridge.Reply {
					return c.session.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsList})
				}
				second := l.another(2)
				for i := range 20 {
					passing := l.another(100 + i)
					for _, c := range []*caller{l.first, second, passing} {
						if r := reread(c); r.Err != nil || !c.lists("ok") {
							t.Fatalf("round %d: %v", i, r.Err)
						}
					}
					passing.session.Close()
					synctest.Wait()
				}
				third := l.another(3)
				if !third.lists("ok") {
					t.Error("the third list is not there")
				}
				fourth := l.another(4)
				for range 20 {
					if _, err := fourth.session.List(t.Context(), bridge.Tools); err == nil || !strings.Contains(err.Error(), "tools/list is left out") {
						t.Fatalf("a list without room: %v", err)
					}
					fourth.fails(reread(fourth), toolformat.Internal, "tools/list is left out")
				}
				if !l.first.lists("ok") || !second.lists("ok") || !third.lists("ok") {
					t.Error("a list of another link is gone")
				}
				for _, c := range []*caller{fourth, third, second} {
					c.session.Close()
				}
				synctest.Wait()
				for id := range 2 {
					if !l.another(5 + id).lists("ok") {
						t.Error("there is room, and no list")
					}
				}
			})
		})
	}
}

// A link keeps the list that it has, which it shares with another, when a new one has no room.
func TestKeptListStays(t *testing.T) {
	listers(t, keptTools["as it is"], func(t *testing.T, l *lister, list func(int)) {
		l.first.lists("more")
		second := l.another(2)
		second.lists("more")
		for number := range 2 {
			list(1 + number)
			if !l.another(3 + number).lists("more") {
				t.Error("no list")
			}
		}
		list(3)
		time.Sleep(time.Second) // what has just been read is not read again
		second.fails(second.session.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsList}), toolformat.Internal, "tools/list is left out")
		if !second.lists("more") {
			t.Error("the old list is gone")
		}
		l.first.session.Close()
		synctest.Wait()
		if _, err := l.another(5).session.List(t.Context(), bridge.Tools); err == nil {
			t.Error("a list has found room, while the second link has the first list")
		}
	})
}

// Equal lists count once, also if lists of other links were read in between.
func TestKeptListsShared(t *testing.T) {
	listers(t, keptTools["as it is"], func(t *testing.T, l *lister, list func(int)) {
		list(0)
		for i := range 20 {
			list(i % 2)
			if !l.another(i).lists("more") {
				t.Error("no list")
			}
		}
	})
}

// What is kept on disk of a lazy server is not for another principal, if that has a link of its own.
func TestListsOfPrincipals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t, true)
		var saved atomic.Int64
		cfg := mcpclient.Config{
			URL: u.url + "/mcp", Lazy: true, ListFile: filepath.Join(t.TempDir(), "x.json"), Sharing: mcpclient.Identity,
			ListSaved: func() { saved.Add(1) },
		}
		as := func(c *caller, name string) *caller {
			return c.also(bridge.Caller{ID: name, Principal: bridge.Principal{Name: name}})
		}
		c := u.open(t, cfg)
		as(c, "alice").works("ok")
		c.client.Close()
		c = u.open(t, cfg)
		for i, one := range []struct {
			name string
			want mcpclient.State
		}{{"bob", mcpclient.Ready}, {"alice", mcpclient.Idle}} {
			time.Sleep(time.Millisecond) // the link is younger
			if _, err := as(c, one.name).session.List(t.Context(), bridge.Tools); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			if got := c.client.Links()[1+i].State; got != one.want {
				t.Errorf("%s's link is %s, want %s", one.name, got, one.want)
			}
		}
		if files, err := filepath.Glob(strings.TrimSuffix(cfg.ListFile, ".json") + "-*.json"); err != nil || len(files) != 2 || saved.Load() != 2 {
			t.Errorf("%d files are said to be written: %s, %v", saved.Load(), files, err)
		}
	})
}
