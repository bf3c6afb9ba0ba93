package bridge

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Of several members only the one that a task belongs to can send its state.
func TestStatesOfOwnTasksAlone(t *testing.T) {
	creator := newScripted(func(*Request) Reply { return Result([]byte(`{"task":{"taskId":"1"}}`), nil) }, `{"name":"work"}`)
	other := newScripted(func(*Request) Reply { return Result([]byte("{}"), nil) })
	var told []string
	caller := &Caller{Notify: func(_ string, params []byte) { told = append(told, string(params)) }}
	s := openBridge(t, caller, Member{Name: "creator", Source: creator}, Member{Name: "other", Source: other})
	p, _ := wire.SplitParams([]byte(`{"name":"creator__work","task":{}}`))
	if reply := s.Do(t.Context(), &Request{Method: wire.MethodToolsCall, Target: "creator__work", Params: &p}); reply.Err != nil {
		t.Fatal(reply.Err)
	}
	for _, state := range []string{`{"taskId":"1","status":"failed"}`, `{"taskId":"other's"}`} {
		other.notify(wire.NotificationTaskStatus, []byte(state))
	}
	creator.notify(wire.NotificationTaskStatus, []byte(`{"taskId":"1","status":"working"}`))
	if want := []string{`{"taskId":"other's"}`, `{"taskId":"1","status":"working"}`}; !slices.Equal(told, want) {
		t.Errorf("the caller is told %s, want %s", told, want)
	}
}

