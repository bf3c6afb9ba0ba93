package policy_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/policy"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A person may still change the arguments of a call that has ended, whose request has been put to other use.
func TestVetAfterTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup(t, deniesNine, asks)
		raw := []byte(`{"name":"echo","arguments":{"a":1}}`)
		params, err := wire.SplitParams(raw)
		if err != nil {
			t.Fatal(err)
		}
		session := s.open("ann", incapable)
		s.expect(session.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Target: "echo", Params: &params}), "has not run")
		copy(raw, strings.Repeat("]", len(raw)))
		id := s.desk.Approvals()[0].ID
		if _, err := s.desk.Decide(id, policy.Answer{Approve: true, Arguments: []byte(`{"a":9}`)}, "op"); err == nil || err.Error() != "approval "+id+": denied by policy (nine): never" {
			t.Errorf("the error is %v", err)
		}
		if _, err := s.desk.Decide(id, policy.Answer{Approve: true, Arguments: []byte(`{"a":2}`)}, "op"); err != nil {
			t.Error(err)
		}
		s.expect(s.call(t.Context(), session, "echo", `{"a":1}`, nil), "")
	})
}

// Of an approval that has ended no long arguments are kept, and of one principal not too many that wait.
func TestLongArguments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup(t, asks)
		ann, bob, long := s.open("ann", incapable), s.open("bob", incapable), `{"a":"`+strings.Repeat("a", 5<<10)+`"}`
		for i, answer := range []policy.Answer{{Approve: true}, {}, {Approve: true, Arguments: []byte(long)}} {
			reply := make(chan bridge.Reply)
			go func() { reply <- s.call(t.Context(), ann, "echo", long, nil) }()
			synctest.Wait()
			a := s.desk.Approvals()[i]
			if string(a.Arguments) != long {
				t.Errorf("%d bytes of arguments", len(a.Arguments))
			}
			if _, err := s.desk.Decide(a.ID, answer, "op"); err != nil {
				t.Fatal(err)
			}
			if got := <-reply; (got.Err == nil) != answer.Approve || answer.Arguments != nil && !strings.Contains(string(got.Result), "has changed: ") {
				t.Errorf("%v: %.100s", got.Err, got.Result)
			}
			if a := s.desk.Approvals()[i]; a.Arguments != nil || a.Changed != nil {
				t.Errorf("%s: %d and %d bytes of arguments are kept", a.State, len(a.Arguments), len(a.Changed))
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		go s.call(ctx, ann, "echo", `{"a":"`+strings.Repeat("a", policy.MaxEach)+`"}`, nil)
		synctest.Wait()
		cancel()
		s.expect(s.call(t.Context(), ann, "echo", `{}`, nil), "too many calls wait")
		s.expect(s.call(t.Context(), bob, "echo", `{}`, nil), "has not run")
	})
}

// What is asked about may be decided elsewhere at the same time.
func TestDecidedMeanwhile(t *testing.T) {
	for range 10 {
		s := newSetup(t, asks)
		s.desk.Configure(policy.DeskOptions{Here: func(ctx context.Context, _ policy.Approval) (policy.Answer, bool) {
			<-ctx.Done()
			return policy.Answer{}, false
		}})
		session, reply := s.open("ann", incapable), make(chan bridge.Reply)
		go func() { reply <- s.call(t.Context(), session, "echo", `{}`, nil) }()
		for len(s.desk.Approvals()) == 0 {
			runtime.Gosched()
		}
		if _, err := s.desk.Decide(s.desk.Approvals()[0].ID, policy.Answer{Approve: true}, "op"); err != nil {
			t.Error(err)
		}
		s.expect(<-reply, "")
	}
}

// The form of a client shows what would be hidden, or put into another order.
func TestVisibleQuestion(t *testing.T) {
	s := newSetup(t, asks)
	u := &user{answers: []string{`{"action":"decline"}`}}
	s.expect(s.call(t.Context(), s.open("ann", formCapable), "echo", `{"to":"b`+"\u202eob\u200b"+`"}`, u), "denied by the user of ann")
	if want := "Allow echo with these arguments?\n\n{\n  \"to\": \"b\\u202eob\\u200b\"\n}\n\nit costs money"; len(u.asked) != 1 || u.asked[0] != want {
		t.Errorf("asked: %q", u.asked)
	}
}
