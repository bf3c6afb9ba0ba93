package policy_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/policy"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

func compile(t testing.TB, rules ...policy.Rule) *policy.Policy {
	t.Helper()
	p, err := policy.Compile(rules)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A policy keeps the contract of a Source: one that looks at everything and forbids nothing, and one that a
// client's user consents to.
func TestContract(t *testing.T) {
	for name, rules := range map[string][]policy.Rule{
		"allow": {
			{Servers: []string{"x"}, Verdict: policy.Deny},
			{Arguments: map[string]json.RawMessage{"/amount": []byte(`{"type":"number","minimum":5}`), "/currency": []byte(`"E*"`)}, Verdict: policy.Deny},
			{Annotations: map[string]bool{"readOnlyHint": true}, Verdict: policy.Allow},
		},
		"none": nil,
	} {
		t.Run(name, func(t *testing.T) {
			sourcetest.Run(t, func(t *testing.T) bridge.Source {
				return policy.New(sourcetest.NewFake(), policy.Options{Policy: compile(t, rules...), Desk: policy.NewDesk(policy.DeskOptions{})})
			})
		})
	}
}

// A user is the person at a client that shows forms.
type user struct {
	answers []string // results of elicitation, the next one first; none means that the user does not answer
	asked   []string // messages
}

func (u *user) Notify(string, []byte) {}

func (u *user) Ask(ctx context.Context, method string, params []byte) ([]byte, *toolformat.Error) {
	message, _ := wire.Text(wire.Lookup(params, "message"))
	u.asked = append(u.asked, message)
	if method != wire.MethodElicit || len(u.answers) == 0 {
		<-ctx.Done()
		return nil, toolformat.Errorf(toolformat.Canceled, "canceled")
	}
	answer := u.answers[0]
	u.answers = u.answers[1:]
	return []byte(answer), nil
}

// A setup is a source behind a policy, and callers of it.
type setup struct {
	*testing.T
	fake   *sourcetest.Fake
	desk   *policy.Desk
	source bridge.Source
}

func newSetup(t *testing.T, rules ...policy.Rule) *setup {
	s := &setup{T: t, fake: sourcetest.NewFake(), desk: policy.NewDesk(policy.DeskOptions{})}
	s.source = policy.New(s.fake, policy.Options{Policy: compile(t, rules...), Desk: s.desk})
	return s
}

func (s *setup) open(principal string, capabilities string) bridge.Session {
	s.Helper()
	session, err := s.source.Open(s.Context(), &bridge.Caller{
		Principal: bridge.Principal{Name: principal}, Info: []byte(`{"name":"test"}`), Capabilities: []byte(capabilities),
	})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { session.Close() })
	return session
}

const formCapable, incapable = `{"elicitation":{}}`, `{}`

func (*setup) call(ctx context.Context, session bridge.Session, tool, arguments string, back bridge.Back) bridge.Reply {
	params, err := wire.SplitParams([]byte(`{"name":"` + tool + `","arguments":` + arguments + `}`))
	if err != nil {
		panic(err) // a fault of the test
	}
	return session.Do(ctx, &bridge.Request{Method: wire.MethodToolsCall, Target: tool, Params: &params, Back: back})
}

// expect checks that a call has run, with want "", or why it has not.
func (s *setup) expect(reply bridge.Reply, want string) {
	s.Helper()
	got := ""
	if reply.Err != nil {
		got = reply.Err.Message
	}
	if want == "" && got != "" || !strings.Contains(got, want) {
		s.Errorf("got %q, want %q", got, want)
	}
}

var asks = policy.Rule{Name: "payments", Tools: []string{"echo"}, Verdict: policy.Ask, Reason: "it costs money", Edit: true}

// The user of the client is asked, once a call, sees the arguments, and may change them.
func TestAskedByTheClient(t *testing.T) {
	s := newSetup(t, asks)
	session := s.open("ann", formCapable)
	u := &user{answers: []string{
		`{"action":"accept","content":{"decision":"allow"}}`,
		`{"action":"accept","content":{"decision":"deny","reason":"too much"}}`,
		`{"action":"decline"}`,
		`{"action":"accept","content":{"decision":"allow","arguments":"{\"amount\":5}"}}`,
		`{"action":"accept","content":{"decision":"allow","arguments":"{\"amount\":"}}`,
		`{"action":"accept","content":{}}`,
	}}
	for _, want := range []string{"", "denied by the user of ann (payments): too much", "denied by the user of ann (payments)", "", "not a JSON object", "denied by"} {
		reply := s.call(t.Context(), session, "echo", `{"amount":100}`, u)
		s.expect(reply, want)
		if len(u.answers) == 2 && !strings.Contains(string(reply.Result), `{"amount":5}`) {
			t.Errorf("changed arguments: %s", reply.Result)
		}
	}
	if n := s.fake.Calls("echo"); n != 2 {
		t.Errorf("%d calls have run, want 2", n)
	}
	if want := "Allow echo with these arguments?\n\n{\n  \"amount\": 100\n}\n\nit costs money"; len(u.asked) != 6 || u.asked[0] != want {
		t.Errorf("asked %d times: %q", len(u.asked), u.asked)
	}
}

