package policy_test

import (
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
