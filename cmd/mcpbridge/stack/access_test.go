package stack

import (
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A changed profile holds at once, and tells those whose list has changed. What a caller has used of its
// rates stays used.
func TestLiveProfiles(t *testing.T) {
	const servers = `"mcpServers": { "a": { "url": "$a" }, "b": { "url": "$b" } }, "limits": { "rate": "3/d" }`
	l := newLives(t, `{ `+servers+`, "profiles": { "p": { "servers": ["a"] } } }`)
	call := func(want string) {
		t.Helper()
		params, err := wire.SplitParams([]byte(`{"name":"a__echo","arguments":{}}`))
		if err != nil {
			t.Fatal(err)
		}
		reply := l.session.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Target: "a__echo", Params: &params})
		got := ""
		if reply.Err != nil {
			got = reply.Err.Message
		}
		if !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("the call fails with %q, want %q", got, want)
		}
	}
	if got := l.tools(); got != "a" {
		t.Errorf("the client sees %s", got)
	}
	call("")
	for _, c := range []struct {
		profiles, tools string
		changes         int
		call            string
	}{
		{`"p": { "servers": ["a"] }, "q": { "principals": ["eve"], "servers": ["b"] }`, "a", 0, ""},
		{`"p": { "servers": ["a", "b"] }`, "a b", 1, ""},
		{`"p": { "servers": ["a", "b"], "prompts": ["x"] }`, "a b", 1, "too many calls of tool a__echo (*): at most 3 per day; try again in 8 h"},
		{`"p": { "tools": { "exclude": ["a__*"] } }`, "b", 2, "unknown tool: a__echo"},
		{`"p": { "rate": "9/d" }`, "a b", 3, ""},
	} {
		if err := l.reload(`{ ` + servers + `, "profiles": { ` + c.profiles + ` } }`); err != nil {
			t.Fatal(err)
		}
		l.mu.Lock()
		changes := l.changes
		l.mu.Unlock()
		if got := l.tools(); got != c.tools || changes != c.changes {
			t.Errorf("with %s the client sees %s after %d changes, want %s after %d", c.profiles, got, changes, c.tools, c.changes)
		}
		call(c.call)
	}
	if err := l.reload(`{ ` + servers + `, "profiles": { "q": { "principals": ["eve"] } } }`); err != nil {
		t.Fatal(err)
	}
	call("no profile of this bridge is for a caller without a name")
}

// The error about a file that cannot be used names it, as the log says nothing else of it.
func TestQuotaFile(t *testing.T) {
	folder := t.TempDir()
	err := days{NewPool(), folder}.Update(func(text []byte) ([]byte, error) { return text, nil })
	if err == nil || !strings.HasPrefix(err.Error(), folder+": ") {
		t.Error(err)
	}
}
