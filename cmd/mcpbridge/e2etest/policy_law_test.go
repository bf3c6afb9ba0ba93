package e2etest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// deniedRules deny one item of each kind of the server s0, by the names that callers see, all of s1, and a tool that a
// page lends.
const deniedRules = `"lending":true,"policy":{"rules":[
	{"servers":["lent*"],"tools":["wipe"],"decision":"deny"},
	{"tools":["*renamed"],"decision":"deny"},
	{"prompts":["*prompt_s0_1"],"decision":"deny"},
	{"resources":["res://res_s0_1","tmpl://tmpl_s0_1/*"],"decision":"deny"},
	{"servers":["?[1]"],"decision":"deny"}]}`

// evasions are the ways in which a client may try to reach an item: members of params, by method.
func evasions(name, uri string) (all [][2]string) {
	for _, spelled := range []string{name, strings.ToUpper(name), strings.ReplaceAll(name, "s0", `s\u0030`), name + " ", " " + name, name + `\u0000`, name + `\u200b`, "x__" + name} {
		for _, method := range []string{wire.MethodToolsCall, wire.MethodPromptsGet, "TOOLS/CALL", "Tools/Call", "tools/call ", "tools/call/", "vendor/call", "prompts/Get"} {
			for _, members := range []string{`"name":"%s"`, `"Name":"%s"`, `"name":"%s","arguments":{}`, `"name":"%s","task":{"ttl":9000}`, `"name":"other","task":{"name":"%s"}`, `"name":"other","Name":"%s"`, `"name":"other","name":"%s"`, `"name":"%s","name":"other"`, `"n\u0061me":"%s"`} {
				all = append(all, [2]string{method, fmt.Sprintf(members, spelled)})
			}
		}
		for _, ref := range []string{`"type":"ref/prompt","name":"%s"`, `"type":"ref/prompt","name":"other","Name":"%s"`, `"type":"ref/tool","name":"%s"`, `"Type":"ref/prompt","name":"%s"`} {
			all = append(all, [2]string{wire.MethodComplete, fmt.Sprintf(`"ref":{`+ref+`},"argument":{"name":"a","value":""}`, spelled)})
		}
	}
	for _, spelled := range []string{uri, strings.ToUpper(uri), strings.ReplaceAll(uri, "_1", "%5f1"), strings.ReplaceAll(uri, "_1", "%255F1"), strings.ReplaceAll(uri, "_1", "/../"+uri), uri + `\u0000`, uri + "#x", uri + "?x"} {
		for _, method := range []string{wire.MethodResourcesRead, wire.MethodSubscribe, wire.MethodUnsubscribe, "Resources/Read"} {
			for _, members := range []string{`"uri":"%s"`, `"URI":"%s"`, `"uri":"x:y","uri":"%s"`, `"uri":"x:y","Uri":"%s"`} {
				all = append(all, [2]string{method, fmt.Sprintf(members, spelled)})
			}
		}
		all = append(all, [2]string{wire.MethodComplete, fmt.Sprintf(`"ref":{"type":"ref/resource","uri":"%s"},"argument":{"name":"id","value":""}`, spelled)})
		all = append(all, [2]string{wire.MethodListen, fmt.Sprintf(`"notifications":{"resourceSubscriptions":["%s"]}`, spelled)})
	}
	return all
}

// tokensOf are in whatever is denied: of the first server, and of the second one.
var tokensOf = [2][]string{{"tool_s0_1", "renamed", "prompt_s0_1", "res_s0_1", "tmpl_s0_1"}, {"s1_"}}

// mustNotHear fails the test for each message about what is denied that has come to a server. Nothing of what a
// server may be told without it has a token.
func (s *heardServer) mustNotHear(t *testing.T, tokens []string) {
	for _, raw := range s.all {
		plain := strings.ToLower(strings.NewReplacer("%5f", "_", "%255F", "_", `s\u0030`, "s0").Replace(raw))
		for _, token := range tokens {
			if strings.Contains(plain, token) {
				t.Errorf("reached its server: %s", raw)
			}
		}
	}
}

// heardServer is a server that keeps all messages.
type heardServer struct {
	*lawServer
	mu  sync.Mutex // guards all
	all []string
}

func newHeardServer(name string) *heardServer {
	s := &heardServer{lawServer: newLawServer(name)}
	before := s.Before
	s.Before = func(c *peer.Call) bool {
		s.mu.Lock()
		s.all = append(s.all, string(c.Raw))
		s.mu.Unlock()
		return before(c)
	}
	return s
}

// lendHeard has a page lend a tool that is denied and one that is not, and fails the test if the page hears of the
// former, or nothing of the latter.
func lendHeard(t *testing.T, f *front) {
	page := newCaller(t, f, overWS, false, `{}`)
	page.result(page.request("mcpbridge/lend", `"tools":[{"name":"wipe","description":"Wipes.","inputSchema":{"type":"object"}},{"name":"show","description":"Shows.","inputSchema":{"type":"object"}}]`, ""))
	shown, done := 0, make(chan struct{})
	go func() {
		defer close(done)
		for raw := range page.In {
			if raw.Err != nil {
				return
			}
			if m, err := wire.Split(raw.Raw); err != nil || m.Method != wire.MethodToolsCall {
				continue
			} else if name, _ := wire.Text(wire.Lookup(m.Params.Raw, "name")); name != "show" {
				t.Errorf("reached the page: %s", raw.Raw)
			} else {
				shown++
				page.respond(string(m.ID), `{"content":[]}`)
			}
		}
	}()
	t.Cleanup(func() {
		page.Close()
		<-done
		if shown == 0 {
			t.Error("what is allowed has not reached the page")
		}
	})
}

