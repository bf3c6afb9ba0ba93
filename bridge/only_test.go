package bridge

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// scripted is a source whose answers a test gives.
type scripted struct {
	*hostile
	do     func(*Request) Reply
	notify func(method string, params []byte)
}

func (s *scripted) Open(_ context.Context, caller *Caller) (Session, error) {
	s.notify = caller.Notify
	return s, nil
}
func (s *scripted) Do(_ context.Context, req *Request) Reply { return s.do(req) }

func newScripted(do func(*Request) Reply, tools ...string) *scripted {
	return &scripted{hostile: newHostile(Tools, tools...), do: do}
}

func openBridge(t *testing.T, caller *Caller, members ...Member) Session {
	s, err := New(Options{}, members...).Open(t.Context(), caller)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// serverError is the error of a server that knows neither the method nor the name.
var serverError = &toolformat.Error{Code: toolformat.Unsupported, Message: "no", Raw: []byte(`{"code":-32601,"message":"no"}`)}

// An only member gets what the bridge knows nothing of; of several members none does.
func TestOnlyMember(t *testing.T) {
	requests := []*Request{
		{Method: wire.MethodToolsCall, Target: "secret"}, {Method: wire.MethodPromptsGet, Target: "secret"},
		{Method: "vendor/thing"}, {Method: wire.MethodSetLevel}, {Method: wire.MethodResourcesRead, Target: "made://1"},
	}
	for _, c := range []struct {
		name   string
		member Member
		want   []bool // which requests reach the member
	}{
		{"plain", Member{}, []bool{true, true, true, true, true}},
		{"described", Member{Describe: map[string]string{"a": "x"}, Prefix: new(string)}, []bool{true, true, true, true, true}},
		{"excluding", Member{Exclude: []string{"b"}}, []bool{false, false, true, true, true}},
		{"renaming", Member{Rename: map[string]string{"a": "b"}}, []bool{false, false, true, true, true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var reached []string
			c.member.Name = "up"
			c.member.Source = newScripted(func(req *Request) Reply {
				reached = append(reached, req.Method)
				return Failed(serverError)
			}, `{"name":"a"}`)
			s := openBridge(t, &Caller{}, c.member)
			for i, req := range requests {
				reply := s.Do(t.Context(), req)
				if got := slices.Contains(reached, req.Method); got != c.want[i] || got && reply.Err != serverError {
					t.Errorf("%s %s reaches the member: %v, %v", req.Method, req.Target, got, reply.Err)
				}
				reached = nil
			}
		})
	}
	never := func(req *Request) Reply {
		if req.Method == "vendor/thing" {
			t.Error("a vendor's method reaches one of several members")
		}
		return Failed(serverError)
	}
	s := openBridge(t, &Caller{}, Member{Name: "a", Source: newScripted(never)}, Member{Name: "b", Source: newScripted(never)})
	if reply := s.Do(t.Context(), &Request{Method: "vendor/thing"}); reply.Err == nil || reply.Err.Code != toolformat.Unsupported || reply.Err.Raw != nil {
		t.Errorf("vendor/thing: %+v", reply.Err)
	}
}

// An only member describes itself, and its error for a list that it does not have passes.
func TestOnlyMemberDescribesItself(t *testing.T) {
	about := `{"serverInfo":{"name":"odd","x":1.0},"capabilities":{"tools":{},"resources":{},"vendor":1},"instructions":"Two.\n\n","_meta":{"a":1},"more":2}`
	up := newScripted(func(req *Request) Reply {
		if req.Method == wire.MethodDiscover {
			return Result([]byte(about), nil)
		}
		return Failed(serverError)
	}, `{"name":"a"}`)
	up.lists[Tools].Extra = []byte(`{"_meta":{"list":{"n":1.50}},"ttlMs":1000}`)
	s := openBridge(t, &Caller{}, Member{Name: "up", Source: up})
	want := strings.Replace(about, `"tools":{}`, `"tools":{"listChanged":true}`, 1)
	if reply := s.Do(t.Context(), &Request{Method: wire.MethodDiscover}); string(reply.Result) != want {
		t.Errorf("it is %s, want %s", reply.Result, want)
	}
	l, err := s.List(t.Context(), Tools)
	if err != nil {
		t.Fatal(err)
	}
	if page, _ := l.Page(""); string(page) != `{"tools":[{"name":"a"}],"_meta":{"list":{"n":1.50}},"ttlMs":1000}` {
		t.Errorf("the page is %s", page)
	}
	if _, err := s.List(t.Context(), Prompts); err != serverError {
		t.Errorf("prompts: %v", err)
	}
}

// A URI that a result names is read from the member whose result it was.
func TestNamedResources(t *testing.T) {
	result := map[string]string{
		"link":     `{"content":[{"type":"text","text":"\"resource"},{"type":"resource_link","uri":"made://1"}]}`,
		"embedded": `{"content":[{"type":"resource","resource":{"uri":"made://2","text":"x"}}]}`,
		"text":     `{"content":[{"type":"text","text":"\"resource\",\"uri\":\"made://3\""}]}`,
	}
	members := make([]Member, 2)
	for i, name := range []string{"a", "b"} {
		members[i] = Member{Name: name, Source: newScripted(func(req *Request) Reply {
			if req.Method == wire.MethodToolsCall {
				return Result([]byte(result[req.Target]), nil)
			}
			return Result([]byte(`"`+name+`"`), nil)
		}, `{"name":"link"}`, `{"name":"embedded"}`, `{"name":"text"}`)}
	}
	s := openBridge(t, &Caller{}, members...)
	read := func(uri string) string {
		reply := s.Do(t.Context(), &Request{Method: wire.MethodResourcesRead, Target: uri})
		return string(reply.Result)
	}
	if got := read("made://1"); got != "" {
		t.Errorf("a URI that nobody has named: %s", got)
	}
	for _, tool := range []string{"b__link", "a__embedded", "b__text"} {
		if reply := s.Do(t.Context(), &Request{Method: wire.MethodToolsCall, Target: tool}); reply.Err != nil {
			t.Fatal(reply.Err)
		}
	}
	for uri, want := range map[string]string{"made://1": `"b"`, "made://2": `"a"`, "made://3": ""} {
		if got := read(uri); got != want {
			t.Errorf("%s is read from %s, want %s", uri, got, want)
		}
	}
}

// A name that begins with a member's prefix is that member's, whatever its order, its list and the
// policy for conflicts.
func TestPrefixIsItsMembers(t *testing.T) {
	none := func(req *Request) Reply { return Failed(serverError) }
	evil := Member{Name: "evil", Prefix: new(string), Source: newScripted(none, `{"name":"good__echo"}`, `{"name":"gh_x"}`, `{"name":"fine"}`)}
	prefix := "gh_"
	good := Member{Name: "good", Source: newScripted(none, `{"name":"echo"}`)}
	away := Member{Name: "hub", Prefix: &prefix, Source: newScripted(none)}
	for _, members := range [][]Member{{evil, good, away}, {away, good, evil}} {
		for _, conflict := range []Conflict{ConflictPrefix, ConflictFirst, ConflictError} {
			s, err := New(Options{Conflict: conflict}, members...).Open(t.Context(), &Caller{})
			if err != nil {
				t.Fatal(err)
			}
			l, err := s.List(t.Context(), Tools)
			if err != nil {
				t.Fatal(err)
			}
			want := []string{"fine", "good__echo"}
			if conflict == ConflictPrefix {
				want = []string{"evil__gh_x", "evil__good__echo", "fine", "good__echo"}
			}
			if got := slices.Sorted(slices.Values(l.keys())); !slices.Equal(got, want) {
				t.Errorf("policy %d: %v, want %v", conflict, got, want)
			}
			if r, failure := s.(*session).route(t.Context(), Tools, "good__echo", true); failure != nil || members[r.member].Name != "good" {
				t.Errorf("policy %d: good__echo is that of %+v, %v", conflict, r, failure)
			}
		}
	}
	same := openBridge(t, &Caller{}, Member{Name: "a", Prefix: &prefix, Source: newScripted(none, `{"name":"x"}`)}, Member{Name: "b", Prefix: &prefix, Source: newScripted(none, `{"name":"y"}`)})
	if l, err := same.List(t.Context(), Tools); err != nil || !slices.Equal(l.keys(), []string{"gh_x", "gh_y"}) {
		t.Errorf("members that share a prefix: %v, %v", l.keys(), err)
	}
}

// The first of several list changes is passed on at once, the others are gathered.
func TestListChangesAreGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		up := newScripted(nil)
		s := openBridge(t, &Caller{Notify: func(string, []byte) { n.Add(1) }}, Member{Name: "up", Source: up})
		for range 5 {
			up.notify(wire.NotificationToolsChanged, nil)
		}
		if n.Load() != 1 {
			t.Errorf("%d notifications at once, want 1", n.Load())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if n.Load() != 2 {
			t.Errorf("%d notifications in all, want 2", n.Load())
		}
		s.Close()
		up.notify(wire.NotificationToolsChanged, nil)
		if n.Load() != 2 {
			t.Error("there is a notification after Close")
		}
	})
}

