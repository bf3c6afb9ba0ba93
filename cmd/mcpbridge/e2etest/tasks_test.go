package e2etest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/profile"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

// tasking are the capabilities of a client of the modern era that accepts tasks as results.
const tasking = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`

// taskServer is a server with tasks: those of 2025-11-25 in the legacy era, those of the
// extension in the modern era.
type taskServer struct {
	*peer.Server

	// guarded by the server's State
	status map[string]string
	order  []string
	inputs map[string]string // inputResponses by task
	tokens map[string]string // of progress, by task
}

const taskTools = `{"name":"work","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}},{"name":"finish","inputSchema":{"type":"object"}},{"name":"step","inputSchema":{"type":"object"}},{"name":"hold","inputSchema":{"type":"object"}}`

func newTaskServer(era string) *taskServer {
	s := &taskServer{Server: peer.NewServer(era), status: map[string]string{}, inputs: map[string]string{}, tokens: map[string]string{}}
	s.Tools = taskTools
	s.Capabilities = `"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`
	if era == peer.Modern {
		s.Capabilities = `"extensions":{"io.modelcontextprotocol/tasks":{}}`
	}
	s.Take = s.do
	return s
}

// wireTask returns the members of a task in the form of its era.
func wireTask(id, status string, modern bool) string {
	ttl := "ttl"
	if modern {
		ttl = "ttlMs"
	}
	return `"taskId":"` + id + `","status":"` + status + `","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","` + ttl + `":60000,"x-n":12345678901234567890`
}

func (s *taskServer) do(c *peer.Call) {
	id, _ := c.Params.Text(wire.TaskID)
	var status string
	var known bool
	s.Read(func() { status, known = s.status[id] })
	switch {
	case c.Method == wire.MethodToolsCall:
		s.call(c)
	case c.Method == wire.MethodTasksList && !c.Modern:
		var all []string
		s.Read(func() {
			for _, id := range s.order {
				all = append(all, `{`+wireTask(id, s.status[id], c.Modern)+`}`)
			}
		})
		c.Reply(`"tasks":[` + strings.Join(all, ",") + `]`)
	case c.Modern && wire.Lookup(c.Params.Get(wire.MetaClientCapabilities), "extensions", "io.modelcontextprotocol/tasks") == nil:
		c.Fail(mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, "the client does not take tasks", "")
	case !known:
		c.Fail(wire.InvalidParams, "no such task: "+id, "")
	case c.Method == wire.MethodTasksGet:
		more := ""
		if status == "input_required" {
			more = `,"inputRequests":{"who":{"method":"elicitation/create","params":{"message":"<é\u00e9>","requestedSchema":{"type":"object","properties":{}}}}}`
		}
		c.Reply(wireTask(id, status, c.Modern) + more)
	case c.Method == wire.MethodTasksResult && !c.Modern:
		if s.Until(c.Ctx, func() bool { return s.status[id] != "working" }) {
			c.Reply(`"content":[],"of":"` + id + `","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"` + id + `"}}`)
		}
	case c.Method == wire.MethodTasksUpdate && c.Modern:
		s.set(id, "completed", string(c.Params.Get(wire.InputResponses)))
		c.Reply("")
	case c.Method == wire.MethodTasksCancel && status != "working" && status != "input_required":
		c.Fail(wire.InvalidParams, "cannot cancel: "+status, "")
	case c.Method == wire.MethodTasksCancel:
		s.set(id, "cancelled", "")
		if c.Modern {
			c.Reply("")
			return
		}
		c.Reply(wireTask(id, "cancelled", c.Modern))
	default:
		c.Fail(wire.MethodNotFound, "method not found", "")
	}
}

func (s *taskServer) call(c *peer.Call) {
	tool, arg := c.Name(), c.Argument("id")
	switch {
	case tool == "hold":
		<-c.Ctx.Done()
	case tool == "step":
		var token string
		s.Read(func() { token = s.tokens[arg] })
		c.Say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + token + `,"progress":0.50}}`)
		c.Reply(`"content":[]`)
	case tool == "finish":
		s.set(arg, "completed", "")
		c.Say(`{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{` + wireTask(arg, "completed", c.Modern) + `}}`)
		c.Reply(`"content":[]`)
	case c.Modern && wire.Lookup(c.Params.Get(wire.MetaClientCapabilities), "extensions") != nil:
		s.set(arg, "input_required", "")
		c.Reply(`"resultType":"task",` + wireTask(arg, "input_required", c.Modern))
	case c.Params.Get(wire.Task) != nil && !c.Modern:
		s.set(arg, "working", "")
		s.Update(func() { s.tokens[arg] = string(c.Params.Get(wire.MetaProgressToken)) })
		c.Reply(`"task":{` + wireTask(arg, "working", c.Modern) + `}`)
	default:
		c.Reply(`"content":[]`)
	}
}

