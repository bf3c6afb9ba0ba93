package policy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/policy"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// use is a use of an item, as the reference understands it.
type use struct {
	principal, client, profile, model string

	method, target string
	item           *thing // nil for a resource that is not listed
	amount         value  // argument of a tool
}

// thing is an item of a server.
type thing struct {
	kind, server string // kind is "tools", "prompts" or "resources"
	hints        map[string]bool
}

// value is an argument, and how servers may read it.
type value struct {
	raw    string
	text   string
	number float64
	kind   string // "number", "text", "both" for a number in a text, "odd" for what servers read differently; "" without one
}

// reference decides about a use, with plain code.
func reference(rules []policy.Rule, u *use) policy.Verdict {
	for _, r := range rules {
		allow := r.Verdict == policy.Allow
		kind := u.kind()
		named := map[string][]string{"tools": r.Tools, "prompts": r.Prompts, "resources": r.Resources}
		forTools := len(r.Tools) > 0 || len(r.Annotations)+len(r.Arguments) > 0 && len(r.Prompts)+len(r.Resources) == 0
		general := !forTools && len(r.Prompts)+len(r.Resources) == 0
		ok := one(r.Principals, u.principal) && one(r.Clients, u.client) && one(r.Profiles, u.profile) && one(r.Models, u.model)
		ok = ok && (general || len(named[kind]) > 0 || kind == "tools" && forTools)
		if u.item == nil {
			ok = ok && (len(r.Servers) == 0 || !allow)
		} else {
			ok = ok && one(r.Servers, u.item.server)
		}
		if kind == "resources" && len(r.Resources) > 0 {
			plain, up := strings.ReplaceAll(u.target, "%78", "x"), strings.Contains(u.target, "..")
			if allow {
				ok = ok && one(r.Resources, u.target) && one(r.Resources, plain) && !up
			} else {
				ok = ok && (one(r.Resources, u.target) || one(r.Resources, strings.ToLower(plain)) || up)
			}
		} else {
			ok = ok && one(named[kind], u.target)
		}
		for hint, want := range r.Annotations {
			ok = ok && u.hint(hint) == want
		}
		for _, want := range r.Arguments {
			ok = ok && u.amount.meets(string(want), allow)
		}
		if ok {
			return r.Verdict
		}
	}
	return policy.Allow
}

// one reports whether a pattern matches; none are any.
func one(patterns []string, name string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool {
		ok, _ := path.Match(strings.ReplaceAll(p, "/", "|"), strings.ReplaceAll(name, "/", "|"))
		return ok
	})
}

func (u *use) kind() string {
	switch {
	case u.method == wire.MethodToolsCall:
		return "tools"
	case u.method == wire.MethodPromptsGet, u.method == wire.MethodComplete:
		return "prompts"
	}
	return "resources"
}

func (u *use) hint(name string) bool {
	if u.item != nil && u.item.hints != nil {
		if own, has := u.item.hints[name]; has {
			return own
		}
		if u.item.hints["readOnlyHint"] && name == "destructiveHint" {
			return false
		}
	}
	return name == "destructiveHint"
}

// meets reports whether all readings of a value meet a condition, or one of them.
func (v *value) meets(want string, all bool) bool {
	number := func(f float64) bool {
		return want == `{"type":"number","minimum":100}` && f >= 100 || want == "7" && f == 7 || want == `"1*"` && strings.HasPrefix(fmt.Sprint(f), "1")
	}
	text := want == `"1*"` && strings.HasPrefix(v.text, "1")
	switch v.kind {
	case "number":
		return number(v.number)
	case "text":
		return text
	case "both":
		if all {
			return text && number(v.number)
		}
		return text || number(v.number)
	case "odd":
		return !all
	}
	return false
}