// What a call changes reaches the caller before its result, also right after another change.
func TestChangesPrecedeResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		var up *scripted
		up = newScripted(func(*Request) Reply {
			up.notify(wire.NotificationToolsChanged, nil)
			return Result([]byte("{}"), nil)
		}, `{"name":"add"}`)
		s := openBridge(t, &Caller{Notify: func(string, []byte) { n.Add(1) }}, Member{Name: "up", Source: up})
		for calls := range int64(3) {
			if reply := s.Do(t.Context(), &Request{Method: wire.MethodToolsCall, Target: "add"}); reply.Err != nil {
				t.Fatal(reply.Err)
			}
			if n.Load() != calls+1 {
				t.Errorf("%d notifications before the result of call %d", n.Load(), calls+1)
			}
		}
		time.Sleep(time.Second)
		if n.Load() != 3 {
			t.Errorf("%d notifications in all, want 3", n.Load())
		}
	})
}

// eager is a source that notifies as soon as it is opened.
type eager struct {
	*hostile
	method string
}

func (e eager) Open(_ context.Context, caller *Caller) (Session, error) {
	go caller.Notify(e.method, nil)
	return e, nil
}

// A member may notify while others are opened, and what one of several sends is not MCP's is dropped.
func TestNotifyDuringOpen(t *testing.T) {
	for _, c := range []struct {
		method        string
		members, want int
	}{
		{"notifications/vendor", 1, 1},
		{"notifications/vendor", 2, 0},
		{wire.NotificationResourceUpdated, 2, 2},
		{"notifications/elicitation/complete", 2, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			var n atomic.Int64
			caller := &Caller{Notify: func(string, []byte) { n.Add(1) }}
			members := make([]Member, c.members)
			for i := range members {
				members[i] = Member{Name: string(rune('a' + i)), Source: eager{newHostile(Tools), c.method}}
			}
			openBridge(t, caller, members...)
			synctest.Wait()
			if n.Load() != int64(c.want) {
				t.Errorf("%s of %d members: %d notifications, want %d", c.method, c.members, n.Load(), c.want)
			}
		})
	}
}

