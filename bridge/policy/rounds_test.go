package policy_test

import (
	"context"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/policy"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// inquiring is a server of the modern era whose calls ask the client for input before they run.
type inquiring struct{ bridge.Session }

func (s inquiring) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	if req.Method != wire.MethodToolsCall || req.Params.Get(wire.InputResponses) != nil {
		return s.Session.Do(ctx, req)
	}
	reply := bridge.Result([]byte(`{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{}}},"requestState":"one/two"}`), nil)
	reply.Modern = true
	return reply
}

// A call that was approved goes on with the input that its server has asked for, as it was approved, once. What only
// looks like its retry is a call of its own.
func TestApprovedCallGoesOn(t *testing.T) {
	const allow, deny = `{"action":"accept","content":{"decision":"allow","arguments":"{\"amount\":5}"}}`, `{"action":"decline"}`
	s := &setup{T: t, fake: sourcetest.NewFake(), desk: policy.NewDesk(policy.DeskOptions{})}
	source := bridge.Wrap(s.fake, func(below bridge.Session, _ *bridge.Caller) (bridge.Session, error) { return inquiring{below}, nil })
	s.source = policy.New(source, policy.Options{Policy: compile(t, asks), Desk: s.desk})
	u := &user{}
	session := s.open("ann", formCapable)
	first := func() {
		t.Helper()
		u.answers = []string{allow}
		if reply := s.call(t.Context(), session, "echo", `{"amount":100}`, u); reply.Err != nil || strings.Contains(string(reply.Result), `"content"`) {
			t.Fatalf("%s, %v", reply.Result, reply.Err)
		}
	}
	const retry = `,"requestState":"one\/two","inputResponses":{"a":{"action":"accept"}}`
	first()
	reply := s.call(t.Context(), session, "echo", `{ "amount":100}`+retry, u)
	if s.expect(reply, ""); !strings.Contains(string(reply.Result), `{"amount":5}`) || !strings.Contains(string(reply.Result), "has changed") || reply.Decision.By != "the user of ann" {
		t.Errorf("%s, %+v", reply.Result, reply.Decision)
	}
	for _, arguments := range []string{
		`{"amount":100}` + retry,
		`{"amount":101}` + retry,
		`{"amount":100},"requestState":"two","inputResponses":{}`,
		`{"amount":100},"inputResponses":{}`,
	} {
		u.answers = []string{deny}
		if reply := s.call(t.Context(), session, "echo", arguments, u); reply.Err == nil || len(u.answers) > 0 {
			t.Errorf("%s: %s, unasked", arguments, reply.Result)
		}
		first()
	}
	u.answers = []string{deny}
	s.expect(s.call(t.Context(), s.open("bob", formCapable), "echo", `{"amount":100}`+retry, u), "denied by the user of bob")
	if n := s.fake.Calls("echo"); n != 1 {
		t.Errorf("%d calls have run, want 1", n)
	}
}