var lawValues = []value{
	{}, {raw: `7`, kind: "number", number: 7}, {raw: `100`, kind: "number", number: 100}, {raw: `7.0`, kind: "number", number: 7}, {raw: `1e2`, kind: "number", number: 100},
	{raw: `"7"`, kind: "both", text: "7", number: 7}, {raw: `"100"`, kind: "both", text: "100", number: 100}, {raw: `"1e2"`, kind: "both", text: "1e2", number: 100}, {raw: `"1x"`, kind: "text", text: "1x"},
	{raw: `7,"amount":100`, kind: "odd"}, {raw: `7,"AMOUNT":7`, kind: "odd"}, {raw: `1e999999`, kind: "odd"},
}

var lawConditions = []string{`{"type":"number","minimum":100}`, `7`, `"1*"`}

// lawItems are those of two servers, which have one name for different things.
var lawItems = map[string]*thing{
	"a_get": {"tools", "a", map[string]bool{"readOnlyHint": true}}, "a_set": {"tools", "a", map[string]bool{}},
	"b_get": {"tools", "b", nil}, "b_set": {"tools", "b", nil},
	"a_ask": {"prompts", "a", nil}, "b_ask": {"prompts", "b", nil},
	"a://x": {"resources", "a", nil}, "b://x/y": {"resources", "b", nil},
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// few returns some of the patterns, and none most of the time.
func few(r *rand.Rand, patterns ...string) []string {
	if r.IntN(4) > 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(patterns), func(string) bool { return r.IntN(2) == 0 })
}

func lawRules(r *rand.Rand) (rules []policy.Rule) {
	for range r.IntN(6) {
		rule := policy.Rule{
			Principals: few(r, "ann", "b*", ""), Clients: few(r, "cli", "*x"), Profiles: few(r, "p", ""), Models: few(r, "m/*", ""), Servers: few(r, "a", "?"),
			Tools: few(r, "a_*", "*_set", "b_get"), Prompts: few(r, "a_ask", "*"), Resources: few(r, "a://*", "b://x/*"), Verdict: pick(r, policy.Allow, policy.Deny, policy.Ask),
		}
		if r.IntN(3) == 0 {
			rule.Annotations = map[string]bool{pick(r, "readOnlyHint", "destructiveHint"): r.IntN(2) == 0}
		}
		if r.IntN(3) == 0 {
			rule.Arguments = map[string]json.RawMessage{"/amount": []byte(pick(r, lawConditions...))}
		}
		rules = append(rules, rule)
	}
	return rules
}

func lawUse(r *rand.Rand) *use {
	u := &use{
		principal: pick(r, "ann", "bob", ""), client: pick(r, "cli", "ox", ""), profile: pick(r, "p", ""), model: pick(r, "m/1", ""),
		method: pick(r, wire.MethodToolsCall, wire.MethodToolsCall, wire.MethodPromptsGet, wire.MethodResourcesRead, wire.MethodSubscribe, wire.MethodUnsubscribe, wire.MethodComplete),
	}
	switch u.kind() {
	case "tools":
		u.target, u.amount = pick(r, "a_get", "a_set", "b_get", "b_set"), pick(r, lawValues...)
	case "prompts":
		u.target = pick(r, "a_ask", "b_ask")
	default:
		u.target = pick(r, "a://x", "b://x/y", "a://other", "a://%78", "A://x", "a://q/../x")
	}
	u.item = lawItems[u.target]
	return u
}

func (u *use) caller() *bridge.Caller {
	return &bridge.Caller{Principal: bridge.Principal{Name: u.principal}, Info: []byte(`{"name":"` + u.client + `"}`), Profile: u.profile}
}

func (u *use) arguments() string {
	if u.amount.kind == "" {
		return "{}"
	}
	return `{"amount":` + u.amount.raw + `}`
}

// ground is the source below a policy, which counts what reaches it.
type ground struct {
	lists [bridge.ListKinds]*bridge.List
	seen  int
}