func (s *taskServer) set(id, status, inputs string) {
	s.Update(func() {
		if _, known := s.status[id]; !known {
			s.order = append(s.order, id)
		}
		s.status[id], s.inputs[id] = status, inputs
	})
}

// begin creates a task of 2025-11-25.
func (c *caller) begin(tool, id string) {
	c.Helper()
	got := c.result(c.request("tools/call", `"name":"`+tool+`","arguments":{"id":"`+id+`"},"task":{"ttl":60000}`, `"progressToken":"of `+id+`"`))
	if string(wire.Lookup([]byte(got), "task", "taskId")) != `"`+id+`"` {
		c.Fatalf("it is no task: %s", got)
	}
}

// unknown fails the test unless a request is refused because the task is unknown.
func (c *caller) unknown(method, id string) {
	c.Helper()
	members := `"taskId":"` + id + `"`
	if method == wire.MethodTasksUpdate {
		members += `,"inputResponses":{}`
	}
	if m := c.response(c.request(method, members, "")); string(wire.Lookup(m.Error, "code")) != "-32602" {
		c.Errorf("%s of %s: %s", method, id, m.Raw)
	}
}

// listed returns the tasks of tasks/list.
func (c *caller) listed() string {
	c.Helper()
	var all []string
	for raw := range wire.Elements(wire.Lookup([]byte(c.result(c.request("tasks/list", "", ""))), "tasks")) {
		id, _ := wire.Text(wire.Lookup(raw, "taskId"))
		all = append(all, id)
	}
	return strings.Join(all, " ")
}

// The tasks of 2025-11-25 pass unchanged over each carrier.
func TestTasksOf2025(t *testing.T) {
	sourcetest.NoLeaks(t)
	for _, p := range prefixes {
		for _, up := range taskCarriers {
			for _, sharing := range []mcpclient.Sharing{mcpclient.Shared, mcpclient.Session} {
				for _, down := range callerCarriers {
					sideBySide(t, fmt.Sprintf("%s%s-%s/%s", p.prefix, up.name, sharing, down.name), func(t *testing.T) {
						s := newTaskServer("legacy")
						cfg := up.config(t, s.Server)
						cfg.Sharing = sharing
						f := newFront(t, bridge.New(bridge.Options{Settle: patience}, p.members(dial(t, cfg))...))
						useTasks(newCaller(t, f, down.dial, false, `{}`), s, p.prefix)
					})
				}
			}
		}
	}
}

