package e2etest

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// scriptCall is a message to a script.
type scriptCall struct {
	*peer.Call
	*script
}

// question is a question of a tool.
type question struct{ key, method, params string }

// theirs begins the requestState of a script, which the bridge must not read or change.
const theirs = `their \"state\" <é\u00e9> `

var questions = map[string][]question{
	"ask_elicit": {{"color", "elicitation/create", `{"message":"which color? <é\u00e9>","requestedSchema":{"type":"object","properties":{"color":{"type":"string"}}}}`}},
	"ask_two": {
		{"first", "elicitation/create", `{"message":"one","requestedSchema":{"type":"object","properties":{}}}`},
		{"second", "elicitation/create", `{"message":"two","requestedSchema":{"type":"object","properties":{}}}`},
	},
	"ask_sampling": {{"text", "sampling/createMessage", `{"messages":[{"role":"user","content":{"type":"text","text":"say <it>"}}],"maxTokens":12345678901234567890}`}},
	"ask_roots":    {{"roots", "roots/list", `{}`}},
}

var scriptTools = []string{"ask_elicit", "ask_two", "ask_sampling", "ask_roots", "progress", "touch", "change", "log", "silent", "await", "task", "finish", "die"}

func (c *scriptCall) dispatch() {
	switch c.Method {
	case wire.MethodResourcesList:
		fresh := ""
		if c.Modern {
			fresh = `"ttlMs":0,"cacheScope":"private",`
		}
		c.Reply(fresh + `"resources":[{"uri":"file:///a","name":"a"},{"uri":"file:///b","name":"b"}]`)
	case wire.MethodToolsCall:
		c.call()
	case wire.MethodListen:
		c.listen()
	case wire.MethodTasksGet, wire.MethodTasksResult:
		c.task()
	case wire.MethodSubscribe, wire.MethodUnsubscribe, wire.MethodSetLevel:
		if c.Modern {
			c.Fail(wire.MethodNotFound, "method not found", "")
			return
		}
		c.Update(func() {
			if c.Method == wire.MethodSetLevel {
				c.level, _ = wire.Text(wire.Lookup(c.Params.Raw, "level"))
			} else if c.watched[c.URI()] = c.Method == wire.MethodSubscribe; !c.watched[c.URI()] {
				delete(c.watched, c.URI())
			}
		})
		c.Reply("")
	default:
		c.Fail(wire.MethodNotFound, "method not found", "")
	}
}

func (c *scriptCall) number(name string) (n int) {
	json.Unmarshal(wire.Lookup(c.Params.Raw, "arguments", name), &n)
	return n
}

func (c *scriptCall) call() {
	tool := c.Name()
	if q := questions[tool]; q != nil && c.Modern {
		c.require(tool, q)
		return
	} else if q != nil {
		c.ask(q)
		return
	}
	switch tool {
	case "progress":
		token, tag := c.Params.Get(wire.MetaProgressToken), c.Argument("tag")
		for i := range c.number("n") {
			c.Say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"message":%q}}`, token, i, tag))
		}
	case "touch":
		c.touch(c.Argument("uri"))
		return
	case "change":
		c.change(c.Argument("name"))
		return
	case "log":
		c.log()
	case "silent":
		<-c.Ctx.Done()
		return
	case "await": // what has been sent to the script, once it has been
		method, n := c.Argument("method"), c.number("n")
		if !c.Until(c.Ctx, func() bool { return c.Count(method) >= n }) {
			return
		}
		var all []string
		for _, m := range c.Seen(method) {
			all = append(all, string(m.Raw))
		}
		c.Reply(`"content":[],"seen":[` + strings.Join(all, ",") + `]`)
		return
	case "task":
		var id string
		c.Update(func() {
			c.tasks++
			id = fmt.Sprint(c.Argument("tag"), "-task-", c.tasks)
		})
		c.Reply(`"task":{"taskId":"` + id + `","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":60000}`)
		return
	case "finish":
		c.Announce(`{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"` + c.Argument("task") + `","status":"completed"}}`)
	case "die":
		c.kill()
		return
	}
	c.Reply(`"content":[],"tool":"` + tool + `"`)
}

// ask asks questions as the legacy era does: all at once.
func (c *scriptCall) ask(all []question) {
	var messages []peer.Question
	for _, q := range all {
		messages = append(messages, peer.Question{Method: q.method, Params: q.params})
	}
	answers := c.Ask(messages...)
	if answers == nil {
		return
	}
	got := map[string]string{}
	for i, q := range all {
		got[q.key] = answers[i]
	}
	c.answered(all, got)
}

func (c *scriptCall) answered(all []question, got map[string]string) {
	var members []string
	for _, q := range all {
		members = append(members, `"`+q.key+`":`+got[q.key])
	}
	c.Reply(`"content":[],"answers":{` + strings.Join(members, ",") + `}`)
}

// require asks questions as the modern era does: in the result.
func (c *scriptCall) require(tool string, all []question) {
	got := map[string]string{}
	if state := c.Params.Get(wire.RequestState); state != nil {
		var known map[string]string
		c.Read(func() { known = c.states[string(state)] })
		if known == nil {
			c.Fail(wire.InvalidParams, "not my state: "+string(state), "")
			return
		}
		maps.Copy(got, known)
	}
	for key, raw := range wire.Members(c.Params.Get(wire.InputResponses)) {
		got[key] = string(raw)
	}
	var missing []string
	for _, q := range all {
		capability, _, _ := strings.Cut(q.method, "/")
		if wire.Lookup(c.Params.Get(wire.MetaClientCapabilities), capability) == nil {
			c.Fail(mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, "the client cannot do "+capability, "")
			return
		}
		if got[q.key] == "" {
			missing = append(missing, `"`+q.key+`":{"method":"`+q.method+`","params":`+q.params+`}`)
		}
	}
	if len(missing) == 0 {
		c.answered(all, got)
		return
	}
	var state string
	c.Update(func() {
		state = fmt.Sprintf(`"%s%d"`, theirs, len(c.states))
		c.states[state] = got
	})
	c.Reply(`"resultType":"input_required","inputRequests":{` + strings.Join(missing, ",") + `},"requestState":` + state)
}

// listen acknowledges a subscriptions/listen, which stays open until its client ends it.
func (c *scriptCall) listen() {
	c.Say(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":` + c.tag() + `,"notifications":` + string(wire.Lookup(c.Params.Raw, "notifications")) + `}}`)
	c.Update(func() { c.listens[c] = struct{}{} })
	<-c.Ctx.Done()
	c.Update(func() { delete(c.listens, c) })
}

