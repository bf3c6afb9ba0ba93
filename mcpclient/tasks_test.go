package mcpclient_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

// progressingTask is a server with one task of 2025-11-25, of which its tools tell.
type progressingTask struct {
	*peer.Server
	mu    sync.Mutex
	token string // of the call that has created the task
	pause func() // before each of some steps to its result; nil without them
	fails bool   // its result is an error
}

func newProgressingTask() *progressingTask {
	p := &progressingTask{Server: peer.NewServer(peer.Legacy)}
	p.Tools = `{"name":"begin","inputSchema":{}},{"name":"step","inputSchema":{}},{"name":"end","inputSchema":{}},{"name":"drop","inputSchema":{}},{"name":"fail","inputSchema":{}}`
	p.Take = p.take
	return p
}

func (p *progressingTask) take(c *peer.Call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch method := c.Name(); {
	case method == "begin":
		p.token = string(c.Params.Get(wire.MetaProgressToken))
		c.Reply(`"task":{"taskId":"a","status":"working"}`)
		p.step(c) // at once
		return
	case method == "step":
		p.step(c)
	case method == "end":
		c.Say(`{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"a","status":"completed","statusMessage":"of 4242-4242"}}`)
	case method == "drop":
		c.Drop()
		return
	case method == "fail":
		p.fails = true
	case c.Method == wire.MethodTasksResult && p.fails:
		c.Fail(wire.InternalError, "failed", "")
		return
	case c.Method == wire.MethodTasksResult && p.pause != nil:
		for range 5 {
			p.pause()
			p.step(c)
		}
	case c.Method == wire.MethodTasksGet:
		c.Reply(`"taskId":"a","status":"failed"`)
		return
	case c.Method == wire.MethodTasksCancel:
		c.Reply(`"taskId":"a","status":"cancelled"`)
		return
	}
	done(c)
}

func (p *progressingTask) step(c *peer.Call) {
	c.Say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + p.token + `,"progress":1,"message":"of 4242-4242"}}`)
}

// The progress of a task of 2025-11-25 reaches its creator under the token of the call, until the task ends or the connection is
// lost, and shows none of the call's hidden values.
func TestTaskProgress(t *testing.T) {
	about := func(method string) func(*caller) {
		return func(c *caller) {
			if r := c.about(method, "a"); r.Err != nil && r.Err.Message != "failed" {
				t.Error(r.Err)
			}
		}
	}
	const progress = `notifications/progress {"progressToken":"t","progress":1,"message":"of xxxxx"}`
	for name, end := range map[string]struct {
		do   func(*caller)
		want string
	}{
		"status": {func(c *caller) { c.works("end") }, ` notifications/tasks/status {"taskId":"a","status":"completed","statusMessage":"of xxxxx"}`},
		"get":    {about(wire.MethodTasksGet), ""},
		"result": {about(wire.MethodTasksResult), ""},
		"error":  {func(c *caller) { c.works("fail"); about(wire.MethodTasksResult)(c) }, ""},
		"cancel": {about(wire.MethodTasksCancel), ""},
		"loss":   {func(c *caller) { c.call("drop") }, ""},
	} {
		for _, sharing := range []mcpclient.Sharing{mcpclient.Shared, mcpclient.Session} {
			t.Run(fmt.Sprint(name, "-", sharing), func(t *testing.T) {
				sourcetest.NoLeaks(t)
				p := newProgressingTask()
				c := open(t, mcpclient.Config{URL: "ws" + strings.TrimPrefix(p.Serve(t, nil), "http") + "/ws", Sharing: sharing})
				alice, told := c.told("alice")
				bob, toldBob := c.told("bob")
				params, _ := wire.SplitParams([]byte(`{"name":"begin","arguments":{},"task":{},"_meta":{"progressToken":"t"}}`))
				secrets := &bridge.Secrets{}
				secrets.Add("4242-4242")
				if r := alice.session.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: "begin", Secrets: secrets}); r.Err != nil {
					t.Fatal(r.Err)
				}
				bob.works("step") // with which that of before has come
				alice.works("step")
				end.do(alice)
				alice.works("step") // on a new connection it may have the id of the call that has created the task
				alice.works("step")
				want := progress + " " + progress + " " + progress + end.want
				if sharing == mcpclient.Session {
					want = progress + " " + progress + end.want // bob has another connection
				}
				if got := told(); got != want {
					t.Errorf("the creator is told %s, want %s", got, want)
				}
				if got := toldBob(); got != "" {
					t.Errorf("another caller is told %s", got)
				}
			})
		}
	}
}

// The progress of a task extends the call that waits for its result, also if the caller wants none, or has a token that is too
// long to be remembered.
func TestTaskProgressExtends(t *testing.T) {
	sourcetest.NoLeaks(t)
	for _, meta := range []string{`,"_meta":{"progressToken":"t"}`, ``, `,"_meta":{"progressToken":"` + strings.Repeat("t", 2000) + `"}`} {
		synctest.Test(t, func(t *testing.T) {
			p, network := newProgressingTask(), peer.NewNetwork()
			p.pause = func() { time.Sleep(2 * time.Second) }
			c := openOn(t, network, mcpclient.Config{URL: "ws" + strings.TrimPrefix(p.Serve(t, network), "http") + "/ws", Timeout: 3 * time.Second})
			other, told := c.told("other")
			begin, _ := wire.SplitParams([]byte(`{"name":"begin","arguments":{},"task":{}` + meta + `}`))
			result, _ := wire.SplitParams([]byte(`{"taskId":"a"}`))
			for _, req := range []*bridge.Request{{Method: wire.MethodToolsCall, Params: &begin, Target: "begin"}, {Method: wire.MethodTasksResult, Params: &result}} {
				if r := other.session.Do(t.Context(), req); r.Err != nil {
					t.Errorf("%.40s: %s: %v", meta, req.Method, r.Err)
				}
			}
			if n := strings.Count(told(), wire.NotificationProgress); (n > 0) != strings.Contains(meta, `"t"`) {
				t.Errorf("%.40s: it is told of progress %d times", meta, n)
			}
		})
	}
}

// told is another caller, and what it is notified of.
func (c *caller) told(name string) (_ *caller, notes func() string) {
	var mu sync.Mutex
	var all []string
	notify := func(method string, params []byte) {
		mu.Lock()
		defer mu.Unlock()
		if params != nil { // which list changes have not
			all = append(all, method+" "+string(params))
		}
	}
	return c.also(bridge.Caller{ID: name, Principal: bridge.Principal{Name: name}, Notify: notify}), func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(all, " ")
	}
}