func useTasks(c *caller, s *taskServer, prefix string) {
	if got := c.result(c.request("tools/list", "", "")); !strings.Contains(got, `{"name":"`+prefix+`work","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}`) {
		c.Errorf("tools/list: %s", got)
	}
	c.begin(prefix+"work", "a")
	c.begin(prefix+"work", "b")
	if got := string(s.Seen(wire.MethodToolsCall)[0].Params.Get(wire.Task)); got != `{"ttl":60000}` {
		c.Errorf("the server was sent the task %s", got)
	}
	wired := func(id, status string) string { return wireTask(id, status, false) }
	c.same("tasks/get", c.result(c.request("tasks/get", `"taskId":"a"`, "")), `{`+wired("a", "working")+`}`)
	c.same("tasks/list", c.listed(), "a b")

	c.tool(prefix+"step", `{"id":"a"}`)
	c.same("the progress", string(c.note(wire.NotificationProgress).Params.Raw), `{"progressToken":"of a","progress":0.50}`)

	waiting := c.request("tasks/result", `"taskId":"a"`, "") // it waits until the task has ended
	s.Await(c, wire.MethodTasksResult, 1)
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

// The tasks of the extension (2026-07-28) pass unchanged to clients that accept them.
func TestTasksExtension(t *testing.T) {
	sourcetest.NoLeaks(t)
	for _, p := range prefixes {
		for _, up := range taskCarriers {
			for _, sharing := range []mcpclient.Sharing{mcpclient.Shared, mcpclient.Session} {
				for _, down := range callerCarriers {
					for _, capabilities := range []string{tasking, `{"elicitation":{},` + tasking[1:]} {
						sideBySide(t, fmt.Sprintf("%s%s-%s/%s/%s", p.prefix, up.name, sharing, down.name, capabilities[:5]), func(t *testing.T) {
							s := newTaskServer("modern")
							cfg := up.config(t, s.Server)
							cfg.Sharing = sharing
							f := newFront(t, bridge.New(bridge.Options{Settle: patience}, p.members(dial(t, cfg))...))
							useExtension(newCaller(t, f, down.dial, true, capabilities), s, p.prefix)
							other := newCaller(t, f, down.dial, true, `{}`)
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

func useExtension(c *caller, s *taskServer, prefix string) {
	if got := c.result(c.request("server/discover", "", "")); string(wire.Lookup([]byte(got), "capabilities", "extensions", "io.modelcontextprotocol/tasks")) != "{}" {
		c.Errorf("server/discover: %s", got)
	}
	wired := func(id, status string) string { return wireTask(id, status, true) }
	c.same("tools/call", c.tool(prefix+"work", `{"id":"a"}`), `{"resultType":"task",`+wired("a", "input_required")+`}`)
	c.tool(prefix+"work", `{"id":"b"}`)
	c.same("tasks/get", c.result(c.request("tasks/get", `"taskId":"a"`, "")), `{"resultType":"complete",`+wired("a", "input_required")+
		`,"inputRequests":{"who":{"method":"elicitation/create","params":{"message":"<é\u00e9>","requestedSchema":{"type":"object","properties":{}}}}}}`)
	responses := `{"who":{"action":"accept","content":{"n":1.0,"s":"\u00e9"}}}`
	c.same("tasks/update", c.result(c.request("tasks/update", `"taskId":"a","inputResponses":`+responses, "")), `{"resultType":"complete"}`)
	s.Read(func() { c.same("what the server was told", s.inputs["a"], responses) })
	c.same("tasks/get", c.result(c.request("tasks/get", `"taskId":"a"`, "")), `{"resultType":"complete",`+wired("a", "completed")+`}`)
	c.same("tasks/cancel", c.result(c.request("tasks/cancel", `"taskId":"b"`, "")), `{"resultType":"complete"}`)
	for _, method := range []string{wire.MethodTasksGet, wire.MethodTasksUpdate, wire.MethodTasksCancel} {
		for _, sent := range s.Seen(method) {
			if id, _ := sent.Params.Text(wire.TaskID); sent.Header != nil && sent.Header.Get("Mcp-Name") != id {
				c.Errorf("Mcp-Name of %s %s is %q", method, id, sent.Header.Get("Mcp-Name"))
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

// On a shared link only the creator of a task sees it, changes it and is notified of it.
func TestTasksOfOthers(t *testing.T) {
	sourcetest.NoLeaks(t)
	for _, up := range taskCarriers {
		for _, p := range prefixes {
			for _, down := range principalCarriers {
				sideBySide(t, fmt.Sprintf("%s/%s%s", down.name, p.prefix, up.name), func(t *testing.T) {
					era, more := "legacy", `,"task":{}`
					if down.modern {
						era, more = "modern", ""
					}
					s := newTaskServer(era)
					cfg := up.config(t, s.Server)
					cfg.Sharing = mcpclient.Shared
					f := newGuarded(t, bridge.New(bridge.Options{Settle: patience}, p.members(dial(t, cfg))...))
					ann, bob := newCaller(t, f, down.dial("ann"), down.modern, tasking), newCaller(t, f, down.dial("bob"), down.modern, tasking)
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
						for _, c := range s.Seen(method) {
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
					if slices.ContainsFunc(bob.held, func(m received) bool { return strings.Contains(string(m.Raw), "anns") }) {
						t.Errorf("bob was told of ann's task")
					}
				})
			}
		}
	}
}

// A task of a principal under one profile is unknown under another one.
func TestTasksOfProfiles(t *testing.T) {
	sourcetest.NoLeaks(t)
	for _, p := range prefixes {
		s := newTaskServer("modern")
		cfg := taskCarriers[0].config(t, s.Server)
		cfg.Sharing = mcpclient.Shared
		f := newGuarded(t, profile.New(bridge.New(bridge.Options{Settle: patience}, p.members(dial(t, cfg))...), profile.Options{Profiles: []profile.Profile{{Name: "first"}, {Name: "second"}}}))
		at := func(name string) *caller {
			return newCaller(t, f, func(testing.TB, *front) *peer.Client {
				return peer.HTTP(t.Context(), f.web.URL+"/mcp/p/"+name, bearer("ann"))
			}, true, tasking)
		}
		first, second := at("first"), at("second")
		first.result(first.request("tools/call", `"name":"`+p.prefix+`work","arguments":{"id":"firsts"}`, ""))
		for _, method := range []string{wire.MethodTasksGet, wire.MethodTasksCancel, wire.MethodTasksUpdate} {
			second.unknown(method, "firsts")
		}
		first.result(first.request("tasks/get", `"taskId":"firsts"`, ""))
	}
}

// A client of the modern era that offers elicitation is served by several sessions of a source
// of the legacy era; its tasks are found in each of them.
func TestTasksFoundInAnyView(t *testing.T) {
	sourcetest.NoLeaks(t)
	for _, up := range taskCarriers {
		for _, p := range prefixes {
			sideBySide(t, p.prefix+up.name, func(t *testing.T) {
				s := newTaskServer("legacy")
				cfg := up.config(t, s.Server)
				cfg.Sharing = mcpclient.Session
				f := newGuarded(t, bridge.New(bridge.Options{Settle: patience}, p.members(dial(t, cfg))...))
				ann := newCaller(t, f, byHTTP("ann"), true, asksAll)
				var held []string
				for i := range 3 {
					held = append(held, ann.request("tools/call", `"name":"`+p.prefix+`hold","arguments":{}`, ""))
					s.Await(t, wire.MethodToolsCall, 2*i+1)
					ann.begin(p.prefix+"work", fmt.Sprint("task", i))
				}
				for _, id := range held {
					ann.cancel(id)
				}
				s.Await(t, wire.NotificationCancelled, len(held))
				for i := range 3 {
					id := fmt.Sprint("task", i)
					if got := ann.result(ann.request("tasks/get", `"taskId":"`+id+`"`, "")); !strings.Contains(got, `"`+id+`"`) {
						t.Errorf("tasks/get of %s: %s", id, got)
					}
				}
				for _, other := range []*caller{newCaller(t, f, byHTTP("ann"), true, `{"roots":{}}`), newCaller(t, f, byHTTP("ann"), true, `{}`)} {
					if got := other.result(other.request("tasks/cancel", `"taskId":"task2"`, "")); !strings.Contains(got, `"cancelled"`) {
						t.Errorf("tasks/cancel by another client of the principal: %s", got)
					}
					s.set("task2", "working", "")
				}
			})
		}
	}
}
