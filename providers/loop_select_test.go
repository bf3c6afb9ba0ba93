package providers_test

import (
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/providers"
)

// offeredNames returns the names of the tools of a request.
func offeredNames(r providers.Request) string {
	var names []string
	for _, t := range r.Tools.Tools() {
		names = append(names, t.Name)
	}
	return strings.Join(names, " ")
}

// members opens a bridge of two servers, each with two tools.
func members(t *testing.T) *providers.Loop {
	t.Helper()
	var all []bridge.Member
	for _, name := range []string{"git", "docs"} {
		native, err := bridge.NewNative(bridge.NativeOptions{}, function(t, "get", "", nothing), function(t, "put", "", nothing))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { native.Close() })
		all = append(all, bridge.Member{Name: name, Source: native})
	}
	s, err := providers.NewToolbox(bridge.New(bridge.Options{}, all...)).Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// A model is offered what the options, the request's selection and its list of names all have.
func TestSelection(t *testing.T) {
	s := members(t)
	for _, c := range []struct {
		name    string
		globs   []string
		choose  []providers.Selection
		want    string
		wrong   string
		comment string
	}{
		{name: "all", want: "git__get git__put docs__get docs__put"},
		{name: "options", globs: []string{"git__*", "docs__put"}, want: "git__get git__put docs__put"},
		{name: "none", globs: []string{"nothing"}, comment: "no tool matches nothing"},
		{name: "header", choose: []providers.Selection{{Match: []string{"*__get"}}}, want: "git__get docs__get"},
		{name: "both", globs: []string{"git__*"}, choose: []providers.Selection{{Match: []string{"*__get"}}}, want: "git__get"},
		{name: "a server", choose: []providers.Selection{{Member: "docs"}}, want: "docs__get docs__put"},
		{name: "its own names", choose: []providers.Selection{{Member: "docs", Match: []string{"put"}}, {Member: "git", Except: []string{"put"}}}, want: "git__get docs__put"},
		{name: "off", choose: []providers.Selection{{Member: "docs", Match: []string{}}}, want: ""},
		{name: "unknown", choose: []providers.Selection{{Member: "x", From: "tools[0].server_label"}}, wrong: `tools[0].server_label: no tools of a server "x" are available: the servers are docs, git`},
		{name: "unknown tool", choose: []providers.Selection{{Member: "git", Match: []string{"push"}, From: "f"}}, wrong: `f: no tools of a server "git" are available under these names`},
		{name: "unknown name", choose: []providers.Selection{{Match: []string{"x", "y"}, From: "h"}}, wrong: "h: no tool matches x, y"},
		{name: "no glob", choose: []providers.Selection{{Match: []string{"["}, From: "h"}}, wrong: `h: "[": expected a glob of tool names`},
		{name: "no glob in options", globs: []string{"["}, wrong: `tools: "[": expected a glob of tool names`},
	} {
		p := play(says("ok"))
		task := ask(p, "go")
		task.Options.Tools, task.Select = c.globs, c.choose
		_, events, err := run(t, s, task)
		if c.wrong != "" {
			if err == nil || err.Error() != c.wrong {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if got := offeredNames(p.request(0)); got != c.want || !strings.Contains(events, c.comment) {
			t.Errorf("%s: offered %s\n%s", c.name, got, events)
		}
	}
}

// A tool that is not selected cannot be called.
func TestSelectionHolds(t *testing.T) {
	p := play(calls(call("1", "docs__get", `{}`)), says("ok"))
	task := ask(p, "go")
	task.Options.Tools = []string{"git__*"}
	r, _, err := run(t, members(t), task)
	if err != nil || !strings.Contains(show(r.Messages), "unknown tool: docs__get") {
		t.Errorf("%v: %s", err, show(r.Messages))
	}
}