// A task stays with the member that has created it, whatever other members list or create.
func TestTasksStayTheirOwners(t *testing.T) {
	created := "1"
	member := func(name string, list *string) Member {
		return Member{Name: name, Source: newScripted(func(req *Request) Reply {
			switch req.Method {
			case wire.MethodToolsCall:
				return Result([]byte(`{"task":{"taskId":"`+created+`"}}`), nil)
			case wire.MethodTasksList:
				return Result([]byte(`{"tasks":[`+*list+`]}`), nil)
			}
			return Result([]byte(`"`+name+`"`), nil)
		}, `{"name":"work"}`)}
	}
	evils, goods := `{"taskId":"1","of":"evil"},{"taskId":"2"}`, `{"taskId":"1","of":"good"}`
	var log strings.Builder
	s, err := New(Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, member("evil", &evils), member("good", &goods)).Open(t.Context(), &Caller{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	do := func(method, target, params string) string {
		t.Helper()
		p, err := wire.SplitParams([]byte(params))
		if err != nil {
			t.Fatal(err)
		}
		reply := s.Do(t.Context(), &Request{Method: method, Target: target, Params: &p})
		if reply.Err != nil {
			t.Fatalf("%s: %v", method, reply.Err)
		}
		return string(reply.Result)
	}
	do(wire.MethodToolsCall, "good__work", `{"name":"good__work","task":{}}`)
	if got, want := do(wire.MethodTasksList, "", "{}"), `{"tasks":[{"taskId":"2"},{"taskId":"1","of":"good"}]}`; got != want {
		t.Errorf("the tasks are %s, want %s", got, want)
	}
	many := make([]string, wire.MaxTasks+1) // more than are remembered
	for i := range many {
		many[i] = fmt.Sprintf(`{"taskId":"evil-%d"}`, i)
	}
	evils = strings.Join(many, ",")
	do(wire.MethodTasksList, "", "{}")
	if got := do(wire.MethodTasksGet, "", `{"taskId":"1"}`); got != `"good"` {
		t.Errorf("tasks/get of good's task is answered by %s", got)
	}
	if got := do(wire.MethodTasksGet, "", fmt.Sprintf(`{"taskId":"evil-%d"}`, wire.MaxTasks)); got != `"evil"` {
		t.Errorf("tasks/get of evil's task is answered by %s", got)
	}
	p, err := wire.SplitParams([]byte(`{"name":"evil__work","task":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	reply := s.Do(t.Context(), &Request{Method: wire.MethodToolsCall, Target: "evil__work", Params: &p})
	if reply.Err == nil || reply.Err.Message != `evil has begun a task, but its id "1" is that of a task of good: its result cannot be told apart` {
		t.Errorf("a second task of this id: %s, %v", reply.Result, reply.Err)
	}
	if got := do(wire.MethodTasksGet, "", `{"taskId":"1"}`); got != `"good"` {
		t.Errorf("tasks/get of good's task is answered by %s", got)
	}
	do(wire.MethodTasksResult, "", `{"taskId":"1"}`)
	do(wire.MethodToolsCall, "evil__work", `{"name":"evil__work","task":{}}`)
	if got := do(wire.MethodTasksGet, "", `{"taskId":"1"}`); got != `"evil"` {
		t.Errorf("tasks/get of evil's task with the id of one that has ended is answered by %s", got)
	}
	evils, goods = `{"taskId":"2"}`, `{"taskId":"2"}` // listed by evil first, then created by good
	do(wire.MethodTasksList, "", "{}")
	created = "2"
	do(wire.MethodToolsCall, "good__work", `{"name":"good__work","task":{}}`)
	if got := do(wire.MethodTasksGet, "", `{"taskId":"2"}`); got != `"good"` {
		t.Errorf("tasks/get of a task that evil had named is answered by %s", got)
	}
	if got := strings.Count(log.String(), "both good and evil have it"); got != 1 {
		t.Errorf("the log says %d times that both have the task: %s", got, &log)
	}
}

// The id of a task that has ended is free for another member, however its creator learns of the end. One whose result was not
// to be had runs on, for all that is known.
func TestIDOfEndedTask(t *testing.T) {
	for name, c := range map[string]struct {
		state string // in the result that announces the task
		err   *toolformat.Error
		free  bool
	}{
		"begun ended": {state: "failed", free: true},
		"result":      {free: true},
		"failed":      {err: toolformat.Errorf(toolformat.Internal, "x"), free: true},
		"invalid":     {err: toolformat.Errorf(toolformat.Invalid, "x"), free: true},
		"unknown":     {err: toolformat.Errorf(toolformat.NotFound, "x"), free: true},
		"timeout":     {err: toolformat.Errorf(toolformat.Timeout, "x")},
		"lost":        {err: toolformat.Errorf(toolformat.Unavailable, "x")},
	} {
		t.Run(name, func(t *testing.T) {
			source := newScripted(func(req *Request) Reply {
				switch {
				case req.Method == wire.MethodToolsCall:
					return Result([]byte(`{"task":{"taskId":"1","status":"`+c.state+`"}}`), nil)
				case c.err != nil:
					return Failed(c.err)
				}
				return Result([]byte("{}"), nil)
			}, `{"name":"work"}`)
			s := openBridge(t, &Caller{}, Member{Name: "first", Source: source}, Member{Name: "second", Source: source})
			create := func(target string) *toolformat.Error {
				p, _ := wire.SplitParams([]byte(`{"name":"` + target + `","task":{}}`))
				return s.Do(t.Context(), &Request{Method: wire.MethodToolsCall, Target: target, Params: &p}).Err
			}
			if err := create("first__work"); err != nil {
				t.Fatal(err)
			}
			if c.state == "" {
				p, _ := wire.SplitParams([]byte(`{"taskId":"1"}`))
				s.Do(t.Context(), &Request{Method: wire.MethodTasksResult, Params: &p})
			}
			if err := create("second__work"); (err == nil) != c.free {
				t.Errorf("got %v", err)
			}
		})
	}
}

// The tasks of several members are in one page, however many pages the members have.
func TestTasksOfAllPages(t *testing.T) {
	member := func(name, pages string) Member {
		return Member{Name: name, Source: newScripted(func(req *Request) Reply {
			params, err := req.params()
			if err != nil {
				return Failed(toolformat.AsError(err))
			}
			if req.Take != nil {
				t.Errorf("%s: pages must not be taken as they arrive", name)
			}
			cursor, _ := wire.Text(params.Get(wire.Cursor))
			n := len(cursor)
			next := ""
			if n+1 < len(pages) {
				next = `,"nextCursor":"` + pages[:n+1] + `"`
			}
			return Result([]byte(`{"tasks":[{"taskId":"`+name+pages[n:n+1]+`"}]`+next+`}`), nil)
		})}
	}
	s := openBridge(t, &Caller{}, member("a", "123"), member("b", "1"))
	reply := s.Do(t.Context(), &Request{Method: wire.MethodTasksList, Take: new(taker)})
	if want := `{"tasks":[{"taskId":"a1"},{"taskId":"a2"},{"taskId":"a3"},{"taskId":"b1"}]}`; string(reply.Result) != want {
		t.Errorf("the tasks are %s, %v, want %s", reply.Result, reply.Err, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if reply := s.Do(ctx, &Request{Method: wire.MethodTasksList}); reply.Err == nil || reply.Err.Code != toolformat.Canceled {
		t.Errorf("canceled: %s, %v", reply.Result, reply.Err)
	}
}

// The tasks of a server that ends their list with an empty cursor, or null, are there once, also if they change.
func TestTasksOfEmptyCursor(t *testing.T) {
	member := func(name, cursor string) Member {
		return Member{Name: name, Source: newScripted(func(*Request) Reply {
			return Result([]byte(`{"tasks":[{"taskId":"`+name+`"}],"nextCursor":`+cursor+`}`), nil)
		})}
	}
	asked := 0
	runs := Member{Name: "c", Source: newScripted(func(*Request) Reply {
		asked++
		return Result(fmt.Appendf(nil, `{"tasks":[{"taskId":"c","ttl":%d}],"nextCursor":""}`, asked), nil)
	})}
	paged := func(name, second string) Member {
		n := 0
		return Member{Name: name, Source: newScripted(func(req *Request) Reply {
			n++
			if len(req.Edits) > 0 && string(req.Edits[0].Value) != `""` {
				return Result(fmt.Appendf(nil, `{"tasks":[{"taskId":"%s2"}],"nextCursor":""}`, name), nil)
			}
			next := strings.ReplaceAll(second, "N", strconv.Itoa(n))
			return Result(fmt.Appendf(nil, `{"tasks":[{"taskId":"%s","ttl":%d}],"nextCursor":"%s"}`, name, n, next), nil)
		})}
	}
	s := openBridge(t, &Caller{}, member("a", `""`), member("b", "null"), runs, paged("d", "2"), paged("e", "N"))
	reply := s.Do(t.Context(), &Request{Method: wire.MethodTasksList})
	if want := `{"tasks":[{"taskId":"a"},{"taskId":"b"},{"taskId":"c","ttl":1},{"taskId":"d","ttl":1},{"taskId":"d2"},{"taskId":"e","ttl":1},{"taskId":"e2"}]}`; string(reply.Result) != want {
		t.Errorf("the tasks are %.400s, %v, want %s", reply.Result, reply.Err, want)
	}
}

// taker takes what it is given.
type taker struct{}

func (*taker) Take([]byte) bool { return true }

// A URI that a server's template matches is that server's, and else that of the first server whose
// result has named it: no later one takes it.
func TestNamedResourcesStayTheirOwners(t *testing.T) {
	member := func(name string) (Member, *scripted) {
		source := newScripted(func(req *Request) Reply {
			if req.Method == wire.MethodToolsCall {
				return Result([]byte(`{"content":[{"type":"resource_link","uri":"notes://1"},{"type":"resource_link","uri":"made://1"}]}`), nil)
			}
			return Result([]byte(`"`+name+`"`), nil)
		}, `{"name":"work"}`)
		return Member{Name: name, Source: source}, source
	}
	evil, _ := member("evil")
	other, _ := member("other")
	good, source := member("good")
	source.lists[Templates] = newHostile(Templates, `{"name":"n","uriTemplate":"notes://{id}"}`).lists[Templates]
	s := openBridge(t, &Caller{}, evil, other, good)
	for _, name := range []string{"other__work", "evil__work"} {
		if reply := s.Do(t.Context(), &Request{Method: wire.MethodToolsCall, Target: name}); reply.Err != nil {
			t.Fatal(reply.Err)
		}
	}
	for uri, want := range map[string]string{"notes://1": `"good"`, "made://1": `"other"`} {
		if reply := s.Do(t.Context(), &Request{Method: wire.MethodResourcesRead, Target: uri}); string(reply.Result) != want {
			t.Errorf("%s is read from %s, %v, want %s", uri, reply.Result, reply.Err, want)
		}
	}
}

// Who waits for the result of a task takes no call's place at its member.
func TestTaskResultTakesNoPlace(t *testing.T) {
	waiting, end := make(chan struct{}), make(chan struct{})
	member := Member{Name: "up", Concurrency: 1, Source: newScripted(func(req *Request) Reply {
		if req.Method == wire.MethodTasksResult {
			close(waiting)
			<-end
		}
		return Result([]byte("{}"), nil)
	}, `{"name":"work"}`)}
	s := openBridge(t, &Caller{}, member)
	p, _ := wire.SplitParams([]byte(`{"taskId":"1"}`))
	result := make(chan Reply)
	go func() { result <- s.Do(t.Context(), &Request{Method: wire.MethodTasksResult, Params: &p}) }()
	<-waiting
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if reply := s.Do(ctx, &Request{Method: wire.MethodToolsCall, Target: "work"}); reply.Err != nil {
		t.Error(reply.Err)
	}
	close(end)
	if reply := <-result; reply.Err != nil {
		t.Error(reply.Err)
	}
}
