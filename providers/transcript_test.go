package providers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/providers"
)

// A conversation is saved, loaded elsewhere and continued, with the same model.
func TestSaveAndLoad(t *testing.T) {
	p := play(calls(txt("a<b & c"), call("1", "add", `{"a":12345678901234567890,"b":1}`)), says("done"), says("again"))
	candidates := []providers.Candidate{{Name: "local", Provider: play()}, {Name: "cloud", Provider: p, Model: "small"}, {Name: "cloud", Provider: p, Model: "large"}}
	_, c, err := providers.NewConversation(candidates...).Agent("be brief").Model("large").Prompt(t.Context(), "  what is 1+1?\nPlease.")
	if err != nil {
		t.Fatal(err)
	}
	saved, err := json.Marshal(c.Transcript())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(saved), `{"version":"1.0","id":"`) || !strings.Contains(string(saved), `"title":"what is 1+1?","provider":"cloud","model":"large","system":"be brief"`) {
		t.Errorf("saved: %s", saved)
	}
	var loaded providers.Transcript
	if err := json.Unmarshal(saved, &loaded); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(&loaded)
	if err != nil || string(again) != string(saved) {
		t.Errorf("%v\n%s\nwas\n%s", err, again, saved)
	}
	_, next, err := providers.NewConversation(candidates...).Load(&loaded).Prompt(t.Context(), "more")
	if err != nil {
		t.Fatal(err)
	}
	req := p.request(2)
	if req.Model != "large" || req.System != "be brief" || !strings.HasPrefix(show(req.Messages), show(c.Messages())) || string(req.Messages[1].Raw.Of("script")) != string(c.Messages()[1].Raw.Of("script")) {
		t.Errorf("%+v\n%s", req, show(req.Messages))
	}
	if before, after := c.Transcript(), next.Transcript(); before.ID != after.ID || !before.Created.Equal(after.Created) {
		t.Errorf("%+v\n%+v", before.Heading, after.Heading)
	}
}

// What is known of a candidate's model holds for a transcript with that model, or without one.
func TestLoadKeepsNoTools(t *testing.T) {
	for model, want := range map[string]bool{"": true, "small": true, "large": false} {
		p := play(says("ok"))
		c := providers.NewConversation(providers.Candidate{Name: "local", Provider: p, Model: "small", NoTools: true}).
			Tools(adder(t)).Options(providers.Options{Toolless: true}).
			Load(&providers.Transcript{Heading: providers.Heading{Provider: "local", Model: model}})
		if _, _, err := c.Prompt(t.Context(), "hi"); err != nil {
			t.Fatal(err)
		}
		if got := p.request(0).Tools.Len() == 0; got != want {
			t.Errorf("model %q: without tools: %v, want %v", model, got, want)
		}
	}
}

// A conversation that waits for a decision still waits after it was loaded.
func TestSaveWhatWaits(t *testing.T) {
	later := func(context.Context, *providers.Question) providers.Decision {
		return providers.Decision{Verdict: providers.VerdictDefer}
	}
	p := play(calls(call("1", "add", `{"a":1,"b":1}`), call("2", "add", `{"a":"x","b":1}`)), says("2"))
	_, c, err := talk(t, p, adder(t)).Options(providers.Options{Policy: policy(rule{"*", providers.VerdictAsk})}).Approve(later).Prompt(t.Context(), "go")
	if err != nil {
		t.Fatal(err)
	}
	saved, err := json.Marshal(c.Transcript())
	if err != nil {
		t.Fatal(err)
	}
	var loaded providers.Transcript
	if err := json.Unmarshal(saved, &loaded); err != nil {
		t.Fatal(err)
	}
	messages, next, err := talk(t, p, adder(t)).Load(&loaded).Resume(t.Context(), map[string]providers.Decision{"1": {Verdict: providers.VerdictAllow}})
	if err != nil {
		t.Fatal(err)
	}
	if run := next.Run(); run.Turns != 2 || run.Stop != providers.StopEnd || !strings.HasPrefix(show(messages), "tool: [1 2] [2 Error: invalid arguments") {
		t.Errorf("%+v\n%s", run, show(messages))
	}
}

