package providers_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

func TestRun(t *testing.T) {
	s := session(t, adder(t))
	p := play(
		calls(txt("I add."), call("c1", "add", `{"a":1,"b":2}`), call("c2", "add", `{"a":3,"b":4}`)),
		says("3 and 7"),
	)
	task := ask(p, "add these")
	task.Request.System, task.Request.Choice = "be brief", providers.ChoiceRequired
	task.Options.Serial = []string{"*"} // so that the order of the events is fixed
	r, events, err := run(t, s, task)
	if err != nil || r.Stop != providers.StopEnd || r.Text != "3 and 7" || r.Turns != 2 || r.Rounds != 1 || r.Calls != 2 || r.Usage.Input != 20 {
		t.Errorf("%+v, %v", r, err)
	}
	same(t, "events", events, `
		turn_start
		text_delta I add.
		tool_call c1 add {"a":1,"b":2}
		tool_call c2 add {"a":3,"b":4}
		tool_start c1
		tool_result c1 3
		tool_start c2
		tool_result c2 7
		usage 10+5
		turn_start
		text_delta 3 and 7
		usage 10+5
		done end: 3 and 7 (2 turns, 20+10)`)
	same(t, "messages", show(r.Messages), `
		user: add these
		assistant: I add. [c1 add {"a":1,"b":2}] [c2 add {"a":3,"b":4}]
		tool: [c1 3] [c2 7]
		assistant: 3 and 7`)
	if first, second := p.request(0), p.request(1); first.Choice != providers.ChoiceRequired || second.Choice != providers.ChoiceAuto ||
		first.System != "be brief" || first.Tools.Len() != 1 || first.Tools != second.Tools {
		t.Errorf("requests %+v\n%+v", first, second)
	}
	if n := len(r.Messages) - r.Begin; n != 3 {
		t.Errorf("%d new messages", n)
	}
}

// A source is told which model calls it.
func TestModelOfCall(t *testing.T) {
	var got string
	s := session(t, function(t, "who", "", func(ctx context.Context) (string, error) {
		req, _ := bridge.RequestOf(ctx)
		got = req.Model
		return "", nil
	}))
	task := ask(play(calls(call("c", "who", "{}")), says("done")), "go")
	task.Request.Model = "model-1"
	if _, _, err := run(t, s, task); err != nil || got != "script/model-1" {
		t.Errorf("%q, %v", got, err)
	}
}

