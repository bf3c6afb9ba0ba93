package e2etest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// scriptCall is one request to a script.
type scriptCall struct {
	*script
	ctx    context.Context
	m      *wire.Message
	say    func(string)
	modern bool // the request is of the modern era
}

// question is what a tool of a script wants to know.
type question struct{ key, method, params string }

// theirs begins the requestState of a script: nobody else may read or change it.
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

// result answers the request; members are what stands in the result.
func (c *scriptCall) result(members string) {
	if c.modern {
		members = strings.TrimSuffix(`"resultType":"complete",`+members, ",")
	}
	c.say(`{"jsonrpc":"2.0","id":` + string(c.m.ID) + `,"result":{` + members + `}}`)
}

func (c *scriptCall) fail(code int, message, more string) {
	text, _ := json.Marshal(message)
	c.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s%s}}`, c.m.ID, code, text, more))
}

func (c *scriptCall) dispatch() {
	switch {
	case c.modern && !c.script.modern && c.m.Method == wire.MethodDiscover:
		c.fail(-32601, "method not found", "")
		return
	case c.modern && !c.script.modern:
		c.fail(-32600, "what does this _meta mean: "+string(c.m.Params.Raw), "")
		return
	case !c.modern && !c.script.legacy:
		c.fail(-32022, "unsupported protocol version", `,"data":{"supported":["2026-07-28"],"requested":"2025-11-25"}`)
		return
	}
	lists := ""
	if c.modern {
		lists = `"ttlMs":0,"cacheScope":"private",`
	}
	uri, _ := c.m.Params.Text(wire.URI)
	switch c.m.Method {
	case wire.MethodInitialize:
		c.result(`"protocolVersion":"2025-11-25","capabilities":` + scriptCapabilities + `,"serverInfo":{"name":"script","version":"1"}`)
	case wire.MethodDiscover:
		c.result(lists + `"supportedVersions":["2026-07-28"],"capabilities":` + scriptCapabilities + `,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"script","version":"1"}}`)
	case wire.MethodToolsList:
		c.mu.Lock()
		names := append(append([]string(nil), scriptTools...), c.added...)
		c.mu.Unlock()
		c.result(lists + `"tools":[{"name":"` + strings.Join(names, `","inputSchema":{"type":"object"}},{"name":"`) + `","inputSchema":{"type":"object"}}]`)
	case wire.MethodResourcesList:
		c.result(lists + `"resources":[{"uri":"file:///a","name":"a"},{"uri":"file:///b","name":"b"}]`)
	case wire.MethodToolsCall:
		c.call()
	case wire.MethodListen:
		c.listen()
	case wire.MethodTasksGet, wire.MethodTasksResult:
		c.task()
	case wire.MethodSubscribe, wire.MethodUnsubscribe, wire.MethodSetLevel:
		if c.modern {
			c.fail(-32601, "method not found", "")
			return
		}
		c.mu.Lock()
		if level, ok := wire.Text(wire.Lookup(c.m.Params.Raw, "level")); ok {
			c.level = level
		} else if c.watched[uri] = c.m.Method == wire.MethodSubscribe; !c.watched[uri] {
			delete(c.watched, uri)
		}
		c.changed()
		c.mu.Unlock()
		c.result("")
	default:
		c.fail(-32601, "method not found", "")
	}
}

const scriptCapabilities = `{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"logging":{},"tasks":{"requests":{"tools":{"call":{}}}}}`

func (c *scriptCall) argument(name string) string {
	s, _ := wire.Text(wire.Lookup(c.m.Params.Raw, "arguments", name))
	return s
}

func (c *scriptCall) number(name string) (n int) {
	json.Unmarshal(wire.Lookup(c.m.Params.Raw, "arguments", name), &n)
	return n
}

func (c *scriptCall) call() {
	tool, _ := c.m.Params.Text(wire.Name)
	if q := questions[tool]; q != nil && c.modern {
		c.require(tool, q)
		return
	} else if q != nil {
		c.ask(q)
		return
	}
	switch tool {
	case "progress":
		token, tag := c.m.Params.Get(wire.MetaProgressToken), c.argument("tag")
		for i := range c.number("n") {
			c.say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"message":%q}}`, token, i, tag))
		}
	case "touch":
		c.touch(c.argument("uri"))
		return
	case "change":
		c.change(c.argument("name"))
		return
	case "log":
		c.log()
	case "silent":
		<-c.ctx.Done()
		return
	case "await": // what has been sent to the script, once it has been
		method, n := c.argument("method"), c.number("n")
		if !c.until(c.ctx, func() bool { return c.count(method) >= n }) {
			return
		}
		c.mu.Lock()
		var all []string
		for _, m := range c.seen {
			if m.Method == method {
				all = append(all, string(m.Raw))
			}
		}
		c.mu.Unlock()
		c.result(`"content":[],"seen":[` + strings.Join(all, ",") + `]`)
		return
	case "task":
		c.mu.Lock()
		c.last++
		id := fmt.Sprint(c.argument("tag"), "-task-", c.last)
		c.mu.Unlock()
		c.result(`"task":{"taskId":"` + id + `","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":60000}`)
		return
	case "finish":
		c.announce(`{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"` + c.argument("task") + `","status":"completed"}}`)
	case "die":
		c.kill()
		return
	}
	c.result(`"content":[],"tool":"` + tool + `"`)
}

