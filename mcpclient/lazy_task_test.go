package mcpclient_test

import (
	"cmp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

// tasking are the capabilities of a caller of the modern era that takes tasks.
const tasking = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`

// about carries out a request about a task.
func (c *caller) about(method, id string) bridge.Reply {
	params, _ := wire.SplitParams([]byte(`{"taskId":"` + id + `"}`))
	return c.session.Do(c.Context(), &bridge.Request{Method: method, Params: &params})
}

// lazyTask is a task of a lazy server.
type lazyTask struct {
	state  string   // in the result that announces it, beside its id; "" means that it works
	says   []string // what the server says of it, one each 20 minutes
	then   string   // what its client does after 20 minutes: "get", "leave"; or the error that tasks/result is then answered by
	legacy int      // minutes until the server is stopped
	modern int      // likewise; 0 means that this is not of the modern era
}

// A lazy server is in use as long as a task runs that it has created: until it says that it has ended, or for as long as it may
// run without a word. What it says of it prolongs that.
func TestLazyServerRunsTask(t *testing.T) {
	sourcetest.NoLeaks(t)
	const status = `{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"a","status":"`
	for name, c := range map[string]lazyTask{
		"silent":      {"", nil, "", 31, 31},
		"null":        {`"status":"working","ttl":null,"ttlMs":null`, nil, "", 31, 31},
		"long ttl":    {`"status":"working","ttl":1e300,"ttlMs":3600000`, nil, "", 31, 31},
		"ttl":         {`"status":"working","ttl":600000,"ttlMs":600000`, nil, "", 11, 11},
		"no ttl":      {`"status":"working","ttl":"x","ttlMs":-1`, nil, "", 31, 31},
		"begun ended": {`"status":"completed"`, nil, "", 2, 2},
		"ended":       {"", []string{status + `completed"}}`}, "", 22, 0},
		"progress":    {"", []string{"progress", "progress", "progress"}, "", 91, 0},
		"status":      {"", []string{status + `working"}}`, status + `input_required"}}`, status + `failed"}}`}, "", 62, 0},
		"asked for":   {"", nil, "get", 51, 51},
		"failed":      {"", nil, `"code":-32603,"message":"x"`, 22, 0},
		"unknown":     {"", nil, `"code":-32602,"message":"x"`, 22, 0},
		"unanswered":  {"", nil, `"code":-32001,"message":"x","data":{"code":"timeout"}`, 31, 0},
		"left":        {"", nil, "leave", 21, 0},
	} {
		for era, minutes := range map[string]int{peer.Legacy: c.legacy, peer.Modern: c.modern} {
			for _, sharing := range []mcpclient.Sharing{mcpclient.Shared, mcpclient.Session} {
				if minutes == 0 || c.then == "leave" && sharing == mcpclient.Session {
					continue
				}
				t.Run(name+"-"+era+"-"+string(sharing), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						ran := c.run(t, era, sharing)
						if most := time.Duration(minutes) * time.Minute; ran > most || ran < most-time.Minute {
							t.Errorf("it is stopped after %v, want %v", ran, most)
						}
					})
				})
			}
		}
	}
}

// run returns how long the server runs that has created the task.
func (c *lazyTask) run(t *testing.T, era string, sharing mcpclient.Sharing) time.Duration {
	network, s := peer.NewNetwork(), peer.NewServer(era)
	s.Tools = `{"name":"begin","inputSchema":{}}`
	state := `"taskId":"a",` + cmp.Or(c.state, `"status":"working"`)
	s.Take = func(call *peer.Call) {
		switch {
		case call.Method == wire.MethodTasksGet:
			call.Reply(`"taskId":"a","status":"working"`)
		case call.Method == wire.MethodTasksResult:
			call.Say(`{"jsonrpc":"2.0","id":` + string(call.ID) + `,"error":{` + c.then + `}}`)
		case era == peer.Modern:
			call.Reply(`"resultType":"task",` + state)
		default:
			call.Reply(`"task":{` + state + `}`)
		}
	}
	client := openOn(t, network, mcpclient.Config{
		URL: "ws" + strings.TrimPrefix(s.Serve(t, network), "http") + "/ws", Lazy: true, Sharing: sharing, IdleTimeout: time.Minute, MaxTimeout: 30 * time.Minute,
	})
	alice := client.also(bridge.Caller{ID: "alice", Modern: era == peer.Modern, Capabilities: []byte(tasking)})
	begun := time.Now()
	params, _ := wire.SplitParams([]byte(`{"name":"begin","arguments":{},"task":{}}`))
	if r := alice.session.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: "begin"}); r.Err != nil {
		t.Fatal(r.Err)
	}
	for _, says := range c.says {
		time.Sleep(20 * time.Minute)
		if says == "progress" {
			says = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + string(s.Seen(wire.MethodToolsCall)[0].Params.Get(wire.MetaProgressToken)) + `,"progress":1}}`
		}
		s.Announce(says)
	}
	if c.then != "" {
		time.Sleep(20 * time.Minute)
	}
	switch c.then {
	case "":
	case "get":
		alice.about(wire.MethodTasksGet, "a")
	case "leave":
		alice.session.Close()
	default:
		alice.about(wire.MethodTasksResult, "a")
	}
	for client.running() && time.Since(begun) < 3*time.Hour {
		time.Sleep(5 * time.Second)
	}
	return time.Since(begun)
}

// running reports whether a link has a connection.
func (c *caller) running() bool {
	for _, l := range c.client.Links() {
		if l.State == mcpclient.Ready {
			return true
		}
	}
	return false
}

// A lazy server that several callers share is not started to list the tasks of one that has created none.
func TestLazyServerListsNoTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network, p := peer.NewNetwork(), newProgressingTask()
		c := openOn(t, network, mcpclient.Config{URL: "ws" + strings.TrimPrefix(p.Serve(t, network), "http") + "/ws", Lazy: true, Sharing: mcpclient.Shared, IdleTimeout: time.Minute})
		other, _ := c.told("other")
		list := func(c *caller) string {
			r := c.session.Do(t.Context(), &bridge.Request{Method: wire.MethodTasksList, Params: &wire.Params{}})
			return string(r.Result)
		}
		if got := list(c); got != `{"tasks":[]}` || c.running() {
			t.Errorf("the tasks are %s; it runs: %v", got, c.running())
		}
		params, _ := wire.SplitParams([]byte(`{"name":"begin","arguments":{},"task":{}}`))
		if r := c.session.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: "begin"}); r.Err != nil {
			t.Fatal(r.Err)
		}
		if list(other); len(p.Seen(wire.MethodTasksList)) != 1 {
			t.Error("it is not asked while it runs")
		}
		c.about(wire.MethodTasksGet, "a")
		c.idle()
		if got := list(other); got != `{"tasks":[]}` || c.running() {
			t.Errorf("the tasks are %s; it runs: %v", got, c.running())
		}
		if list(c); !c.running() {
			t.Error("it is not asked by a caller that has created a task")
		}
	})
}
