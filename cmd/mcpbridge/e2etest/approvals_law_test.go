package e2etest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/policy"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
	"github.com/mcpbridge/mcpbridge/mcpserver"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// paid counts the calls that have run, by what they are for.
type paid struct {
	mu  sync.Mutex // guards for
	ran map[string]int
}

func (p *paid) add(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ran[what]++
}

func (p *paid) count(what string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ran[what]
}

// askTools are an MCP server's, a native one, and one that a page lends.
var askTools = []string{"pay", "bill", "show"}

// askWorld is a chain of bridges, of which the inner one asks about each call.
type askWorld struct {
	*front              // of the outer bridge
	stack  *stack.Stack // the outer bridge
	desk   *policy.Desk // of the inner bridge
	loop   config.Loop  // of the outer bridge
	paid   *paid
}

// newAskWorld makes a chain. wait is how long a call waits whose client cannot be asked.
func newAskWorld(t *testing.T, bridges int, wait string) *askWorld {
	w := &askWorld{paid: &paid{ran: map[string]int{}}}
	server := peer.NewServer("")
	server.Tools = `{"name":"pay","inputSchema":{"type":"object","properties":{"for":{"type":"string"}}}}`
	server.Take = func(c *peer.Call) {
		if c.Method == wire.MethodToolsCall {
			w.paid.add(c.Argument("for"))
		}
		c.Reply(`"content":[{"type":"text","text":"ran"}]`)
	}
	api := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.paid.add(r.URL.Query().Get("for"))
		fmt.Fprint(rw, "ran")
	}))
	t.Cleanup(api.Close)
	inner, s, pool := askStack(t, fmt.Sprintf(`{
		"mcpServers": {"bank": {"url": %q, "prefix": ""}}, "lending": true,
		"apis": {"default": {"type": "rest", "url": %q}},
		"tools": [{"name": "bill", "description": "Bills.", "input_schema": {"type": "object", "properties": {"for": {"type": "string"}}}, "kind": "rest", "rest": {"method": "POST", "path": "/?for={for}"}}],
		"policy": {"approvals": {"wait": %q}, "rules": [{"tools": ["pay", "bill", "show"], "decision": "ask"}]}}`, server.Serve(t, nil)+"/mcp", api.URL, wait))
	w.desk = pool.Approvals
	w.lend(t, inner)
	if w.front, w.stack = inner, s; bridges == 2 {
		w.front, w.stack, _ = askStack(t, fmt.Sprintf(`{"mcpServers": {"inner": {"url": %q, "prefix": ""}}}`, inner.web.URL+"/mcp"))
	}
	return w
}

// askStack returns a bridge with a config, and a server of it.
func askStack(t *testing.T, text string) (*front, *stack.Stack, *stack.Pool) {
	cfg, err := config.Loader{}.Parse("mcpbridge.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	pool := stack.NewPool()
	s, err := stack.New(cfg, stack.Options{Pool: pool})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		pool.Close()
	})
	return newFrontWith(t, s, mcpserver.Options{Lend: pool.Lending().Join}), s, pool
}

// lend has a page lend a tool.
func (w *askWorld) lend(t *testing.T, f *front) {
	page := newCaller(t, f, overWS, false, `{}`)
	page.result(page.request("mcpbridge/lend", `"tools":[{"name":"show","description":"Shows.","inputSchema":{"type":"object","properties":{"for":{"type":"string"}}}}]`, ""))
	go func() {
		for raw := range page.In {
			if m, err := wire.Split(raw.Raw); err == nil && m.Method == wire.MethodToolsCall {
				what, _ := wire.Text(wire.Lookup(m.Params.Raw, "arguments", "for"))
				w.paid.add(what)
				page.respond(string(m.ID), `{"content":[{"type":"text","text":"ran"}]}`)
			} else if raw.Err != nil {
				return
			}
		}
	}()
}

// waiting waits until a call waits on the desk, and returns its approval.
func (w *askWorld) waiting(t testing.TB, what string) policy.Approval {
	t.Helper()
	poll, limit := time.NewTicker(time.Millisecond), time.NewTimer(patience)
	defer poll.Stop()
	defer limit.Stop()
	for {
		for _, a := range w.desk.Approvals() {
			if got, _ := wire.Text(wire.Lookup(a.Arguments, "for")); got == what && a.State == policy.Pending {
				return a
			}
		}
		select {
		case <-poll.C:
		case <-limit.C:
			t.Fatalf("no call for %s waits: %+v", what, w.desk.Approvals())
		}
	}
}