// A call that fails has one result, a text for the model.
func TestFailingCalls(t *testing.T) {
	var log bytes.Buffer
	tools := []bridge.Tool{
		adder(t),
		function(t, "github__create_issue", "", func(context.Context) (string, error) { return "made", nil }),
		function(t, "fail", "", func(context.Context) (string, error) { return "", errors.New("disk full") }),
		function(t, "panic", "", func(context.Context) (string, error) { panic("secret") }),
		function(t, "denied", "", func(context.Context) (string, error) { return "", toolformat.Errorf(toolformat.Denied, "not for you") }),
		function(t, "away", "", func(context.Context) (string, error) {
			return "", toolformat.Errorf(toolformat.Unavailable, "its server is away")
		}),
		function(t, "ours", "", func(context.Context) (string, error) {
			return "", toolformat.Errorf(toolformat.Internal, "internal error").Because(errors.New("the password is hunter2"))
		}),
		function(t, "remote", "", func(context.Context) (string, error) {
			return "", &toolformat.Error{Raw: []byte(`{"code":-32050,"message":"quota \u003cused up\u003e","data":1}`)}
		}),
		function(t, "long_failure", "", func(context.Context) (string, error) {
			return "", toolformat.Errorf(toolformat.Unavailable, "%s", strings.Repeat("é", 10_050))
		}),
		function(t, "long", "", func(context.Context) (string, error) { return strings.Repeat("é", 10_050), nil }),
	}
	for _, c := range []struct{ name, arguments, want string }{
		{"add", `{"a":1,"b":"2"}`, "3"}, // converted
		{"add", `{"a":1}`, "Error: invalid arguments for tool add: missing required property \"b\""},
		{"add", `{"a":1,"b":[]}`, "Error: invalid arguments for tool add: /b: expected integer, got array []"},
		{"add", `"{\"a\":1,"`, "Error: invalid arguments for tool add: "},
		{"add", ``, "Error: invalid arguments for tool add:"},
		{"remot", `{}`, "Error: unknown tool: remot (did you mean remote?); the tools are: add, github__create_issue, fail, panic, denied, away, ours, remote, long_failure, long"},
		{"create_issue", `{}`, "Error: unknown tool: create_issue (did you mean github__create_issue?); the tools are: add,"},
		{"fail", `{}`, "Error: disk full"},
		{"panic", `null`, "Error: internal error"},
		{"denied", `{}`, "Error: not for you"},
		{"away", `{}`, "Error: its server is away"},
		{"ours", `{}`, "Error: internal error"},
		{"remote", `{}`, "Error: quota <used up>"},
		{"long_failure", `{}`, "Error: " + strings.Repeat("é", 10_000) + "... [output truncated]"},
		{"long", `{}`, strings.Repeat("é", 10_000) + "... [output truncated]"},
	} {
		t.Run(c.name+c.arguments, func(t *testing.T) {
			part := call("c1", c.name, c.arguments)
			if c.arguments == "" {
				part.Call.Arguments = nil
			}
			p := play(calls(part), says("done"))
			task := ask(p, "go")
			task.Options.Log = slog.New(slog.NewTextHandler(&log, nil))
			r, events, err := run(t, session(t, tools...), task)
			if err != nil {
				t.Fatal(err)
			}
			result := r.Messages[2].Parts[0].Result
			if got := result.Text(true); !strings.HasPrefix(got, c.want) || result.ID != "c1" || result.Name != c.name {
				t.Errorf("%s %s: %s\nwant %s", result.ID, result.Name, got, c.want)
			}
			if result.Content.IsError() != strings.HasPrefix(c.want, "Error") {
				t.Errorf("isError: %s", result.Content.JSON)
			}
			if n := strings.Count(events, "tool_result"); n != 1 || strings.Contains(events, "hunter2") {
				t.Errorf("events:\n%s", events)
			}
		})
	}
	if !strings.Contains(log.String(), "hunter2") {
		t.Errorf("the log has no cause:\n%s", &log)
	}
}

