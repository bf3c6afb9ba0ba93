package policy_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/policy"
)

// A condition takes 1 and 1.0 for the same number, as JSON Schema does. A pattern is about texts: to allow, it must
// match the number as it came and without a fraction of zeros; to deny, one of these.
func TestNumbersInConditions(t *testing.T) {
	for _, c := range []struct {
		want, value string
		deny, allow bool // what the value's condition decides
	}{
		{`1`, `1`, true, true}, {`1`, `1.0`, true, true}, {`1`, `10e-1`, true, true}, {`1.0`, `1`, true, true},
		{`{"enum":[0,1]}`, `1.00`, true, true}, {`{"enum":[0,1]}`, `-0.0`, true, true}, {`{"const":{"a":[1]}}`, `{"a":[1.0]}`, true, true},
		{`{"type":"integer"}`, `1.0`, true, true}, {`{"type":"integer"}`, `1.5`, false, false}, {`1`, `1.00000000000000000001`, false, false},
		{`[1]`, `[1.0]`, true, true}, {`9007199254740993`, `9007199254740993.0`, true, true}, {`9007199254740993`, `9007199254740992`, false, false},
		{`"1"`, `1`, true, true}, {`"1"`, `1.0`, true, false}, {`"1.0"`, `1`, false, false}, {`"1*"`, `1.0`, true, true},
	} {
		for verdict, want := range map[policy.Verdict]bool{policy.Deny: c.deny, policy.Allow: c.allow} {
			p := compile(t, policy.Rule{Arguments: map[string]json.RawMessage{"/n": []byte(c.want)}, Verdict: verdict})
			call := policy.Call{Caller: &bridge.Caller{}, Kind: bridge.Tools, Target: "x", Arguments: []byte(`{"n":` + c.value + `}`)}
			if got := p.Decide(&call).Rule != ""; got != want {
				t.Errorf("%s %s of %s: %t, want %t", verdict, c.want, c.value, got, want)
			}
		}
	}
}

// A yes is for the arguments that were shown: servers may read 1 and 1.0 differently.
func TestNumbersInApprovals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup(t, asks)
		session := s.open("ann", incapable)
		for _, arguments := range []string{`{"n":1}`, `{"n":1.0}`, ` { "n" : 1 } `} {
			go s.call(t.Context(), session, "echo", arguments, nil)
		}
		synctest.Wait()
		if n := len(s.desk.Approvals()); n != 2 {
			t.Errorf("%d questions, want 2", n)
		}
		for _, a := range s.desk.Approvals() {
			s.desk.Decide(a.ID, policy.Answer{}, "op")
		}
	})
}