// Whoever looks at the desk may decide, in time or later; the same call then finds the decision, once.
func TestDesk(t *testing.T) {
	for name, capabilities := range map[string]string{"a client that cannot be asked": incapable, "a user who does not answer": formCapable} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSetup(t, asks)
				session := s.open("ann", capabilities)
				begin := func(ctx context.Context, arguments string) <-chan bridge.Reply {
					done := make(chan bridge.Reply, 1)
					go func() { done <- s.call(ctx, session, "echo", arguments, &user{}) }()
					synctest.Wait()
					return done
				}
				in := begin(t.Context(), `{"a":1,"b":[2]}`)
				all := s.desk.Approvals()
				if len(all) != 1 || all[0].State != policy.Pending || all[0].Principal != "ann" || all[0].Client != "test" || string(all[0].Arguments) != `{"a":1,"b":[2]}` {
					t.Fatalf("on the desk: %+v", all)
				}
				if _, err := s.desk.Decide(strings.ToLower(all[0].ID), policy.Answer{Approve: true}, "op"); err != nil {
					t.Fatal(err)
				}
				s.expect(<-in, "")

				ctx, cancel := context.WithCancel(t.Context())
				gone := begin(ctx, `{"a":2}`)
				if capabilities == incapable {
					late := <-gone
					s.expect(late, "echo has not run: a person has to approve it")
				} else {
					cancel()
					s.expect(<-gone, "canceled")
				}
				cancel()
				all = s.desk.Approvals()
				if _, err := s.desk.Decide(all[1].ID, policy.Answer{Approve: true}, "op"); err != nil {
					t.Fatal(err)
				}
				if _, err := s.desk.Decide(all[1].ID, policy.Answer{}, "op"); err == nil {
					t.Error("an approval was decided twice")
				}
				other := begin(t.Context(), `{"a":3}`) // other arguments are another question
				again := begin(t.Context(), `{ "a" : 2 }`)
				s.expect(<-again, "")
				twice := begin(t.Context(), `{"a":2}`)
				if n := len(s.desk.Approvals()); n != 4 {
					t.Errorf("%d approvals, want 4: one was used twice, or not shared", n)
				}
				ann, bob := s.open("ann", incapable), s.open("bob", incapable)
				for _, own := range []bridge.Session{ann, bob} {
					go s.call(t.Context(), own, "echo", `{"a":3}`, nil)
					synctest.Wait()
				}
				all = s.desk.Approvals()
				if len(all) != 5 { // ann's is the one of other
					t.Errorf("%d approvals, want 5", len(all))
				}
				for _, a := range all {
					s.desk.Decide(a.ID, policy.Answer{Note: "no"}, "op")
				}
				s.expect(<-other, "denied by op (payments): no")
				s.expect(<-twice, "denied by op (payments): no")
				if n := s.fake.Calls("echo"); n != 2 {
					t.Errorf("%d calls have run, want 2", n)
				}
				time.Sleep(11 * time.Minute)
				if n := len(s.desk.Approvals()); n != 0 {
					t.Errorf("%d approvals are left", n)
				}
			})
		})
	}
}

var deniesNine = policy.Rule{Name: "nine", Arguments: map[string]json.RawMessage{"/a": []byte("9")}, Verdict: policy.Deny, Reason: "never"}