// Nothing that a rule denies reaches its server, or the page that lends it, as a call or a task, whatever the method, the spelling, the carrier, the era and the
// bridges on the way.
func TestDeniedLaw(t *testing.T) {
	for _, servers := range []int{1, 2} {
		for _, bridges := range []int{1, 2} {
			t.Run(fmt.Sprintf("%d servers, %d bridges", servers, bridges), func(t *testing.T) {
				t.Parallel()
				s0, s1 := newHeardServer("s0"), newHeardServer("s1")
				t.Cleanup(func() { // when all calls have ended
					s0.mustNotHear(t, tokensOf[0])
					s1.mustNotHear(t, tokensOf[1])
					if len(s0.Seen(wire.MethodToolsCall)) == 0 {
						t.Error("what is allowed has not reached its server")
					}
				})
				list := fmt.Sprintf(`"s0":{"url":%q,"rename":{"tool_s0_1":"renamed"}}`, s0.Serve(t, nil)+"/mcp")
				if servers == 2 {
					list += fmt.Sprintf(`,"s1":{"url":%q}`, s1.Serve(t, nil)+"/mcp")
				}
				f, _, _ := askStack(t, `{"mcpServers":{`+list+`},`+deniedRules+`}`)
				lendHeard(t, f)
				if bridges == 2 { // of which the first has no rules
					f, _, _ = askStack(t, fmt.Sprintf(`{"mcpServers":{"outer":{"url":%q}}}`, f.web.URL+"/mcp"))
				}
				r := rand.New(rand.NewPCG(uint64(servers), uint64(bridges)))
				for _, carrier := range callerCarriers {
					tryDenied(r, newBatcher(t, f, carrier.dial))
					if carrier.name != "sse" {
						tryDenied(r, newCaller(t, f, carrier.dial, true, "{}"))
					}
				}
			})
		}
	}
}

// newBatcher connects a client of the revision that has batches.
func newBatcher(t *testing.T, f *front, dial dialer) *caller {
	c := &caller{TB: t, Client: dial(t, f), capabilities: "{}"}
	t.Cleanup(func() { c.Close() })
	c.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`, nil)
	c.response("0")
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil)
	return c
}

// single returns a client without batches of answers, and without requests that cannot be sent.
func single(c *peer.Client) *peer.Client {
	own, in := *c, make(chan peer.Received, 16<<10)
	own.In = in
	go func() {
		defer close(in)
		for m := range c.In {
			if m.Err == nil && !bytes.HasPrefix(m.Raw, []byte("[")) {
				in <- m
			}
		}
	}()
	return &own
}

// unbothered is a test that takes refusals of what is sent for answers.
type unbothered struct{ testing.TB }

func (unbothered) Errorf(string, ...any) {}

// tryDenied tries some of the evasions as one client, one by one and in batches.
func tryDenied(r *rand.Rand, c *caller) {
	var tried [][2]string
	for i, name := range []string{"renamed", "tool_s0_1", "s0__renamed", "s0__tool_s0_1", "prompt_s0_1", "s0__prompt_s0_1", "s1__tool_s1_0", "s1__prompt_s1_0", "wipe"} {
		tried = append(tried, evasions(name, []string{"res://res_s0_1", "tmpl://tmpl_s0_1/7", "res://res_s1_0", "tmpl://tmpl_s1_0/7"}[i%4])...)
	}
	for _, method := range []string{wire.MethodTasksGet, wire.MethodTasksResult, wire.MethodTasksUpdate, wire.MethodTasksCancel, "Tasks/Get"} {
		tried = append(tried, [2]string{method, `"taskId":"s1_task"`}, [2]string{method, `"taskId":"s1_task","inputResponses":{}`}, [2]string{method, `"name":"s1__tool_s1_0"`})
	}
	r.Shuffle(len(tried), func(i, j int) { tried[i], tried[j] = tried[j], tried[i] })
	c.Client = single(c.Client)
	sender := *c
	sender.TB = unbothered{c.TB}
	for i, one := range tried[:300] {
		if c.modern || i%4 > 0 {
			sender.request(one[0], one[1], "")
			continue
		}
		sender.last += 2
		sender.send(fmt.Sprintf(`[{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}},{"jsonrpc":"2.0","id":%d,"method":"ping"}]`, sender.last-1, one[0], one[1], sender.last), nil)
	}
	c.last = sender.last
	listed := c.result(c.request(wire.MethodToolsList, "", ""))
	for _, tool := range regexp.MustCompile(`"name":"([a-z0-9_]*tool_s0_0)"`).FindAllStringSubmatch(listed, -1) {
		c.tool(tool[1], "{}")
	}
	c.tool("show", "{}")
}
