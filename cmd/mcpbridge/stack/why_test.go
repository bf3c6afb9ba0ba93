package stack

import (
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// Each layer that keeps a tool from a caller is named, with the reason, and a tool that arrives is followed.
func TestWhy(t *testing.T) {
	l := newLives(t, `{
		"mcpServers": {
			"a": {"url": "$a", "exclude": ["fail*"], "rename": {"echo": "say"}},
			"b": {"url": "$b", "include": ["echo"], "prefix": ""},
			"c": {"url": "http://127.0.0.1:1"}},
		"tools": [{"name": "paint", "description": "Paints.", "parameters": {"type": "object"}}],
		"profiles": {
			"few": {"principals": ["ann"], "tools": {"exclude": ["a__say"]}},
			"some": {"principals": ["bob"], "servers": ["b"]},
			"safe": {"principals": ["eve"], "annotations": {"readOnlyHint": true}},
			"all": {}},
		"lending": true}`)
	for _, c := range []struct {
		principal, tool string
		name            string // as the caller sees it
		layer, text     string // of the last step
	}{
		{"ann", "a__say", "", "profile", "profile few: its tools leave out a__say"},
		{"ann", "a__fail", "", "names", `a: "exclude" leaves out fail*`},
		{"ann", "b__fail", "", "names", `b: "include" has only echo`},
		{"ann", "a__eco", "", "server", "did you mean echo?"},
		{"bob", "a__say", "", "profile", "profile some: its servers are b"},
		{"eve", "a__wait", "", "profile", "readOnlyHint is true, and that of this tool is false"},
		{"zoe", "echo", "echo", "client", "listed to this client as echo"},
		{"zoe", "a__say", "a__say", "client", "listed to this client as a__say"},
		{"ann", "c__any", "", "server", "127.0.0.1:1"},
		{"ann", "paint", "", "client functions", "no function of this name"},
	} {
		caller := &bridge.Caller{ID: c.principal, Principal: bridge.Principal{Name: c.principal}}
		r := l.Stack().Why(t.Context(), caller, c.tool)
		if len(r.Ways) == 0 {
			t.Errorf("%s for %s: no way: %+v", c.tool, c.principal, r)
			continue
		}
		way := r.Ways[0]
		if last := way.Steps[len(way.Steps)-1]; last.Layer != c.layer || !strings.Contains(last.Text, c.text) || last.Ends != (c.name == "") || way.Name != c.name {
			t.Errorf("%s for %s: %+v", c.tool, c.principal, r)
		}
	}
	r := l.Stack().Why(t.Context(), &bridge.Caller{Principal: bridge.Principal{Name: "ann"}}, "b__ecco_")
	if len(r.Ways) != 1 || !strings.HasPrefix(r.Away[0], "c: ") {
		t.Errorf("a name that no tool has: %+v", r)
	}
	if r = l.Stack().Why(t.Context(), &bridge.Caller{}, "canceled"); len(r.Ways) != 0 || r.Near != "cancelled" {
		t.Errorf("a name that is near another one: %+v", r)
	}
}