// Arguments that a person has set are vetted: at the desk the question stays open, and a client's user has denied.
func TestVet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup(t)
		s.source = policy.New(s.fake, policy.Options{Policy: compile(t, deniesNine, asks), Desk: s.desk, Vet: func(tool *bridge.Item, arguments []byte) error {
			if tool.Key != "echo" || strings.Contains(string(arguments), "secret") {
				return errors.New("the arguments have a secret")
			}
			return nil
		}})
		reply := make(chan bridge.Reply)
		go func() { reply <- s.call(t.Context(), s.open("ann", incapable), "echo", `{"a":1}`, nil) }()
		synctest.Wait()
		id := s.desk.Approvals()[0].ID
		if _, err := s.desk.Decide(id, policy.Answer{Approve: true, Arguments: []byte(`{"a":"secret"}`)}, "op"); err == nil || err.Error() != "approval "+id+": the arguments have a secret" {
			t.Errorf("the error is %v", err)
		}
		if _, err := s.desk.Decide(id, policy.Answer{Approve: true, Arguments: []byte(`{"a":9}`)}, "op"); err == nil || err.Error() != "approval "+id+": denied by policy (nine): never" {
			t.Errorf("the error is %v", err)
		}
		if _, err := s.desk.Decide(id, policy.Answer{Approve: true, Arguments: []byte(`{"a":2}`)}, "op"); err != nil {
			t.Error(err)
		}
		s.expect(<-reply, "")
		u := &user{answers: []string{`{"action":"accept","content":{"decision":"allow","arguments":"{\"a\":\"secret\"}"}}`}}
		s.expect(s.call(t.Context(), s.open("ann", formCapable), "echo", `{"a":1}`, u), "the arguments have a secret")
		if n := s.fake.Calls("echo"); n != 1 {
			t.Errorf("%d calls have run, want 1", n)
		}
	})
}

// Equal calls that wait share a question: one client is asked, and its no is enough for all.
func TestSharedQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup(t, asks)
		one, two := s.open("ann", formCapable), s.open("ann", formCapable)
		first, second := &slowUser{answer: make(chan string)}, &slowUser{answer: make(chan string)}
		replies := make(chan bridge.Reply, 2)
		go func() { replies <- s.call(t.Context(), one, "echo", `{}`, first) }()
		synctest.Wait()
		go func() { replies <- s.call(t.Context(), two, "echo", `{}`, second) }()
		synctest.Wait()
		first.answer <- `{"action":"decline"}`
		s.expect(<-replies, "denied by the user of ann")
		s.expect(<-replies, "denied by the user of ann")
		if first.asked != 1 || second.asked != 0 || s.fake.Calls("echo") != 0 {
			t.Errorf("asked %d and %d times, %d calls have run", first.asked, second.asked, s.fake.Calls("echo"))
		}

		// Without an answer of the one, the other is asked.
		go func() { replies <- s.call(t.Context(), one, "echo", `{}`, first) }()
		synctest.Wait()
		go func() { replies <- s.call(t.Context(), two, "echo", `{}`, second) }()
		synctest.Wait()
		first.answer <- `{"action":"cancel"}`
		second.answer <- `{"action":"accept","content":{"decision":"allow"}}`
		s.expect(<-replies, "")
		synctest.Wait()
		if all := s.desk.Approvals(); len(all) != 3 || all[2].State != policy.Pending {
			t.Errorf("the call that is left does not wait for a question of its own: %+v", all)
		}
		s.desk.Decide(s.desk.Approvals()[2].ID, policy.Answer{}, "op")
		s.expect(<-replies, "denied by op")
		if first.asked+second.asked != 4 || s.fake.Calls("echo") != 1 { // the last question is that of the call that is left, of either
			t.Errorf("asked %d and %d times, %d calls have run", first.asked, second.asked, s.fake.Calls("echo"))
		}
	})
}

// slowUser is a person who thinks about each question.
type slowUser struct {
	answer chan string
	asked  int
}

func (*slowUser) Notify(string, []byte) {}

func (u *slowUser) Ask(ctx context.Context, _ string, _ []byte) ([]byte, *toolformat.Error) {
	u.asked++
	select {
	case answer := <-u.answer:
		return []byte(answer), nil
	case <-ctx.Done():
		return nil, toolformat.Errorf(toolformat.Canceled, "canceled")
	}
}

// An approval that nobody decides about ends.
func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup(t, asks)
		begun := time.Now()
		s.expect(s.call(t.Context(), s.open("ann", formCapable), "echo", `{}`, &user{}), "who has not decided in time: make the call again")
		if took := time.Since(begun); took != 10*time.Minute {
			t.Errorf("it took %s", took)
		}
	})
}

// One principal cannot fill the desk.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup(t, asks)
		ann, bob := s.open("ann", incapable), s.open("bob", incapable)
		for i := range 100 {
			go s.call(t.Context(), ann, "echo", `{"n":`+strings.Repeat("1", i+1)+`}`, nil)
		}
		synctest.Wait()
		s.expect(s.call(t.Context(), ann, "echo", `{}`, nil), "too many calls wait")
		go s.call(t.Context(), bob, "echo", `{}`, nil)
		synctest.Wait()
		if n := len(s.desk.Approvals()); n != 101 {
			t.Errorf("%d approvals", n)
		}
	})
}