// ask asks what a tool wants to know as the legacy era does: side by side.
func (c *scriptCall) ask(all []question) {
	var messages []string
	waiting := make([]chan string, len(all))
	c.mu.Lock()
	for i, q := range all {
		c.last++
		id := fmt.Sprintf(`"q%d"`, c.last)
		waiting[i] = make(chan string, 1)
		c.asked[id] = waiting[i]
		messages = append(messages, `{"jsonrpc":"2.0","id":`+id+`,"method":"`+q.method+`","params":`+q.params+`}`)
	}
	c.mu.Unlock()
	c.say(strings.Join(messages, "\n"))
	got := map[string]string{}
	for i, q := range all {
		select {
		case got[q.key] = <-waiting[i]:
		case <-c.ctx.Done():
			return
		}
	}
	c.answered(all, got)
}

func (c *scriptCall) answered(all []question, got map[string]string) {
	var members []string
	for _, q := range all {
		members = append(members, `"`+q.key+`":`+got[q.key])
	}
	c.result(`"content":[],"answers":{` + strings.Join(members, ",") + `}`)
}

// require asks as the modern era does.
func (c *scriptCall) require(tool string, all []question) {
	got := map[string]string{}
	if state := c.m.Params.Get(wire.RequestState); state != nil {
		c.mu.Lock()
		known, ok := c.states[string(state)]
		c.mu.Unlock()
		if !ok {
			c.fail(-32602, "not my state: "+string(state), "")
			return
		}
		for k, v := range known {
			got[k] = v
		}
	}
	for key, raw := range wire.Members(c.m.Params.Get(wire.InputResponses)) {
		got[key] = string(raw)
	}
	var missing []string
	for _, q := range all {
		capability, _, _ := strings.Cut(q.method, "/")
		if wire.Lookup(c.m.Params.Get(wire.MetaClientCapabilities), capability) == nil {
			c.fail(-32021, "the client cannot do "+capability, "")
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
	c.mu.Lock()
	c.last++
	state := fmt.Sprintf(`"%s%d"`, theirs, c.last)
	c.states[state] = got
	c.mu.Unlock()
	c.say(`{"jsonrpc":"2.0","id":` + string(c.m.ID) + `,"result":{"resultType":"input_required","inputRequests":{` + strings.Join(missing, ",") + `},"requestState":` + state + `}}`)
}

// listen is a subscriptions/listen: acknowledged first, open until its client goes.
func (c *scriptCall) listen() {
	c.say(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":` + c.tag() + `,"notifications":` + string(wire.Lookup(c.m.Params.Raw, "notifications")) + `}}`)
	c.mu.Lock()
	c.listens[c] = struct{}{}
	c.changed()
	c.mu.Unlock()
	<-c.ctx.Done()
	c.mu.Lock()
	delete(c.listens, c)
	c.changed()
	c.mu.Unlock()
}

func (c *scriptCall) tag() string {
	return `{"io.modelcontextprotocol/subscriptionId":` + string(c.m.ID) + `,"vendor/x":1}`
}

// wants reports whether a listen asked for that.
func (c *scriptCall) wants(key, value string) bool {
	return strings.Contains(string(wire.Lookup(c.m.Params.Raw, "notifications", key)), value)
}

// listeners are those who asked for that; c.mu is held.
func (c *scriptCall) listeners(key, value string) (all []*scriptCall) {
	for l := range c.listens {
		if l.wants(key, value) {
			all = append(all, l)
		}
	}
	return all
}

// touch tells who watches a resource that it has changed, once somebody does.
func (c *scriptCall) touch(uri string) {
	if !c.until(c.ctx, func() bool {
		return c.watched[uri] || len(c.listeners("resourceSubscriptions", `"`+uri+`"`)) > 0
	}) {
		return
	}
	c.mu.Lock()
	watched, all := c.watched[uri], c.listeners("resourceSubscriptions", `"`+uri+`"`)
	c.mu.Unlock()
	if watched {
		c.announce(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"` + uri + `","n":12345678901234567890}}`)
	}
	for _, l := range all {
		l.say(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":` + l.tag() + `,"uri":"` + uri + `","n":12345678901234567890}}`)
	}
	c.result(`"content":[]`)
}

// change adds a tool and says so. Whoever speaks only the modern era must listen.
func (c *scriptCall) change(name string) {
	if !c.legacy && !c.until(c.ctx, func() bool { return len(c.listeners("toolsListChanged", "true")) > 0 }) {
		return
	}
	c.mu.Lock()
	c.added = append(c.added, name)
	all := c.listeners("toolsListChanged", "true")
	c.mu.Unlock()
	c.announce(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	for _, l := range all {
		l.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":` + l.tag() + `}}`)
	}
	c.result(`"content":[]`)
}

// log logs a message of each of some levels, as far as they are wanted.
func (c *scriptCall) log() {
	c.mu.Lock()
	wanted := c.level
	c.mu.Unlock()
	if c.modern {
		wanted, _ = c.m.Params.Text(wire.MetaLogLevel)
	}
	levels := []string{"debug", "info", "warning", "error"}
	on := wanted == "" && !c.modern
	for _, level := range levels {
		if on = on || level == wanted; on {
			c.say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"` + level + `","data":{"n":1.0}}}`)
		}
	}
}

// task answers tasks/get and tasks/result of any task that begins with the name of the
// script.
func (c *scriptCall) task() {
	id, _ := c.m.Params.Text(wire.TaskID)
	if c.m.Method == wire.MethodTasksResult {
		c.result(`"content":[],"of":"` + id + `"`)
		return
	}
	c.result(`"taskId":"` + id + `","status":"working"`)
}
