package e2etest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

// tasking is what a client of the modern era says that takes tasks for results.
const tasking = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`

// taskServer is a stub with tasks: those of 2025-11-25 in the legacy era, those of the
// extension in the modern one.
type taskServer struct {
	*stub
	mu     sync.Mutex // guards what follows
	status map[string]string
	order  []string
	inputs map[string]string // inputResponses by task
	turn   chan struct{}
}

const taskTools = `{"name":"work","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}},{"name":"finish","inputSchema":{"type":"object"}},{"name":"hold","inputSchema":{"type":"object"}}`

func newTaskServer(era string) *taskServer {
	s := &taskServer{stub: newStub(era, taskTools), status: map[string]string{}, inputs: map[string]string{}, turn: make(chan struct{})}
	s.capabilities = `"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`
	if era == "modern" {
		s.capabilities = `"extensions":{"io.modelcontextprotocol/tasks":{}}`
	}
	s.answer = s.do
	return s
}

// task is a task as it is on the wire of its era.
func (c *stubCall) task(id, status string) string {
	ttl := "ttl"
	if c.modern {
		ttl = "ttlMs"
	}
	return `"taskId":"` + id + `","status":"` + status + `","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","` + ttl + `":60000,"x-n":12345678901234567890`
}

func (s *taskServer) do(c *stubCall) {
	id, _ := c.Params.Text(wire.TaskID)
	s.mu.Lock()
	status, known := s.status[id]
	s.mu.Unlock()
	switch {
	case c.Method == wire.MethodToolsCall:
		s.call(c)
	case c.Method == wire.MethodTasksList && !c.modern:
		s.mu.Lock()
		var all []string
		for _, id := range s.order {
			all = append(all, `{`+c.task(id, s.status[id])+`}`)
		}
		s.mu.Unlock()
		c.result(`"tasks":[` + strings.Join(all, ",") + `]`)
	case c.modern && wire.Lookup(c.Params.Get(wire.MetaClientCapabilities), "extensions", "io.modelcontextprotocol/tasks") == nil:
		c.fail(wire.MissingCapability, "the client does not take tasks")
	case !known:
		c.fail(wire.InvalidParams, "no such task: "+id)
	case c.Method == wire.MethodTasksGet:
		more := ""
		if status == "input_required" {
			more = `,"inputRequests":{"who":{"method":"elicitation/create","params":{"message":"<é\u00e9>","requestedSchema":{"type":"object","properties":{}}}}}`
		}
		c.result(c.task(id, status) + more)
	case c.Method == wire.MethodTasksResult && !c.modern:
		if s.until(c.ctx, func() bool { return s.status[id] != "working" }) {
			c.result(`"content":[],"of":"` + id + `","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"` + id + `"}}`)
		}
	case c.Method == wire.MethodTasksUpdate && c.modern:
		s.set(id, "completed", string(c.Params.Get(wire.InputResponses)))
		c.result("")
	case c.Method == wire.MethodTasksCancel && status != "working" && status != "input_required":
		c.fail(wire.InvalidParams, "cannot cancel: "+status)
	case c.Method == wire.MethodTasksCancel:
		s.set(id, "cancelled", "")
		if c.modern {
			c.result("")
			return
		}
		c.result(c.task(id, "cancelled"))
	default:
		c.fail(wire.MethodNotFound, "method not found")
	}
}

func (s *taskServer) call(c *stubCall) {
	tool, _ := c.Params.Text(wire.Name)
	arg, _ := wire.Text(wire.Lookup(c.Params.Get(wire.Arguments), "id"))
	switch {
	case tool == "hold":
		<-c.ctx.Done()
	case tool == "finish":
		s.set(arg, "completed", "")
		c.say(`{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{` + c.task(arg, "completed") + `}}`)
		c.result(`"content":[]`)
	case c.modern && wire.Lookup(c.Params.Get(wire.MetaClientCapabilities), "extensions") != nil:
		s.set(arg, "input_required", "")
		c.result(`"resultType":"task",` + c.task(arg, "input_required"))
	case c.Params.Get(wire.Task) != nil && !c.modern:
		s.set(arg, "working", "")
		c.result(`"task":{` + c.task(arg, "working") + `}`)
	default:
		c.result(`"content":[]`)
	}
}

func (s *taskServer) set(id, status, inputs string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.status[id]; !known {
		s.order = append(s.order, id)
	}
	s.status[id], s.inputs[id] = status, inputs
	close(s.turn)
	s.turn = make(chan struct{})
}

// until waits until ok, which is called with s.mu held, or ctx ends.
func (s *taskServer) until(ctx context.Context, ok func() bool) bool {
	for {
		s.mu.Lock()
		done, turn := ok(), s.turn
		s.mu.Unlock()
		if done {
			return true
		}
		select {
		case <-turn:
		case <-ctx.Done():
			return false
		}
	}
}

// begin creates a task of the era of 2025-11-25.
func (c *peer) begin(tool, id string) {
	c.Helper()
	got := c.result(c.request("tools/call", `"name":"`+tool+`","arguments":{"id":"`+id+`"},"task":{"ttl":60000}`, ""))
	if string(wire.Lookup([]byte(got), "task", "taskId")) != `"`+id+`"` {
		c.Fatalf("it is no task: %s", got)
	}
}

// unknown fails the test unless a request about a task is refused as one about none.
func (c *peer) unknown(method, id string) {
	c.Helper()
	members := `"taskId":"` + id + `"`
	if method == wire.MethodTasksUpdate {
		members += `,"inputResponses":{}`
	}
	if m := c.response(c.request(method, members, "")); string(wire.Lookup(m.Error, "code")) != "-32602" {
		c.Errorf("%s of %s: %s", method, id, m.Raw)
	}
}

// listed are the tasks of tasks/list.
func (c *peer) listed() string {
	c.Helper()
	var all []string
	for raw := range wire.Elements(wire.Lookup([]byte(c.result(c.request("tasks/list", "", ""))), "tasks")) {
		id, _ := wire.Text(wire.Lookup(raw, "taskId"))
		all = append(all, id)
	}
	return strings.Join(all, " ")
}

// The tasks of 2025-11-25 pass as they are, whatever carries them.
func TestTasksOf2025(t *testing.T) {
	sourcetest.NoLeaks(t)
	for _, p := range prefixes {
		for _, up := range stubCarriers {
			for _, sharing := range []mcpclient.Sharing{mcpclient.Shared, mcpclient.Session} {
				for _, down := range peerCarriers {
					sideBySide(t, fmt.Sprintf("%s%s-%s/%s", p.prefix, up.name, sharing, down.name), func(t *testing.T) {
						s := newTaskServer("legacy")
						cfg := up.config(s.stub, t)
						cfg.Sharing = sharing
						f := newFront(t, bridge.New(bridge.Options{}, p.members(dial(t, cfg))...))
						useTasks(newPeer(t, f, down.dial, false, `{}`), s, p.prefix)
					})
				}
			}
		}
	}
}

func useTasks(c *peer, s *taskServer, prefix string) {
	if got := c.result(c.request("tools/list", "", "")); !strings.Contains(got, `{"name":"`+prefix+`work","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}`) {
		c.Errorf("tools/list: %s", got)
	}
	c.begin(prefix+"work", "a")
	c.begin(prefix+"work", "b")
	if got := string(s.all(wire.MethodToolsCall)[0].Params.Get(wire.Task)); got != `{"ttl":60000}` {
		c.Errorf("the server was sent the task %s", got)
	}
	wired := (&stubCall{}).task
	c.same("tasks/get", c.result(c.request("tasks/get", `"taskId":"a"`, "")), `{`+wired("a", "working")+`}`)
	c.same("tasks/list", c.listed(), "a b")

	waiting := c.request("tasks/result", `"taskId":"a"`, "") // it waits until the task has ended
	s.await(c, wire.MethodTasksResult, 1)
	c.tool(prefix+"finish", `{"id":"a"}`)
	status := c.note(wire.NotificationTaskStatus)
	c.same("the notification", string(status.Params.Raw), `{`+wired("a", "completed")+`}`)
	c.same("tasks/result", c.result(waiting), `{"content":[],"of":"a","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"a"}}}`)

	c.same("tasks/cancel", c.result(c.request("tasks/cancel", `"taskId":"b"`, "")), `{`+wired("b", "cancelled")+`}`)
	if m := c.response(c.request("tasks/cancel", `"taskId":"a"`, "")); string(m.Error) != `{"code":-32602,"message":"cannot cancel: completed"}` {
		c.Errorf("tasks/cancel of an ended task: %s", m.Raw)
	}
	for _, method := range []string{wire.MethodTasksGet, wire.MethodTasksResult, wire.MethodTasksCancel} {
		c.unknown(method, "nope")
		if m := c.response(c.request(method, "", "")); string(wire.Lookup(m.Error, "code")) != "-32602" {
			c.Errorf("%s of nothing: %s", method, m.Raw)
		}
	}
	c.same("a call that is no task", c.tool(prefix+"work", `{"id":"c"}`), `{"content":[]}`)
}

// The tasks of the extension (2026-07-28) pass as they are too, to who takes them.
func TestTasksExtension(t *testing.T) {
	sourcetest.NoLeaks(t)
	for _, p := range prefixes {
		for _, up := range stubCarriers {
			for _, sharing := range []mcpclient.Sharing{mcpclient.Shared, mcpclient.Session} {
				for _, down := range peerCarriers {
					for _, capabilities := range []string{tasking, `{"elicitation":{},` + tasking[1:]} {
						sideBySide(t, fmt.Sprintf("%s%s-%s/%s/%s", p.prefix, up.name, sharing, down.name, capabilities[:5]), func(t *testing.T) {
							s := newTaskServer("modern")
							cfg := up.config(s.stub, t)
							cfg.Sharing = sharing
							f := newFront(t, bridge.New(bridge.Options{}, p.members(dial(t, cfg))...))
							useExtension(newPeer(t, f, down.dial, true, capabilities), s, p.prefix)
							other := newPeer(t, f, down.dial, true, `{}`)
							if got := other.tool(p.prefix+"work", `{"id":"none"}`); !strings.Contains(got, `"resultType":"complete"`) {
								t.Errorf("a client that takes no tasks: %s", got)
							}
						})
					}
				}
			}
		}
	}
}

func useExtension(c *peer, s *taskServer, prefix string) {
	if got := c.result(c.request("server/discover", "", "")); string(wire.Lookup([]byte(got), "capabilities", "extensions", "io.modelcontextprotocol/tasks")) != "{}" {
		c.Errorf("server/discover: %s", got)
	}
	wired := (&stubCall{modern: true}).task
	c.same("tools/call", c.tool(prefix+"work", `{"id":"a"}`), `{"resultType":"task",`+wired("a", "input_required")+`}`)
	c.tool(prefix+"work", `{"id":"b"}`)
	c.same("tasks/get", c.result(c.request("tasks/get", `"taskId":"a"`, "")), `{"resultType":"complete",`+wired("a", "input_required")+
		`,"inputRequests":{"who":{"method":"elicitation/create","params":{"message":"<é\u00e9>","requestedSchema":{"type":"object","properties":{}}}}}}`)
	responses := `{"who":{"action":"accept","content":{"n":1.0,"s":"\u00e9"}}}`
	c.same("tasks/update", c.result(c.request("tasks/update", `"taskId":"a","inputResponses":`+responses, "")), `{"resultType":"complete"}`)
	s.mu.Lock()
	c.same("what the server was told", s.inputs["a"], responses)
	s.mu.Unlock()
	c.same("tasks/get", c.result(c.request("tasks/get", `"taskId":"a"`, "")), `{"resultType":"complete",`+wired("a", "completed")+`}`)
	c.same("tasks/cancel", c.result(c.request("tasks/cancel", `"taskId":"b"`, "")), `{"resultType":"complete"}`)
	for _, method := range []string{wire.MethodTasksGet, wire.MethodTasksUpdate, wire.MethodTasksCancel} {
		for _, sent := range s.all(method) {
			if id, _ := sent.Params.Text(wire.TaskID); sent.header != nil && sent.header.Get("Mcp-Name") != id {
				c.Errorf("Mcp-Name of %s %s is %q", method, id, sent.header.Get("Mcp-Name"))
			}
		}
		c.unknown(method, "nope")
	}
	for _, method := range []string{wire.MethodTasksList, wire.MethodTasksResult} { // the extension has none
		if m := c.response(c.request(method, `"taskId":"a"`, "")); string(wire.Lookup(m.Error, "code")) != "-32601" {
			c.Errorf("%s: %s", method, m.Raw)
		}
	}
}

// On a shared link a task is its creator's: others neither see nor touch it, nor are
// told of it.
func TestTasksOfOthers(t *testing.T) {
	sourcetest.NoLeaks(t)
	for _, up := range stubCarriers {
		for _, p := range prefixes {
			for _, down := range principalCarriers {
				sideBySide(t, fmt.Sprintf("%s/%s%s", down.name, p.prefix, up.name), func(t *testing.T) {
					era, more := "legacy", `,"task":{}`
					if down.modern {
						era, more = "modern", ""
					}
					s := newTaskServer(era)
					cfg := up.config(s.stub, t)
					cfg.Sharing = mcpclient.Shared
					f := newGuarded(t, bridge.New(bridge.Options{}, p.members(dial(t, cfg))...))
					ann, bob := newPeer(t, f, down.dial("ann"), down.modern, tasking), newPeer(t, f, down.dial("bob"), down.modern, tasking)
					ann.result(ann.request("tools/call", `"name":"`+p.prefix+`work","arguments":{"id":"anns"}`+more, ""))
					bob.result(bob.request("tools/call", `"name":"`+p.prefix+`work","arguments":{"id":"bobs"}`+more, ""))
					methods := []string{wire.MethodTasksGet, wire.MethodTasksCancel, wire.MethodTasksUpdate}
					if !down.modern {
						methods[2] = wire.MethodTasksResult
						ann.same("ann's list", ann.listed(), "anns")
						bob.same("bob's list", bob.listed(), "bobs")
					}
					for _, method := range methods {
						ann.unknown(method, "bobs")
						bob.unknown(method, "anns")
						for _, c := range s.all(method) {
							t.Errorf("the server was asked for %s", c.Raw)
						}
					}
					bob.tool(p.prefix+"finish", `{"id":"anns"}`)
					if !down.modern {
						m := ann.note(wire.NotificationTaskStatus)
						ann.same("the task", string(m.Params.Get(wire.TaskID)), `"anns"`)
					}
					if got := ann.result(ann.request("tasks/get", `"taskId":"anns"`, "")); !strings.Contains(got, `"completed"`) {
						t.Errorf("ann's task: %s", got)
					}
					bob.result(bob.request("tools/list", "", ""))
					if slices.ContainsFunc(bob.held, func(m said) bool { return strings.Contains(string(m.Raw), "anns") }) {
						t.Errorf("bob was told of ann's task")
					}
				})
			}
		}
	}
}

// A client of the modern era that may be asked something is served side by side by
// several sessions of a source of the legacy era: its tasks are found all the same.
func TestTasksFoundInAnyView(t *testing.T) {
	sourcetest.NoLeaks(t)
	for _, up := range stubCarriers {
		for _, p := range prefixes {
			sideBySide(t, p.prefix+up.name, func(t *testing.T) {
				s := newTaskServer("legacy")
				cfg := up.config(s.stub, t)
				cfg.Sharing = mcpclient.Session
				f := newGuarded(t, bridge.New(bridge.Options{}, p.members(dial(t, cfg))...))
				ann := newPeer(t, f, byHTTP("ann"), true, asksAll)
				var held []string
				for i := range 3 {
					held = append(held, ann.request("tools/call", `"name":"`+p.prefix+`hold","arguments":{}`, ""))
					s.await(t, wire.MethodToolsCall, 2*i+1)
					ann.begin(p.prefix+"work", fmt.Sprint("task", i))
				}
				for _, id := range held {
					ann.cancel(id)
				}
				s.await(t, wire.NotificationCancelled, len(held))
				for i := range 3 {
					id := fmt.Sprint("task", i)
					if got := ann.result(ann.request("tasks/get", `"taskId":"`+id+`"`, "")); !strings.Contains(got, `"`+id+`"`) {
						t.Errorf("tasks/get of %s: %s", id, got)
					}
				}
				for _, other := range []*peer{newPeer(t, f, byHTTP("ann"), true, `{"roots":{}}`), newPeer(t, f, byHTTP("ann"), true, `{}`)} {
					if got := other.result(other.request("tasks/cancel", `"taskId":"task2"`, "")); !strings.Contains(got, `"cancelled"`) {
						t.Errorf("tasks/cancel by another client of the principal: %s", got)
					}
					s.set("task2", "working", "")
				}
			})
		}
	}
}