// A caller that panics when it is notified of a change costs nobody else anything.
func TestNotifyPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		up := newScripted(nil)
		openBridge(t, &Caller{Notify: func(string, []byte) {
			if n.Add(1) > 1 {
				panic("of the caller")
			}
		}}, Member{Name: "up", Source: up})
		up.notify(wire.NotificationToolsChanged, nil)
		up.notify(wire.NotificationToolsChanged, nil)
		time.Sleep(time.Second)
		synctest.Wait()
		if n.Load() != 2 {
			t.Errorf("%d notifications, want 2", n.Load())
		}
	})
}

// A bridge refuses to be a client of itself, and too many bridges in a row.
func TestLoopOfBridges(t *testing.T) {
	b := New(Options{ID: "me"})
	info := []byte(`{"name":"editor","_meta":{"x":1}}`)
	for i := range maxVia + 1 {
		_, err := b.Open(t.Context(), &Caller{Info: info})
		if (err != nil) != (i >= maxVia) {
			t.Errorf("through %d bridges: %v", i, err)
		}
		info = InfoVia(info, info, []byte(`{"name":"mcpbridge","id":"other"}`))
	}
	through := InfoVia([]byte(`{"name":"mcpbridge"}`), InfoVia([]byte("{}"), nil, []byte(`{"id":"me"}`)), []byte(`{"id":"you"}`))
	if want := `{"_meta":{"io.github.mcpbridge/via":[{"id":"me"},{"id":"you"}]},"name":"mcpbridge"}`; string(through) != want {
		t.Errorf("the server is told %s, want %s", through, want)
	}
	if _, err := b.Open(t.Context(), &Caller{Info: through}); err == nil || !strings.Contains(err.Error(), "loop") {
		t.Errorf("a loop: %v", err)
	}
	if _, err := New(Options{}).Open(t.Context(), &Caller{Info: through}); err != nil {
		t.Errorf("a bridge without an identity: %v", err)
	}
}