// decide approves the call that waits.
func (w *askWorld) decide(t testing.TB, what string) {
	t.Helper()
	if _, err := w.desk.Decide(w.waiting(t, what).ID, policy.Answer{Approve: true}, "op"); err != nil {
		t.Error(err)
	}
}

// ends checks that a call has run once, and that no decision about it is left for another call.
func (w *askWorld) ends(t testing.TB, what string) {
	t.Helper()
	if n := w.paid.count(what); n != 1 {
		t.Errorf("%s: ran %d times, want 1", what, n)
	}
	for _, a := range w.desk.Approvals() {
		if got, _ := wire.Text(wire.Lookup(a.Arguments, "for")); got == what && a.State != policy.Used {
			t.Errorf("%s: an approval is %s", what, a.State)
		}
	}
}

// answers are those of the person at a client.
const (
	allows    = `{"action":"accept","content":{"decision":"allow"}}`
	dismisses = `{"action":"cancel"}`
)

// call calls a tool; answer is that of the person at the client, who is asked as often as want says.
func (c *caller) callAsked(tool, what, answer string, want int) string {
	c.Helper()
	asked := 0
	defer func() {
		c.Helper()
		if asked != want {
			c.Errorf("%s: the client was asked %d times, want %d", what, asked, want)
		}
	}()
	members, more := fmt.Sprintf(`"name":%q,"arguments":{"for":%q}`, tool, what), ""
	for {
		id := c.request(wire.MethodToolsCall, peer.Members(members, more), "")
		m := c.next("a question or the response", func(m *received) bool {
			return m.Kind() == wire.Request || m.Kind() == wire.Response && string(m.ID) == id
		})
		for ; m.Kind() == wire.Request; m = c.next("the response", func(m *received) bool { return m.Kind() == wire.Request || string(m.ID) == id }) {
			asked++
			c.respond(string(m.ID), answer)
		}
		if kind, _ := wire.Text(wire.Lookup(m.Result, "resultType")); kind != "input_required" {
			return string(m.Raw)
		}
		asked++
		for key := range wire.Members(wire.Lookup(m.Result, "inputRequests")) {
			more = fmt.Sprintf(`"inputResponses":{%q:%s},"requestState":%s`, key, answer, wire.Lookup(m.Result, "requestState"))
		}
	}
}

// callOvertaken calls a tool, about which the client is asked and the operator decides. An answer of the client that
// comes later counts for nothing.
func (c *caller) callOvertaken(w *askWorld, tool, what string) string {
	c.Helper()
	members := fmt.Sprintf(`"name":%q,"arguments":{"for":%q}`, tool, what)
	id := c.request(wire.MethodToolsCall, members, "")
	const denies = `{"action":"accept","content":{"decision":"deny"}}`
	m := c.next("a question", func(m *received) bool { return m.Kind() == wire.Request || string(m.ID) == id })
	w.decide(c, what)
	if !c.modern {
		got := c.response(id) // which does not wait for the answer
		c.respond(string(m.ID), denies)
		return string(got.Raw)
	}
	for key := range wire.Members(wire.Lookup(m.Result, "inputRequests")) {
		id = c.request(wire.MethodToolsCall, peer.Members(members, fmt.Sprintf(`"inputResponses":{%q:%s},"requestState":%s`, key, denies, wire.Lookup(m.Result, "requestState"))), "")
	}
	return string(c.response(id).Raw)
}