func TestUnknownToolAmongMany(t *testing.T) {
	var tools []bridge.Tool
	for i := range 200 {
		tools = append(tools, function(t, fmt.Sprintf("tool_number_%03d", i), "", func(context.Context) (string, error) { return "", nil }))
	}
	r, _, err := run(t, session(t, tools...), ask(play(calls(call("1", strings.Repeat("x", 5000), "{}")), says("")), "go"))
	if err != nil {
		t.Fatal(err)
	}
	if text := r.Messages[2].Parts[0].Result.Text(true); len(text) > 1000 || !strings.HasSuffix(text, "tool_number_029 and 170 more") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

func TestNoTools(t *testing.T) {
	s, err := providers.NewToolbox(nil).Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p := play(calls(call("1", "add", "{}")), says("sorry"))
	r, _, err := run(t, s, ask(p, "go"))
	if err != nil || p.request(0).Tools != nil {
		t.Errorf("%v, tools %v", err, p.request(0).Tools)
	}
	same(t, "messages", show(r.Messages), `
		user: go
		assistant: [1 add {}]
		tool: [1 Error: unknown tool: add; no other tools are available]
		assistant: sorry`)
}

// Turns without calls, turns that are sent back unchanged, calls that could not be parsed.
func TestStops(t *testing.T) {
	cut := []providers.Part{txt("I will"), {Type: providers.PartThinking, Text: "hm"}, call("1", "add", `{"a":1}`)}
	for _, c := range []struct {
		name     string
		steps    []step
		limits   providers.Limits
		stop     providers.Stop
		messages string
	}{
		{name: "stop beside calls", steps: []step{turn(providers.StopEnd, call("1", "add", `{"a":1,"b":1}`)), says("2")}, stop: providers.StopEnd, messages: `
			user: go
			assistant: [1 add {"a":1,"b":1}]
			tool: [1 2]
			assistant: 2`},
		{name: "cut at its length", steps: []step{turn(providers.StopLength, cut...)}, stop: providers.StopLength, messages: `
			user: go
			assistant: I will`},
		{name: "refused", steps: []step{turn(providers.StopRefused)}, stop: providers.StopRefused, messages: `
			user: go`},
		{name: "no known reason", steps: []step{turn(providers.StopOther, cut...)}, stop: providers.StopOther, messages: `
			user: go
			assistant: I will`},
		{name: "no reason at all", steps: []step{turn("", cut...)}, stop: providers.StopOther, messages: `
			user: go
			assistant: I will`},
		{name: "nothing at all", steps: []step{turn(providers.StopEnd)}, stop: providers.StopEnd, messages: `
			user: go
			assistant:`},
		{name: "paused", steps: []step{turn(providers.StopPaused, txt("searching")), turn(providers.StopPaused, txt("more")), says("found")}, stop: providers.StopEnd, messages: `
			user: go
			assistant: searching
			assistant: more
			assistant: found`},
		{name: "paused too often", limits: providers.Limits{Pauses: 1}, steps: []step{turn(providers.StopPaused, txt("a")), turn(providers.StopPaused, txt("b"))}, stop: providers.StopPaused, messages: `
			user: go
			assistant: a
			assistant: b`},
		{name: "malformed", steps: []step{turn(providers.StopMalformed, call("1", "add", `"add(1,"`)), says("ok")}, stop: providers.StopEnd, messages: `
			user: go
			user: The tool call could not be parsed, so nothing was run. Call again with the name of an available tool and JSON arguments that match its schema.
			The call was add: add(1,
			assistant: ok`},
		{name: "malformed too often", limits: providers.Limits{Malformed: -1, Rounds: 1}, steps: []step{turn(providers.StopMalformed), turn(providers.StopMalformed), turn(providers.StopRefused)}, stop: providers.StopRefused, messages: `
			user: go
			user: The tool call could not be parsed, so nothing was run. Call again with the name of an available tool and JSON arguments that match its schema.
			user: The tool call could not be parsed, so nothing was run. Call again with the name of an available tool and JSON arguments that match its schema.`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := play(c.steps...)
			task := ask(p, "go")
			task.Options.Limits = c.limits
			r, events, err := run(t, session(t, adder(t)), task)
			if err != nil || r.Stop != c.stop {
				t.Errorf("stop %s, %v", r.Stop, err)
			}
			same(t, "messages", show(r.Messages), c.messages)
			if len(p.steps) > 0 || !strings.HasPrefix(events[strings.LastIndex(strings.TrimSpace(events), "\n")+1:], "done "+string(c.stop)) {
				t.Errorf("%d steps are left\n%s", len(p.steps), events)
			}
		})
	}
}

// A paused turn is sent back with its raw items, unchanged.
func TestPausedIsUnchanged(t *testing.T) {
	p := play(turn(providers.StopPaused, txt("searching")), says("found"))
	r, _, err := run(t, session(t), ask(p, "go"))
	if err != nil || r.Text != "searchingfound" {
		t.Errorf("%q, %v", r.Text, err)
	}
	if back := p.request(1).Messages[1]; string(back.Raw.Of("script")) != `[{"type":"text","text":"searching"}]` {
		t.Errorf("sent back: %s", back.Raw.Items)
	}
}

// So is one that ends the run, since the provider pauses too often, by a prompt without text.
func TestPausedTooOften(t *testing.T) {
	p := play(turn(providers.StopPaused, txt("searching")), turn(providers.StopPaused, txt("more")), says("found"))
	c := providers.NewConversation(providers.Candidate{Provider: p}).Options(providers.Options{Limits: providers.Limits{Pauses: 1}})
	_, c, err := c.Prompt(t.Context(), "go")
	if err != nil || c.Run().Stop != providers.StopPaused {
		t.Fatalf("%s, %v", c.Run().Stop, err)
	}
	if _, c, err = c.Prompt(t.Context(), ""); err != nil || c.Run().Text != "found" {
		t.Errorf("%q, %v", c.Run().Text, err)
	}
	if sent := p.request(2).Messages; len(sent) != 3 || string(sent[2].Raw.Of("script")) != `[{"type":"text","text":"more"}]` {
		t.Errorf("sent back: %+v", sent)
	}
}

