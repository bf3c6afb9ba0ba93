package stack

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/observe"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// What loop.approve and the rules for everybody say about the calls of models.
func TestLoopPolicy(t *testing.T) {
	const reads, deletes, hollow, distrusted = "github__read", "github__delete", "odd/name", "far__read"
	items := map[string]bridge.Item{
		reads:      {Key: reads, Raw: []byte(`{"annotations":{"readOnlyHint":true}}`)},
		deletes:    {Key: deletes, Raw: []byte(`{"annotations":{"readOnlyHint":false,"destructiveHint":true}}`)},
		hollow:     {Key: hollow, Raw: []byte(`{}`)},
		distrusted: {Key: distrusted, Untrusted: true, Raw: []byte(`{"annotations":{"readOnlyHint":true,"destructiveHint":false}}`)},
	}
	for _, c := range []struct {
		approve, rules string
		chat           bool
		want           string // of the tools in the order above
	}{
		{``, ``, false, "allow allow allow allow"},
		{``, ``, true, "allow ask ask ask"},
		{`"*": "deny"`, ``, false, "deny deny deny deny"},
		{`"*": "allow"`, ``, true, "allow allow allow allow"},
		{`"github__*": "deny"`, ``, false, "deny deny allow allow"},
		{`"odd*": "deny"`, ``, true, "allow ask deny ask"},
		{`"odd/n?me": "deny"`, ``, false, "allow allow deny allow"},
		{`"*": "allow", "github__delete": "ask", "github__*": "deny"`, ``, false, "deny ask allow allow"},
		{`"@readOnlyHint": "allow", "*": "deny"`, ``, false, "allow deny deny deny"},
		{`"@!readOnlyHint": "deny"`, ``, false, "allow deny deny deny"},
		{`"@!destructiveHint": "allow", "*": "ask"`, ``, false, "allow ask ask ask"},
		{``, `{"tools": ["github__*"], "decision": "ask"}`, false, "below below allow allow"},
		{`"*": "allow"`, `{"tools": ["github__*"], "decision": "ask"}`, true, "below below allow allow"},
		{`"*": "ask"`, `{"models": ["p/m"], "decision": "ask", "edit": true, "reason": "look"}`, false, "ask edit: look"},
		{`"*": "deny"`, `{"decision": "ask"}`, false, "deny deny deny deny"},
		{`"*": "allow"`, `{"decision": "deny"}`, false, "allow allow allow allow"}, // the source denies
		{`"*": "ask"`, `{"models": ["other"], "decision": "ask"}`, false, "ask ask ask ask"},
		{``, `{"arguments": {"/n": 1}, "decision": "ask"}`, false, "below below below below"},
		{``, `{"arguments": {"/n": 2}, "decision": "ask"}`, false, "allow allow allow allow"},
		{``, `{"profiles": ["few"], "decision": "ask"}`, false, "below below below below"},
	} {
		cfg, err := config.Loader{}.Parse("", fmt.Appendf(nil, `{"loop": {"approve": {%s}}, "policy": {"rules": [%s]}, "profiles": {"few": {}}}`, c.approve, c.rules))
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(cfg, Options{})
		if err != nil {
			t.Fatal(err)
		}
		decide := s.LoopOptions(cfg.Loop, c.chat).Policy
		var got []string
		for _, name := range []string{reads, deletes, hollow, distrusted} {
			r := providers.Ruling{Verdict: providers.VerdictAllow}
			if decide != nil {
				it := items[name]
				r = decide(&providers.Question{
					Call: &providers.Call{Name: name, Arguments: []byte(`{"n":1}`)}, Tool: &toolformat.Tool{Name: name}, Item: &it, Caller: &bridge.Caller{}, Model: "p/m",
				})
			}
			switch word := string(r.Verdict); {
			case r.Below && r.Fixed && r.Once:
				got = append(got, "below")
			case r.Once:
				got = append(got, fmt.Sprintf("%s edit: %s", word, r.Reason))
			default:
				got = append(got, word)
			}
		}
		if have := strings.Join(got, " "); have != c.want && (!strings.Contains(c.want, "edit") || got[0] != c.want) {
			t.Errorf("approve {%s}, rules %s: %s, want %s", c.approve, c.rules, have, c.want)
		}
		s.Close()
	}
}

// A call that a model loop does not make is on record, and is none of its server's.
func TestDeniedByLoop(t *testing.T) {
	cfg, err := config.Loader{}.Parse("", []byte(`{"loop": {"approve": {"*": "deny"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(cfg, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var lines []string
	reader := s.Calls().Read(observe.Reading{Arguments: true}, func(calls []observe.Call) {
		for i := range calls {
			lines = append(lines, string(calls[i].AppendJSON(nil)))
		}
	})
	counts := observe.NewCounts(s.Calls())
	defer counts.Close()
	q := &providers.Question{
		Call: &providers.Call{Name: "bank__pay", Arguments: []byte(`{"n":1}`)}, Item: &bridge.Item{Key: "bank__pay", Member: "bank"},
		Caller: &bridge.Caller{ID: "x", Principal: bridge.Principal{Name: "ann"}}, Model: "p/m", Ruling: providers.Ruling{Rule: "loop.approve *"},
	}
	s.LoopOptions(cfg.Loop, false).Denied(q, "", "denied: no")
	q.Call.Arguments = []byte(`{`)
	s.LoopOptions(cfg.Loop, false).Denied(q, "the user", "denied: no")
	reader.Close()
	const all = `"principal":"ann","model":"p/m","method":"tools/call","target":"bank__pay","server":"bank",`
	const end = `"outcome":"denied","reason":"denied: no","decision":"deny","rule":"loop.approve *"`
	if len(lines) != 2 || !strings.Contains(lines[0], all) || !strings.Contains(lines[0], end+`,"arguments":{"n":1}}`) || !strings.Contains(lines[1], end+`,"by":"the user"}`) {
		t.Errorf("the record is %q", lines)
	}
	if now := counts.Snapshot(); now.All.Failed != 2 || len(now.Servers) != 0 || now.All.Callers != 0 {
		t.Errorf("counted: %+v", now)
	}
}
