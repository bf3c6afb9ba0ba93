package main

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// screenOf shows events on a screen without colours, and returns what has been printed.
func screenOf(columns int, events ...providers.Event) string {
	var out strings.Builder
	now := time.Unix(0, 0)
	s := newCallScreen(terminal.NewScreen(&out, func() (int, int) { return columns, 10 }, false))
	s.Now = func() time.Time { return now }
	for _, e := range events {
		s.event(e)
		now = now.Add(time.Second)
	}
	s.Update(func(*terminal.Printer) {})
	s.Update(func(p *terminal.Printer) {
		p.Clear()
		p.Pause(terminal.Alone)
	})
	return out.String()
}

func TestScreen(t *testing.T) {
	call := &providers.Call{ID: "1", Name: "shop__search", Arguments: json.RawMessage(`{"text": "milk"}`)}
	other := &providers.Call{ID: "2", Name: "bad\x1b[2J", Arguments: json.RawMessage(`{}`)}
	result := func(text string, failed bool) *providers.Result {
		return &providers.Result{Content: toolformat.TextResult(text, failed)}
	}
	got := screenOf(50,
		providers.Event{Type: providers.EventTurnStart},
		providers.Event{Type: providers.EventThinkingDelta, Text: "Hm."},
		providers.Event{Type: providers.EventTextDelta, Text: "Let me "},
		providers.Event{Type: providers.EventTextDelta, Text: "see.\n\n"},
		providers.Event{Type: providers.EventArgumentsDelta, Call: call, Text: `{"text"`},
		providers.Event{Type: providers.EventToolCall, Call: call},
		providers.Event{Type: providers.EventToolCall, Call: other},
		providers.Event{Type: providers.EventToolStart, Call: call},
		providers.Event{Type: providers.EventToolStart, Call: other},
		providers.Event{Type: providers.EventToolProgress, Call: call, Progress: 1, Total: 4, Text: "look\x1bing"},
		providers.Event{Type: providers.EventToolResult, Call: other, Result: result("one\ntwo\nthree\nfour", true), Took: 20 * time.Millisecond},
		providers.Event{Type: providers.EventToolResult, Call: call, Result: result("milk", false), Took: 90 * time.Second},
		providers.Event{Type: providers.EventRetry, After: 2 * time.Second, Text: "too\nmuch"},
		providers.Event{Type: providers.EventTextDelta, Text: "Milk it is."},
		providers.Event{Type: providers.EventUsage, Model: "spare/\x1bm"},
		providers.Event{Type: providers.EventDone, Turns: 2, Usage: providers.Usage{Input: 10, Output: 3}},
	)
	want := strings.Join([]string{
		"⠋ waiting for the model 0.0s|Hm.",
		"",
		"Let me|Let me see.|Let me see.", // drafts, and the line that stays
		"",
		`⠋ shop__search {"text"|` + `⠋ shop__search {"text": "milk"} 0.0s` + `|⠋ shop__search {"text": "milk"} 1.0s`,
		"⠋ bad�[2J {} 0.0s" + `|⠋ shop__search {"text": "milk"} 2.0s 25% look�ing`,
		"⠋ bad�[2J {} 1.0s|✗ bad�[2J {} 20ms",
		"  one",
		"  two",
		"  three",
		"  /expand shows all",
		`⠋ shop__search {"text": "milk"} 3.0s 25% look�ing|✓ shop__search {"text": "milk"} 1m30s`,
		"",
		"retrying in 2.0s: too much",
		"⠋ waiting for the model 0.0s|",
		"Milk it is.|Milk it is.",
		"",
		"2 turns, 10 tokens read, 3 written, by spare/�m",
		"", "",
	}, "\n")
	// What is erased ends with a bar here.
	got = strings.NewReplacer("\r\x1b[K", "|", "\r\x1b[1A\x1b[J", "|").Replace(got)
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestApprover(t *testing.T) {
	call := &providers.Call{Name: "echo\x1b", Arguments: json.RawMessage(`{"n":1}`)}
	for _, c := range []struct {
		typed string
		want  providers.Decision
	}{
		{"y\n", providers.Decision{Verdict: providers.VerdictAllow}},
		{"perhaps\n\nYES\n", providers.Decision{Verdict: providers.VerdictAllow}},
		{"n\n", providers.Decision{Verdict: providers.VerdictDeny}},
		{"no, it is late\n", providers.Decision{Verdict: providers.VerdictDeny, Reason: "the user says: it is late"}},
		{"d\nn\n", providers.Decision{Verdict: providers.VerdictDeny}}, // nobody could decide later
		{"e\n{\"n\":2}\n", providers.Decision{Verdict: providers.VerdictEdit, Arguments: json.RawMessage(`{"n":2}`)}},
		{"e\n{\"n\":1}\n", providers.Decision{Verdict: providers.VerdictAllow}},
		{"e\n[]\ne\n{\ne\n\nn\n", providers.Decision{Verdict: providers.VerdictDeny}},
		{"", providers.Decision{Verdict: providers.VerdictDeny, Reason: "the user did not answer"}},
	} {
		var out strings.Builder
		a := lineApprover(terminal.NewLines(strings.NewReader(c.typed)), &out)
		got := a.approve(t.Context(), &providers.Question{Call: call})
		if got.Verdict != c.want.Verdict || got.Reason != c.want.Reason || string(got.Arguments) != string(c.want.Arguments) {
			t.Errorf("%q: got %+v, want %+v", c.typed, got, c.want)
		}
		if !strings.HasPrefix(out.String(), "run echo� {\"n\":1}?\n") {
			t.Errorf("%q: shown as %q", c.typed, out.String())
		}
	}
	a := lineApprover(terminal.NewLines(strings.NewReader("a\n")), io.Discard)
	for range 2 {
		if d := a.approve(t.Context(), &providers.Question{Call: call}); d.Verdict != providers.VerdictAllow {
			t.Errorf("got %+v", d)
		}
	}
}

func TestIsCommand(t *testing.T) {
	for line, want := range map[string]bool{
		"/help": true, "/save my file": true, "/nothing": true, "/": false, "/etc/hosts is what?": false, "// a comment": false, "/2": false, "help": false,
	} {
		if commandLine().MatchString(line) != want {
			t.Errorf("isCommand(%q) is %v", line, !want)
		}
	}
}

// Of a run that was resumed only what came of it is new, and the conversation stays as it is.
func TestNewResults(t *testing.T) {
	result := func(id string) providers.Part {
		return providers.Part{Type: providers.PartResult, Result: &providers.Result{ID: id, Name: "a"}}
	}
	messages := []providers.Message{
		{Role: providers.RoleTool, Parts: []providers.Part{result("1"), result("2"), result("3")}},
		providers.UserText("so"),
	}
	got := newResults(messages, []string{"2"})
	if len(got) != 2 || len(got[0].Parts) != 1 || got[0].Parts[0].Result.ID != "2" || got[1].Text() != "so" {
		t.Errorf("got %v", got)
	}
	if len(messages[0].Parts) != 3 || newResults(nil, nil) != nil {
		t.Error("the conversation was changed")
	}
}

func TestOtherModel(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "key")
	cfg := &config.Config{Providers: []config.Provider{
		{Name: "here", Type: "ollama", Model: "small"},
		{Name: "there", Type: "openai", BaseURL: "http://127.0.0.1:1", Model: "large"},
	}}
	m := stack.NewModels(cfg)
	now, err := m.ByID("here")
	if err != nil {
		t.Fatal(err)
	}
	now.Model = "flag"
	for _, c := range []struct{ name, provider, model string }{
		{"medium", "here", "medium"},
		{"small", "here", "small"},
		{"here/medium", "here", "medium"},
		{"here/vendor/medium", "here", "vendor/medium"},
		{"vendor/medium", "here", "vendor/medium"},
		{"large", "there", "large"},
		{"there", "there", "large"},
		{"there/vendor/medium", "there", "vendor/medium"},
		{"anthropic/c", "anthropic", "c"},
	} {
		if got, err := otherModel(cfg, m, now, c.name); err != nil || got.Name != c.provider || got.Model != c.model {
			t.Errorf("%s: got %s/%s, %v", c.name, got.Name, got.Model, err)
		}
	}
	if _, err := otherModel(cfg, m, now, "anthropic"); err == nil || !strings.Contains(err.Error(), "provider anthropic has no model") {
		t.Errorf("got %v", err)
	}
	// What the command line says of a provider stays so.
	moved, err := m.Choose(stack.Choice{Provider: "there", BaseURL: "http://127.0.0.1:2"}, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"large", "there/large", "there/medium", "medium"} {
		if got, err := otherModel(cfg, m, moved, name); err != nil || got.Provider != moved.Provider {
			t.Errorf("%s: got %v, %v; it was %v", name, got.Provider, err, moved.Provider)
		}
	}
}