// A call that the request demands is still demanded behind a turn that had no chance to make it, and not any more once
// there is one.
func TestChoiceHolds(t *testing.T) {
	for _, first := range []step{
		turn(providers.StopPaused, txt("searching")), turn(providers.StopMalformed, call("1", "add", `"add(1,"`)), turn(providers.StopWindow, txt("half a")),
	} {
		for _, must := range []*providers.Selection{nil, {Match: []string{"add"}}} {
			p := play(first, calls(call("2", "add", `{"a":1,"b":1}`)), says("2"))
			task := ask(p, "")
			task.Request.Messages = append(history(2), providers.UserText("go"))
			want := providers.Choice("add")
			if task.Must = must; must == nil {
				task.Request.Choice, want = providers.ChoiceRequired, providers.ChoiceRequired
			}
			if _, events, err := run(t, session(t, adder(t)), task); err != nil || p.request(0).Choice != want || p.request(1).Choice != want || p.request(2).Choice != providers.ChoiceAuto {
				t.Errorf("%v: choices %q, %q, %q\n%s", err, p.request(0).Choice, p.request(1).Choice, p.request(2).Choice, events)
			}
		}
	}
}

func TestLimits(t *testing.T) {
	n := 0
	again := func(ids ...string) step {
		var parts []providers.Part
		for _, id := range ids {
			n++
			parts = append(parts, call(id, "add", fmt.Sprintf(`{"a":%d,"b":0}`, n)))
		}
		return calls(parts...)
	}
	for _, c := range []struct {
		name    string
		limits  providers.Limits
		steps   []step
		stop    providers.Stop
		text    string
		last    string // result
		note    string
		noTools bool // in the last request
	}{
		{name: "rounds", limits: providers.Limits{Rounds: 2}, steps: []step{again("1"), again("2"), again("3")}, stop: providers.StopRounds,
			last: "Error: not run: the limit of 2 rounds of calls is reached; answer with what you have", note: "the limit of 2 rounds of calls is reached: the run ends here"},
		{name: "rounds, last turn", limits: providers.Limits{Rounds: 1, Last: true}, steps: []step{again("1"), again("2"), says("so far")}, stop: providers.StopRounds, text: "so far", noTools: true,
			last: "Error: not run: the limit of 1 rounds of calls is reached; answer with what you have", note: "the limit of 1 rounds of calls is reached: the model answers with what it has"},
		{name: "rounds, calls in the last turn", limits: providers.Limits{Rounds: 1, Last: true}, steps: []step{again("1"), again("2"), again("3")}, stop: providers.StopRounds, noTools: true,
			last: "Error: not run: this was the last turn, without tools; answer with what you have", note: "the limit of 1 rounds"},
		{name: "calls", limits: providers.Limits{Calls: 3}, steps: []step{again("1"), again("2", "3", "4")}, stop: providers.StopMaxCalls,
			last: "Error: not run: the limit of 3 calls is reached; answer with what you have", note: "the limit of 3 calls is reached: the run ends here"},
		{name: "tokens", limits: providers.Limits{Tokens: 20}, steps: []step{again("1"), again("2")}, stop: providers.StopTokens,
			last: "Error: not run: the budget of 20 tokens is spent (30); answer with what you have", note: "the budget of 20 tokens is spent (30): the run ends here"},
		{name: "tokens, but all is said", limits: providers.Limits{Tokens: 20}, steps: []step{again("1"), says("3")}, stop: providers.StopEnd, text: "3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := play(c.steps...)
			task := ask(p, "go")
			task.Options.Limits = c.limits
			r, events, err := run(t, session(t, adder(t)), task)
			if err != nil || r.Stop != c.stop || r.Text != c.text || len(p.steps) > 0 {
				t.Errorf("%v: stop %s, text %q, %d steps left\n%s", err, r.Stop, r.Text, len(p.steps), events)
			}
			if !strings.Contains(events, "note "+c.note) && c.note != "" {
				t.Errorf("events:\n%s", events)
			}
			var last providers.Part
			for _, m := range r.Messages {
				if m.Role == providers.RoleTool {
					last = m.Parts[len(m.Parts)-1]
				}
			}
			if got := last.Result.Text(true); c.last != "" && got != c.last {
				t.Errorf("the last result: %s\nwant %s", got, c.last)
			}
			if got := p.request(len(p.requests)-1).Choice == providers.ChoiceNone; got != c.noTools {
				t.Errorf("choice none in the last request: %v", got)
			}
			if calls := strings.Count(events, "\ntool_call"); calls != strings.Count(events, "\ntool_result") {
				t.Errorf("not one result a call:\n%s", events)
			}
		})
	}
}