func TestStop(t *testing.T) {
	s := newSetup(t)
	session := s.open("ann", incapable)
	s.expect(s.call(t.Context(), session, "echo", `{}`, nil), "")
	s.desk.Stop("here", "an incident")
	s.expect(s.call(t.Context(), session, "echo", `{}`, nil), "denied by policy: all calls are stopped: an incident")
	s.desk.Stop("there", "another")
	s.desk.Resume("here")
	s.expect(s.call(t.Context(), session, "echo", `{}`, nil), "denied by policy: all calls are stopped: another")
	s.desk.Hold("another", "not known yet")
	s.expect(s.call(t.Context(), session, "echo", `{}`, nil), "denied by policy: all calls are stopped: another")
	if s.desk.Held() {
		t.Error("held, although all calls are stopped")
	}
	s.desk.Resume("there")
	reply := s.call(t.Context(), session, "echo", `{}`, nil)
	s.expect(reply, "not known yet")
	if e := reply.Err; e.Code != toolformat.Unavailable || !e.NotRun || e.After == 0 || !s.desk.Held() {
		t.Errorf("held %t: %+v", s.desk.Held(), e)
	}
	s.desk.Resume("another")
	s.expect(s.call(t.Context(), session, "echo", `{}`, nil), "")
}

// What waits for approval when all calls are stopped is denied, and what runs goes on.
func TestStopMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup(t, asks)
		session, replies := s.open("ann", incapable), make(chan bridge.Reply)
		go func() { replies <- s.call(t.Context(), session, "echo", `{}`, nil) }()
		ctx, cancel := context.WithCancel(t.Context())
		go func() { replies <- s.call(ctx, session, "wait", `{}`, nil) }()
		synctest.Wait()
		if denied, running := s.desk.Stop("here", "an incident"); denied != 1 || running != 1 {
			t.Errorf("%d denied, %d running", denied, running)
		}
		s.expect(<-replies, "denied by the operator (payments): all calls are stopped: an incident")
		cancel()
		s.expect(<-replies, "canceled")
		if denied, running := s.desk.Stop("here", "an incident"); denied+running != 0 {
			t.Errorf("%d denied, %d running afterwards", denied, running)
		}
		s.desk.Resume("here")
		a := s.desk.Approvals()[0]
		if _, err := s.desk.Decide(a.ID, policy.Answer{Approve: true}, "op"); err == nil || s.fake.Calls("echo") != 0 {
			t.Errorf("what was denied is approved: %v; %d calls have run", err, s.fake.Calls("echo"))
		}
	})
}

// What a condition sees cannot be told apart by servers that read arguments differently.
func TestArguments(t *testing.T) {
	raw := func(s string) map[string]json.RawMessage { return map[string]json.RawMessage{"/amount": []byte(s)} }
	deny := policy.Rule{Arguments: raw(`{"type":"number","minimum":100}`), Verdict: policy.Deny}
	small := policy.Rule{Arguments: raw(`{"type":"number","maximum":99}`), Verdict: policy.Allow}
	rest := policy.Rule{Verdict: policy.Deny}
	for _, c := range []struct {
		arguments   string
		deny, allow bool // what the rules say of it: denied by deny, allowed by small
	}{
		{`{"amount":100}`, true, false},
		{`{"amount":1e2}`, true, false},
		{`{"amount":1e9999999}`, true, false}, // which compares with nothing
		{`{"amount":"100"}`, true, false},
		{`{"amount":" 100 "}`, true, false},
		{`{"amount":"\"100\""}`, true, false},
		{`{"amount":99}`, false, true},
		{`{"amount":1,"amount":100}`, true, false},
		{`{"amount":100,"amount":1}`, true, false},
		{`{"Amount":100}`, true, false},
		{`{"amount":1,"AMOUNT":100}`, true, false},
		{`{"amoun\u0074":100}`, true, false},
		{`{"other":1}`, false, false},
		{`"{\"amount\":100}"`, true, false},
		{`"{\"amount\":1}"`, true, false},
		{`[100]`, true, false},
		{`{}`, false, false},
	} {
		if got := newSetup(t, deny).call2(t, c.arguments); got == c.deny {
			t.Errorf("%s: runs %t behind deny", c.arguments, got)
		}
		if got := newSetup(t, small, rest).call2(t, c.arguments); got != c.allow {
			t.Errorf("%s: runs %t behind allow", c.arguments, got)
		}
	}
}

func (s *setup) call2(t *testing.T, arguments string) bool {
	reply := s.call(t.Context(), s.open("", incapable), "spaced", arguments, nil)
	return reply.Err == nil
}