// What a killed program left is repaired; invalid data is an error with its path.
func TestLoad(t *testing.T) {
	const head = `{"version":"1.0","id":"x","messages":[`
	ask := `{"role":"user","parts":[{"type":"text","text":"go"}]}`
	calls := `{"role":"assistant","parts":[{"type":"tool_call","call":{"id":"a","name":"f","arguments":{}}},{"type":"tool_call","call":{"id":"b","name":"g","arguments":{}}}]}`
	result := func(ids ...string) string {
		var parts []string
		for _, id := range ids {
			parts = append(parts, `{"type":"tool_result","result":{"id":"`+id+`","name":"f","content":{"content":[{"type":"text","text":"of `+id+`"}]}}}`)
		}
		return `{"role":"tool","parts":[` + strings.Join(parts, ",") + `]}`
	}
	const gone = "Error: canceled: the result did not arrive, and the call may have had effects"
	for _, c := range []struct{ name, json, want string }{
		{"whole", head + ask + "," + calls + "," + result("a", "b") + `]}`, "user: go\nassistant: [a f {}] [b g {}]\ntool: [a of a] [b of b]\n"},
		{"no results", head + ask + "," + calls + `]}`, "user: go\nassistant: [a f {}] [b g {}]\ntool: [a " + gone + "] [b " + gone + "]\n"},
		{"one result", head + ask + "," + calls + "," + result("b") + "," + ask + `]}`, "user: go\nassistant: [a f {}] [b g {}]\ntool: [a " + gone + "] [b of b]\nuser: go\n"},
		{"out of order, in two messages, twice", head + calls + "," + result("b", "x") + "," + result("a", "a") + `]}`, "assistant: [a f {}] [b g {}]\ntool: [a of a] [b of b]\n"},
		{"results of nothing", head + result("a") + "," + ask + "," + result("b") + `]}`, "user: go\n"},
		{"empty messages", head + `{"role":"user","parts":[]},` + ask + `,{"role":"assistant","parts":null}]}`, "user: go\n"},
		{"waiting", head + ask + "," + calls + "," + result("a") + `],"waiting":["b","c"]}`, "user: go\nassistant: [a f {}] [b g {}]\ntool: [a of a]\n"},
		{"waiting, after another round", head + calls + "," + result("a", "b") + "," + calls + "," + result("a") + `],"waiting":["b"]}`, "assistant: [a f {}] [b g {}]\ntool: [a of a] [b of b]\nassistant: [a f {}] [b g {}]\ntool: [a of a]\n"},
		{"waiting, but answered", head + ask + "," + calls + "," + result("a", "b") + `],"waiting":["b"]}`, "user: go\nassistant: [a f {}] [b g {}]\ntool: [a of a] [b of b]\n"},
		{"waiting, but gone on", head + calls + "," + ask + `],"waiting":["b"]}`, "assistant: [a f {}] [b g {}]\ntool: [a " + gone + "] [b " + gone + "]\nuser: go\n"},
		{"another version", `{"version":"2.0","messages":[]}`, `error: conversation: unknown version "2.0": this program reads "1.0"`},
		{"no version", `{"messages":[]}`, `error: conversation: "version" is missing: expected "1.0"`},
		{"a number", `{"version":1}`, `error: conversation: unknown version 1: this program reads "1.0"`},
		{"no object", `[]`, `error: conversation: "version" is missing: expected "1.0"`},
		{"a role", head + `{"role":"system","parts":[]}]}`, `error: conversation: messages/0: unknown role "system": expected user, assistant or tool`},
		{"a part", head + ask + `,{"role":"user","parts":[{"type":"video"}]}]}`, `error: conversation: messages/1/parts/0: unknown type "video": expected text, thinking, tool_call, tool_result, image or file`},
		{"a call of nothing", head + `{"role":"assistant","parts":[{"type":"tool_call"}]}]}`, `error: conversation: messages/0/parts/0: expected a call, in a message of the assistant`},
		{"a result of nothing", head + `{"role":"tool","parts":[{"type":"tool_result"}]}]}`, `error: conversation: messages/0/parts/0: expected a result, in a message of the role tool`},
		{"a text with a call", head + `{"role":"assistant","parts":[{"type":"text","call":{"id":"a"}}]}]}`, `error: conversation: messages/0/parts/0: a part of type text must not have a call or a result`},
	} {
		var loaded providers.Transcript
		got := ""
		if err := json.Unmarshal([]byte(c.json), &loaded); err != nil {
			got = "error: " + err.Error()
		} else {
			got = show(loaded.Messages)
		}
		if got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
		if n := len(loaded.Waiting); (n == 1) != (c.name == "waiting" || c.name == "waiting, after another round") {
			t.Errorf("%s: %s wait", c.name, loaded.Waiting)
		}
	}
	var run providers.Run
	if err := json.Unmarshal([]byte(`{"version":"3"}`), &run); fmt.Sprint(err) != `run: unknown version "3": this program reads "1.0"` {
		t.Error(err)
	}
	if err := json.Unmarshal([]byte(`{"version":"1.0","messages":[],"stop":"cancelled"}`), &run); err != nil || run.Stop != providers.StopCanceled {
		t.Errorf("a run of an earlier version: %v, %s", err, run.Stop)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"version":"1.0","id":"x","begin":1,"dropped":-1,"waiting":["a"],"messages":[{"role":"user","parts":[{"type":"text","text":"go"}]},{"role":"assistant","parts":[{"type":"tool_call","call":{"id":"a","name":"f","arguments":{"a":1e400}}}],"raw":{"provider":"script","items":[{"<":"&"}]}},{"role":"tool","parts":[{"type":"tool_result","result":{"id":"a","content":7}}]}]}`))
	f.Add([]byte(`{"version":"1.0","messages":[{"role":"assistant","parts":[{"type":"tool_call","call":{}},{"type":"tool_call","call":{"name":"add"}}]}],"waiting":[""]}`))
	f.Add([]byte(`{"version":"1.0","run":null,"messages":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var loaded providers.Transcript
		if json.Unmarshal(data, &loaded) != nil {
			return
		}
		saved, err := json.Marshal(&loaded)
		if err != nil {
			t.Fatalf("what was loaded cannot be saved: %v", err)
		}
		var again providers.Transcript
		if err := json.Unmarshal(saved, &again); err != nil {
			t.Fatalf("what was saved cannot be loaded: %v\n%s", err, saved)
		}
		if same, err := json.Marshal(&again); err != nil || string(same) != string(saved) {
			t.Fatalf("%v\n%s\nbecame\n%s", err, saved, same)
		}
		check(t, loaded.Messages, loaded.Waiting)
		_ = loaded.Messages[loaded.Begin:]
		c := providers.NewConversation(providers.Candidate{Provider: play(says("ok"))}).Load(&loaded)
		if _, next, err := c.Prompt(t.Context(), "go on"); err != nil {
			t.Fatal(err)
		} else {
			check(t, next.Messages(), nil)
		}
	})
}

// check checks that every provider takes a history.
func check(t *testing.T, messages []providers.Message, waiting []string) {
	t.Helper()
	for i := range messages {
		calls := messages[i].Calls()
		if messages[i].Role == providers.RoleTool && (i == 0 || len(messages[i-1].Calls()) == 0) {
			t.Fatalf("message %d holds results of nothing:\n%s", i, show(messages))
		}
		if len(calls) == 0 || len(waiting) > 0 && i >= len(messages)-2 {
			continue
		}
		if i+1 == len(messages) || messages[i+1].Role != providers.RoleTool || len(messages[i+1].Parts) != len(calls) {
			t.Fatalf("message %d has calls without their results:\n%s", i, show(messages))
		}
		for j, c := range calls {
			if messages[i+1].Parts[j].Result.ID != c.ID {
				t.Fatalf("message %d: result %d is of another call:\n%s", i+1, j, show(messages))
			}
		}
	}
}