func TestRepeats(t *testing.T) {
	poll := 0
	tools := []bridge.Tool{
		adder(t),
		function(t, "write", `{"readOnlyHint":false}`, func(context.Context) (string, error) { return "written", nil }),
		function(t, "poll", "", func(context.Context) (string, error) { poll++; return fmt.Sprint(poll / 3), nil }),
	}
	same1, same2 := calls(call("x", "add", `{"a":1,"b":2}`)), calls(call("x", "add", `{"b": 2, "a": 1}`))
	write, fail := calls(call("w", "write", `{}`)), calls(call("f", "add", `{"a":1}`))
	for _, c := range []struct {
		name         string
		turns        []step
		limit        int
		warned, stop int // rounds; 0 means never
	}{
		{"a call that may wait", []step{same1, same2}, 0, 8, 11},
		{"with a limit", []step{same1}, 1, 1, 2},
		{"a call that modifies", []step{write}, 0, 1, 4},
		{"a call that fails", []step{fail}, 0, 1, 4},
		{"no limit", []step{same1}, -1, 18, 0},
	} {
		var script []step
		for len(script) < 20 {
			script = append(script, c.turns...)
		}
		p := play(append(script, says("done"))...)
		task := ask(p, "go")
		task.Options.Limits.Repeats = c.limit
		r, events, err := run(t, session(t, tools...), task)
		note := fmt.Sprintf("note the same call had the same result %d times: the run ends here", c.stop)
		warned := strings.Count(show(r.Messages), "times: repeat it only to wait for a change; else do something else or answer]")
		if err != nil || (r.Stop == providers.StopRepeats) != (c.stop > 0) || c.stop > 0 && (r.Rounds != c.stop || !strings.Contains(events, note)) || warned != c.warned {
			t.Errorf("%s: %s after %d rounds with %d warnings, %v\n%s", c.name, r.Stop, r.Rounds, warned, err, show(r.Messages))
		}
	}
	// Anything new resets the count; two calls in alternation do not.
	p := play(same1, same1, calls(call("y", "add", `{"a":5,"b":5}`)), same1, same1, says("3"))
	if r, _, err := run(t, session(t, tools...), ask(p, "go")); err != nil || r.Stop != providers.StopEnd || strings.Contains(show(r.Messages), "same result") {
		t.Errorf("with news: %s, %v\n%s", r.Stop, err, show(r.Messages))
	}
	other := calls(call("y", "fail", `{}`))
	p = play(same1, other, same1, other, same1, other, same1, other, says("3"))
	if r, _, err := run(t, session(t, tools...), ask(p, "go")); err != nil || r.Stop != providers.StopRepeats || r.Turns > 8 {
		t.Errorf("in turn: %s after %d, %v", r.Stop, r.Turns, err)
	}
	look := calls(call("p", "poll", `{}`))
	p = play(look, look, look, look, look, look, look, look, says("done"))
	if r, _, err := run(t, session(t, tools...), ask(p, "go")); err != nil || r.Stop != providers.StopEnd || r.Rounds != 8 {
		t.Errorf("polling: %s after %d, %v", r.Stop, r.Turns, err)
	}
}

// With ChoiceNone no tools are called, whatever the model does.
func TestChoiceNone(t *testing.T) {
	p := play(turn(providers.StopPaused, txt("searching")), calls(txt("so"), call("1", "add", `{"a":1,"b":1}`), call("2", "draw", "{}")))
	task := ask(p, "go")
	task.Request.Choice, task.Request.Tools = providers.ChoiceNone, providers.NewToolSet([]toolformat.Tool{{Name: "draw"}})
	r, events, err := run(t, session(t, adder(t)), task)
	if err != nil || r.Stop != providers.StopEnd || r.Text != "searchingso" || r.Waiting != nil || strings.Contains(events, "tool_start") {
		t.Errorf("%v: %+v\n%s", err, r, events)
	}
	if p.request(1).Choice != providers.ChoiceNone {
		t.Errorf("after a pause the choice is %q", p.request(1).Choice)
	}
}