// What clients lend is of the server "lent tools", and of no other.
func TestLent(t *testing.T) {
	p := compile(t, policy.Rule{Servers: []string{"lent tools"}, Verdict: policy.Deny})
	for server, it := range map[string]bridge.Item{"lent": {Key: "x", Function: "x"}, "other": {Key: "x", Member: "other", Function: "x"}, "native": {Key: "x"}} {
		ruling := p.Decide(&policy.Call{Caller: &bridge.Caller{}, Kind: bridge.Tools, Target: "x", Item: &it})
		if (ruling.Verdict == policy.Deny) != (server == "lent") {
			t.Errorf("a tool of %s: %s", server, ruling.Verdict)
		}
	}
}

func TestCompile(t *testing.T) {
	_, err := policy.Compile([]policy.Rule{
		{Tools: []string{"["}, Verdict: policy.Deny},
		{Verdict: "maybe"},
		{Name: "third", Verdict: policy.Deny, Arguments: map[string]json.RawMessage{"amount": []byte("1")}},
		{Name: "fourth", Verdict: policy.Deny, Arguments: map[string]json.RawMessage{"/a": []byte(`{"type":"nothing"}`)}},
		{Name: "fifth", Verdict: policy.Deny, Arguments: map[string]json.RawMessage{"/a": []byte(`{"$ref":"http://127.0.0.1/x"}`)}},
		{Name: "sixth", Verdict: policy.Deny, Arguments: map[string]json.RawMessage{"/a": []byte(`{"maximum":5}`)}},
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`rule 1: "[" is not a pattern`, `rule 2: unknown verdict "maybe"`, `third: arguments: "amount": expected a JSON Pointer`, `fourth: arguments: "/a":`, "fifth: arguments", `sixth: arguments: "/a": "maximum" is met by whatever is not a number`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %q", want, err)
		}
	}
}

// What a text may be taken for decides whether other readings of arguments are looked at.
func TestMayBeJSON(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, " {}": true, "[1": true, `"a"`: true, "12": true, "-1.5e3": true, " 7 ": true, "TRUE": true, "null": true, "\ufeff1": true,
		"hello": false, "2026-11-27": true, "2026-11-27T": false, "12 apples": false, "/etc/passwd": false, "trueish": false, "n/a": false,
	} {
		if got := policy.MayBeJSON(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// A policy says what the source says of a tool whose server is away, and denies what it does by name.
func TestAway(t *testing.T) {
	wrap := func(rules ...policy.Rule) func(bridge.Source) bridge.Source {
		return func(source bridge.Source) bridge.Source {
			return policy.New(source, policy.Options{Policy: compile(t, rules...), Desk: policy.NewDesk(policy.DeskOptions{}), Wait: 1})
		}
	}
	for name, rules := range map[string][]policy.Rule{
		"others":      {{Tools: []string{"*gated"}, Verdict: policy.Ask}, {Servers: []string{"up"}, Tools: []string{"*__echo"}, Verdict: policy.Deny}},
		"annotations": {{Annotations: map[string]bool{"readOnlyHint": true}, Verdict: policy.Allow}, {Verdict: policy.Deny}},
		"asked":       {{Verdict: policy.Ask}},
		"arguments":   {{Arguments: map[string]json.RawMessage{"/n": []byte("1")}, Verdict: policy.Deny}},
	} {
		t.Run(name, func(t *testing.T) { sourcetest.RunAway(t, wrap(rules...)) })
	}
	lost := bridge.Wrap(sourcetest.NewFake(), func(below bridge.Session, _ *bridge.Caller) (bridge.Session, error) { return &away{below}, nil })
	source := bridge.New(bridge.Options{}, bridge.Member{Name: "up", Source: sourcetest.NewFake()}, bridge.Member{Name: "lost", Source: lost})
	for _, rule := range []policy.Rule{{Name: "r", Tools: []string{"lost__*"}, Verdict: policy.Deny}, {Name: "r", Servers: []string{"lost"}, Verdict: policy.Deny}} {
		s := &setup{T: t, source: wrap(rule)(source)}
		reply := s.call(t.Context(), s.open("ann", incapable), "lost__echo", "{}", nil)
		if s.expect(reply, "denied by policy (r)"); reply.Err == nil || reply.Err.Code != toolformat.Denied || reply.Member != "lost" || !reply.Withheld {
			t.Errorf("%+v", reply)
		}
	}
}

// away is a server that has been up.
type away struct{ bridge.Session }

func (s *away) List(ctx context.Context, kind bridge.ListKind) (*bridge.List, error) {
	l, _ := s.Session.List(ctx, kind)
	return l, toolformat.Errorf(toolformat.Unavailable, "gone")
}