func newGround() *ground {
	g := &ground{}
	var items [bridge.ListKinds][]bridge.Item
	for name, own := range lawItems {
		kind, raw := bridge.Resources, fmt.Sprintf(`{"uri":%q}`, name)
		switch own.kind {
		case "tools":
			kind = bridge.Tools
			hints, _ := json.Marshal(own.hints)
			raw = fmt.Sprintf(`{"name":%q,"annotations":%s,"inputSchema":{"type":"object","properties":{"amount":{"type":"number"}}}}`, name, hints)
			if own.hints == nil {
				raw = fmt.Sprintf(`{"name":%q,"annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}}`, name)
			}
		case "prompts":
			kind, raw = bridge.Prompts, fmt.Sprintf(`{"name":%q}`, name)
		}
		it, err := bridge.NewItem(kind, []byte(raw))
		if err != nil {
			panic(err) // a fault of the test
		}
		it.Member, it.Untrusted = own.server, own.hints == nil
		items[kind] = append(items[kind], it)
	}
	for kind := range items {
		g.lists[kind] = bridge.NewList(bridge.ListKind(kind), items[kind])
	}
	return g
}

func (g *ground) Open(context.Context, *bridge.Caller) (bridge.Session, error) { return g, nil }
func (g *ground) Close() error                                                 { return nil }
func (g *ground) List(_ context.Context, kind bridge.ListKind) (*bridge.List, error) {
	return g.lists[kind], nil
}
func (g *ground) Do(context.Context, *bridge.Request) bridge.Reply {
	g.seen++
	return bridge.Result([]byte("{}"), nil)
}

// request returns the request for a use, with its method in some spelling.
func (u *use) request(method string) *bridge.Request {
	members := map[string]string{
		wire.MethodToolsCall: `{"name":"` + u.target + `","arguments":` + u.arguments() + `}`, wire.MethodPromptsGet: `{"name":"` + u.target + `"}`,
		wire.MethodComplete: `{"ref":{"type":"ref/prompt","name":"` + u.target + `","Name":"other"}}`,
	}[u.method]
	if members == "" {
		members = `{"uri":"` + u.target + `"}`
	}
	params, err := wire.SplitParams([]byte(members))
	if err != nil {
		panic(err) // a fault of the test
	}
	return &bridge.Request{Method: method, Target: u.target, Params: &params, Model: u.model}
}

// Whatever the rules and the call, the decision is that of the reference, and nothing reaches the source that
// is denied or has not been approved, by any method.
func TestLaw(t *testing.T) {
	decided := map[policy.Verdict]int{}
	for seed := range uint64(1500) {
		r := rand.New(rand.NewPCG(seed, 1))
		rules, below := lawRules(r), newGround()
		p := compile(t, rules...)
		for range 5 {
			u := lawUse(r)
			want := reference(rules, u)
			decided[want]++
			session, err := policy.New(below, policy.Options{Policy: p, Desk: policy.NewDesk(policy.DeskOptions{}), Wait: 1}).Open(t.Context(), u.caller())
			if err != nil {
				t.Fatal(err)
			}
			below.seen = 0
			reply := session.Do(t.Context(), u.request(u.method))
			asks := want == policy.Ask && u.method != wire.MethodSubscribe && u.method != wire.MethodUnsubscribe && u.method != wire.MethodComplete
			if ran := reply.Err == nil; ran == (want == policy.Deny || asks) || ran != (below.seen == 1) {
				all, _ := json.MarshalIndent(rules, "", " ")
				t.Fatalf("seed %d: %s of %s with %s: want %s, got %v, %d requests below: %s", seed, u.method, u.target, u.arguments(), want, reply.Err, below.seen, all)
			}
			below.seen = 0
			for _, method := range []string{strings.ToUpper(u.method), strings.ToUpper(u.method[:1]) + u.method[1:], u.method + " ", "x/" + u.method} {
				session.Do(t.Context(), u.request(method))
			}
			if len(rules) > 0 && below.seen > 0 && slices.ContainsFunc(rules, func(r policy.Rule) bool { return len(r.Principals)+len(r.Clients)+len(r.Profiles) == 0 }) {
				t.Fatalf("seed %d: %s reaches the source in another spelling", seed, u.method)
			}
			session.Close()
		}
	}
	if len(decided) != 3 {
		t.Errorf("decisions: %v", decided)
	}
}