// Each call for which a person has to be asked runs once, whoever answers, in time or later: over every carrier, in
// both eras, through one and two bridges, whatever carries the tool out.
func TestApprovalRows(t *testing.T) {
	sourcetest.NoLeaks(t)
	for _, bridges := range []int{1, 2} {
		prompt, hasty := newAskWorld(t, bridges, "10m"), newAskWorld(t, bridges, "10ms")
		for _, down := range callerCarriers {
			for _, modern := range []bool{false, true} {
				for _, tool := range askTools {
					name := fmt.Sprintf("%d bridges/%s/modern=%t/%s", bridges, down.name, modern, tool)
					t.Run(name, func(t *testing.T) {
						able, unable := `{"elicitation":{"form":{}}}`, `{}`
						w := prompt
						what := name + " able in time"
						c := newCaller(t, w.front, down.dial, modern, able)
						if got := c.callAsked(tool, what, allows, 1); !strings.Contains(got, `"ran"`) {
							t.Errorf("%s: %s", what, got)
						}
						w.ends(t, what)

						what = name + " unable in time"
						c = newCaller(t, w.front, down.dial, modern, unable)
						decided := make(chan struct{})
						go func() { defer close(decided); w.decide(t, what) }()
						if got := c.callAsked(tool, what, "", 0); !strings.Contains(got, `"ran"`) {
							t.Errorf("%s: %s", what, got)
						}
						<-decided
						w.ends(t, what)

						what = name + " with the operator faster than the client"
						c = newCaller(t, w.front, down.dial, modern, able)
						if got := c.callOvertaken(w, tool, what); !strings.Contains(got, `"ran"`) {
							t.Errorf("%s: %s", what, got)
						}
						w.ends(t, what)

						w = hasty
						for capabilities, asked := range map[string]int{able: 1, unable: 0} {
							what = fmt.Sprintf("%s asked=%d later", name, asked)
							c = newCaller(t, w.front, down.dial, modern, capabilities)
							got := c.callAsked(tool, what, dismisses, asked)
							if !strings.Contains(got, "has not run: a person has to approve it") || w.paid.count(what) != 0 {
								t.Errorf("%s: %s", what, got)
							}
							w.decide(t, what)
							if got := c.callAsked(tool, what, dismisses, 0); !strings.Contains(got, `"ran"`) {
								t.Errorf("%s: %s", what, got)
							}
							w.ends(t, what)
						}
					})
				}
			}
		}
		for _, tool := range askTools {
			t.Run(fmt.Sprintf("%d bridges/model/%s", bridges, tool), func(t *testing.T) { runModelRows(t, prompt, hasty, bridges, tool) })
		}
	}
}

// payer is a model that makes one call, and says what came of it.
type payer struct{ tool, what string }

func (*payer) Name() string              { return "payer" }
func (*payer) Format() toolformat.Format { return toolformat.FormatOpenAI }

func (p *payer) Turn(_ context.Context, req *providers.Request, _ func(providers.Event)) (*providers.Turn, error) {
	turn := &providers.Turn{Message: providers.Message{Role: providers.RoleAssistant}, Stop: providers.StopEnd}
	if last := req.Messages[len(req.Messages)-1]; last.Role != providers.RoleUser {
		turn.Message.Parts = []providers.Part{{Type: providers.PartText, Text: last.Parts[0].Result.Text(false)}}
		return turn, nil
	}
	arguments, _ := json.Marshal(map[string]string{"for": p.what})
	turn.Stop = providers.StopCalls
	turn.Message.Parts = []providers.Part{{Type: providers.PartCall, Call: &providers.Call{ID: "c", Name: p.tool, Arguments: arguments}}}
	return turn, nil
}

// runModelRows has a model make the calls. Its user is asked by the bridge that it belongs to.
func runModelRows(t *testing.T, prompt, hasty *askWorld, bridges int, tool string) {
	run := func(w *askWorld, what string, approve providers.Verdict) string {
		t.Helper()
		loop, err := providers.NewToolbox(w.stack).Open(t.Context(), &bridge.Caller{})
		if err != nil {
			t.Fatal(err)
		}
		defer loop.Close()
		task := providers.Task{Provider: &payer{tool, what}, Options: w.stack.LoopOptions(w.loop, false)}
		task.Request.Messages = []providers.Message{providers.UserText("go")}
		if approve != "" {
			task.Approve = func(context.Context, *providers.Question) providers.Decision {
				return providers.Decision{Verdict: approve}
			}
		}
		r, err := loop.Run(t.Context(), task)
		if err == nil && r.Stop == providers.StopDeferred {
			if w.paid.count(what) != 0 {
				t.Errorf("%s: a deferred call has run", what)
			}
			r, err = loop.Resume(t.Context(), task, r, map[string]providers.Decision{"c": {Verdict: providers.VerdictAllow}})
		}
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		return r.Text
	}
	ran := func(w *askWorld, what, text string) {
		t.Helper()
		if text != "ran" {
			t.Errorf("%s: %s", what, text)
		}
		w.ends(t, what)
	}
	if bridges == 1 {
		ran(prompt, "able in time "+tool, run(prompt, "able in time "+tool, providers.VerdictAllow))
		ran(prompt, "able later "+tool, run(prompt, "able later "+tool, providers.VerdictDefer))
	}
	what := fmt.Sprintf("model unable %d %s", bridges, tool)
	decided := make(chan struct{})
	go func() { defer close(decided); prompt.decide(t, what) }()
	text := run(prompt, what, "")
	<-decided
	ran(prompt, what, text)
	if text := run(hasty, what, ""); !strings.Contains(text, "has not run: a person has to approve it") || hasty.paid.count(what) != 0 {
		t.Errorf("%s: %s", what, text)
	}
	hasty.decide(t, what)
	ran(hasty, what, run(hasty, what, ""))
}
