package bridge_test

import (
	"context"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// members opens a session of a source for a caller that may use some members.
func members(t *testing.T, source bridge.Source, names string) bridge.Session {
	t.Helper()
	s, err := source.Open(t.Context(), &bridge.Caller{ID: names, Members: func(name string) bool { return strings.Contains(names, name) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func called(t *testing.T, s bridge.Session, tool string) bridge.Reply {
	t.Helper()
	params, err := wire.SplitParams([]byte(`{"name":"` + tool + `","arguments":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	return s.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Target: tool, Params: &params})
}

// A member that a caller may not use is not opened, and answers like one that does not exist.
func TestMembers(t *testing.T) {
	a, b := sourcetest.NewFake(), sourcetest.NewFake()
	source := bridge.New(bridge.Options{}, bridge.Member{Name: "a", Source: a}, bridge.Member{Name: "b", Source: b, Required: true})
	s, all := members(t, source, "a"), members(t, source, "ab")
	if b.Sessions() != 1 || a.Sessions() != 2 {
		t.Errorf("a has %d sessions and b %d, want 2 and 1", a.Sessions(), b.Sessions())
	}
	for _, c := range []struct {
		session bridge.Session
		want    int
	}{{s, 10}, {all, 20}, {members(t, source, "none"), 0}} {
		l, err := c.session.List(t.Context(), bridge.Tools)
		if err != nil || len(l.Items) != c.want {
			t.Errorf("%d tools, want %d (%v)", len(l.Items), c.want, err)
		}
	}
	first, _ := s.List(t.Context(), bridge.Tools)
	second, _ := members(t, source, "a").List(t.Context(), bridge.Tools)
	if first != second {
		t.Error("callers that may use the same members have lists of their own")
	}
	for tool, want := range map[string]string{
		"a__echo": "", "b__echo": "unknown tool: b__echo (did you mean a__echo?)", "c__echo": "unknown tool: c__echo (did you mean a__echo?)",
	} {
		if r := called(t, s, tool); (r.Err == nil) != (want == "") || r.Err != nil && (r.Err.Message != want || r.Err.Code != toolformat.NotFound) {
			t.Errorf("%s: %v, want %s", tool, r.Err, want)
		}
	}
	if reply := s.Do(t.Context(), &bridge.Request{Method: wire.MethodDiscover}); strings.Contains(string(reply.Result), "## b") || reply.Err != nil {
		t.Errorf("server/discover: %s, %v", reply.Result, reply.Err)
	}
}

// An only member that a caller may not use is away as well. To one who may use it, but not see all of it,
// unlisted names are unknown.
func TestMembersOfOne(t *testing.T) {
	source := bridge.New(bridge.Options{}, bridge.Member{Name: "a", Source: sourcetest.NewFake()})
	none := members(t, source, "none")
	if l, err := none.List(t.Context(), bridge.Tools); err != nil || len(l.Items) > 0 {
		t.Errorf("the list is %v, %v", l, err)
	}
	for _, req := range []*bridge.Request{
		{Method: wire.MethodDiscover}, {Method: wire.MethodSetLevel}, {Method: wire.MethodTasksList},
	} {
		if reply := none.Do(t.Context(), req); reply.Err != nil || strings.Contains(string(reply.Result), "fake") {
			t.Errorf("%s: %s, %v", req.Method, reply.Result, reply.Err)
		}
	}
	id, _ := wire.SplitParams([]byte(`{"taskId":"1"}`))
	for want, req := range map[string]*bridge.Request{
		"unknown resource: x:y":     {Method: wire.MethodResourcesRead, Target: "x:y"},
		"unknown task: 1":           {Method: wire.MethodTasksCancel, Params: &id},
		"method not found: x/y":     {Method: "x/y"},
		"unknown prompt: a":         {Method: wire.MethodPromptsGet, Target: "a"},
		"unknown tool: no-such-one": {Method: wire.MethodToolsCall, Target: "no-such-one"},
	} {
		if reply := none.Do(context.Background(), req); reply.Err == nil || reply.Err.Message != want {
			t.Errorf("%s: %v, want %s", req.Method, reply.Err, want)
		}
	}
	if r := called(t, members(t, source, "a"), "ecko"); r.Err == nil || r.Err.Message != "unknown tool: ecko (did you mean echo?)" {
		t.Errorf("an unlisted name: %v", r.Err)
	}
}