// Tools can find out the user's request for which they are called, and the turn.
func TestTurnsOfARequest(t *testing.T) {
	tool, err := bridge.Func("where", "", func(_ context.Context, in struct {
		Request string `json:"requestid"`
		Turn    int    `json:"invocationid"`
	}) (string, error) {
		return fmt.Sprint(in.Request, " ", in.Turn), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	tool.Hidden = []string{"requestid", "invocationid"}
	s := session(t, tool)
	prompt := func() []string {
		p := play(calls(call("1", "where", "{}"), call("2", "where", "{}")), calls(call("3", "where", "{}")), says("ok"))
		r, _, err := run(t, s, ask(p, "go"))
		if err != nil {
			t.Fatal(err)
		}
		return []string{r.Messages[2].Parts[0].Result.Text(false), r.Messages[2].Parts[1].Result.Text(false), r.Messages[4].Parts[0].Result.Text(false)}
	}
	first, second := prompt(), prompt()
	id, turn, _ := strings.Cut(first[0], " ")
	if turn != "0" || first[1] != id+" 0" || first[2] != id+" 1" || strings.HasPrefix(second[0], id) || len(id) < 10 {
		t.Errorf("%s, then %s", first, second)
	}

	task := ask(play(calls(call("1", "where", "{}")), calls(call("2", "where", "{}")), says("ok")), "go")
	task.Options.Policy = policy(rule{"*", providers.VerdictAsk})
	task.Approve = func(_ context.Context, q *providers.Question) providers.Decision {
		c := q.Call
		return map[string]providers.Decision{"1": {Verdict: providers.VerdictAllow}, "2": {Verdict: providers.VerdictDefer}}[c.ID]
	}
	waits, _, err := run(t, s, task)
	if err != nil || waits.Stop != providers.StopDeferred {
		t.Fatalf("%v: %+v", err, waits)
	}
	done, err := s.Resume(t.Context(), task, waits, map[string]providers.Decision{"2": {Verdict: providers.VerdictAllow}})
	if err != nil {
		t.Fatal(err)
	}
	if id := done.Request; id == "" || show(done.Messages[2:3]) != "tool: [1 "+id+" 0]\n" || show(done.Messages[4:5]) != "tool: [2 "+id+" 1]\n" {
		t.Errorf("resumed, the request %s has\n%s", id, show(done.Messages))
	}
}

// The tools of a request are offered beside the others, win a clash, and are handed back.
func TestOwnTools(t *testing.T) {
	s := session(t, adder(t), function(t, "time", "", func(context.Context) (string, error) { return "noon", nil }))
	p := play(calls(call("1", "time", "{}"), call("2", "add", `{"a":1,"b":1}`), call("3", "draw", "{}")), says("drawn"))
	task := ask(p, "go")
	task.Request.Tools = providers.NewToolSet([]toolformat.Tool{{Name: "draw"}, {Name: "time", Description: "the asker's"}})
	r, events, err := run(t, s, task)
	if err != nil || r.Stop != providers.StopCalls || fmt.Sprint(r.Waiting) != "[1 3]" || strings.Contains(events, "tool_start 1") {
		t.Errorf("%v: %s, waiting %s\n%s", err, r.Stop, r.Waiting, events)
	}
	var names []string
	for _, tool := range p.request(0).Tools.Tools() {
		names = append(names, tool.Name+":"+tool.Description)
	}
	if fmt.Sprint(names) != "[draw: time:the asker's add:Adds two numbers.]" {
		t.Errorf("offered: %s", names)
	}
	same(t, "messages", show(r.Messages), `
		user: go
		assistant: [1 time {}] [2 add {"a":1,"b":1}] [3 draw {}]
		tool: [2 2]`)
	task.Request.Messages = nil
	r, err = s.Resume(t.Context(), task, r, map[string]providers.Decision{
		"1": {Verdict: providers.VerdictAnswer, Result: toolformat.TextResult("one", false)}, "3": {Verdict: providers.VerdictAnswer}})
	if err != nil || r.Stop != providers.StopEnd || r.Turns != 2 || r.Calls != 3 {
		t.Errorf("%v: %+v", err, r)
	}
	same(t, "resumed", show(r.Messages), `
		user: go
		assistant: [1 time {}] [2 add {"a":1,"b":1}] [3 draw {}]
		tool: [1 one] [2 2] [3 ]
		assistant: drawn`)
}