func (c *scriptCall) tag() string {
	return `{"io.modelcontextprotocol/subscriptionId":` + string(c.ID) + `,"vendor/x":1}`
}

// wants reports whether a key of a listen's filter has a value.
func (c *scriptCall) wants(key, value string) bool {
	return strings.Contains(string(wire.Lookup(c.Params.Raw, "notifications", key)), value)
}

// listeners returns the listens for which wants is true; the state is locked.
func (s *script) listeners(key, value string) (all []*scriptCall) {
	for l := range s.listens {
		if l.wants(key, value) {
			all = append(all, l)
		}
	}
	return all
}

// touch waits for a subscriber of a resource and announces an update.
func (c *scriptCall) touch(uri string) {
	if !c.Until(c.Ctx, func() bool {
		return c.watched[uri] || len(c.listeners("resourceSubscriptions", `"`+uri+`"`)) > 0
	}) {
		return
	}
	var watched bool
	var all []*scriptCall
	c.Read(func() { watched, all = c.watched[uri], c.listeners("resourceSubscriptions", `"`+uri+`"`) })
	if watched {
		c.Announce(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"` + uri + `","n":12345678901234567890}}`)
	}
	for _, l := range all {
		l.Say(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":` + l.tag() + `,"uri":"` + uri + `","n":12345678901234567890}}`)
	}
	c.Reply(`"content":[]`)
}

// change adds a tool and announces it; a server of only the modern era waits for a listener.
func (c *scriptCall) change(name string) {
	if !c.legacy && !c.Until(c.Ctx, func() bool { return len(c.listeners("toolsListChanged", "true")) > 0 }) {
		return
	}
	var all []*scriptCall
	c.Update(func() {
		c.Tools += `,{"name":"` + name + `","inputSchema":{"type":"object"}}`
		all = c.listeners("toolsListChanged", "true")
	})
	c.Announce(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	for _, l := range all {
		l.Say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":` + l.tag() + `}}`)
	}
	c.Reply(`"content":[]`)
}

// log logs a message of each of four levels, from the wanted level on.
func (c *scriptCall) log() {
	var wanted string
	c.Read(func() { wanted = c.level })
	if c.Modern {
		wanted, _ = c.Params.Text(wire.MetaLogLevel)
	}
	levels := []string{"debug", "info", "warning", "error"}
	on := wanted == "" && !c.Modern
	for _, level := range levels {
		if on = on || level == wanted; on {
			c.Say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"` + level + `","data":{"n":1.0}}}`)
		}
	}
}

// task answers tasks/get and tasks/result of any task.
func (c *scriptCall) task() {
	id, _ := c.Params.Text(wire.TaskID)
	if c.Method == wire.MethodTasksResult {
		c.Reply(`"content":[],"of":"` + id + `"`)
		return
	}
	c.Reply(`"taskId":"` + id + `","status":"working"`)
}
