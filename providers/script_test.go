package providers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A script is a provider whose turns are written by a test. It may be used from many
// goroutines.
type script struct {
	name   string // "" is "script"
	format toolformat.Format

	mu       sync.Mutex
	steps    []step
	requests []providers.Request
}

// A step is one answer.
type step func(ctx context.Context, req *providers.Request, emit func(providers.Event)) (*providers.Turn, error)

func play(steps ...step) *script { return &script{steps: steps} }

func (s *script) Name() string {
	if s.name == "" {
		return "script"
	}
	return s.name
}

func (s *script) Format() toolformat.Format {
	if s.format == "" {
		return toolformat.FormatOpenAI
	}
	return s.format
}

func (s *script) Turn(ctx context.Context, req *providers.Request, emit func(providers.Event)) (*providers.Turn, error) {
	s.mu.Lock()
	s.requests = append(s.requests, *req)
	if len(s.steps) == 0 {
		s.mu.Unlock()
		return nil, errors.New("the script has ended")
	}
	next := s.steps[0]
	s.steps = s.steps[1:]
	s.mu.Unlock()
	return next(ctx, req, emit)
}

// request returns the request of the turn with an index.
func (s *script) request(i int) providers.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[i]
}

// turn returns a step that answers with parts and a stop.
func turn(stop providers.Stop, parts ...providers.Part) step {
	return func(_ context.Context, _ *providers.Request, emit func(providers.Event)) (*providers.Turn, error) {
		for _, p := range parts {
			if p.Type == providers.PartText {
				emit(providers.Event{Type: providers.EventTextDelta, Text: p.Text})
			}
		}
		raw, err := json.Marshal(parts)
		if err != nil {
			return nil, err
		}
		return &providers.Turn{
			Message: providers.Message{Role: providers.RoleAssistant, Parts: parts, Raw: &providers.Raw{Provider: "script", Items: raw}},
			Stop:    stop, Usage: providers.Usage{Input: 10, Output: 5},
		}, nil
	}
}

func says(text string) step { return turn(providers.StopEnd, txt(text)) }

func calls(parts ...providers.Part) step { return turn(providers.StopCalls, parts...) }

func fails(err error) step {
	return func(context.Context, *providers.Request, func(providers.Event)) (*providers.Turn, error) {
		return nil, err
	}
}

func txt(s string) providers.Part { return providers.Part{Type: providers.PartText, Text: s} }

func call(id, name, arguments string) providers.Part {
	return providers.Part{Type: providers.PartCall, Call: &providers.Call{ID: id, Name: name, Arguments: json.RawMessage(arguments)}}
}

// show returns messages on a line each.
func show(messages []providers.Message) string {
	var b strings.Builder
	for i := range messages {
		m := &messages[i]
		fmt.Fprintf(&b, "%s:", m.Role)
		for _, p := range m.Parts {
			switch p.Type {
			case providers.PartText:
				fmt.Fprintf(&b, " %s", p.Text)
			case providers.PartCall:
				fmt.Fprintf(&b, " [%s %s %s]", p.Call.ID, p.Call.Name, p.Call.Arguments)
			case providers.PartResult:
				fmt.Fprintf(&b, " [%s %s]", p.Result.ID, p.Result.Text(true))
			default:
				fmt.Fprintf(&b, " <%s>", p.Type)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// A listener writes events, each on a line.
type listener struct{ lines []string }

func (l *listener) hear(e providers.Event) {
	line := string(e.Type)
	if e.Call != nil {
		line += " " + e.Call.ID
	}
	switch e.Type {
	case providers.EventTextDelta, providers.EventNote:
		line += " " + e.Text
	case providers.EventToolCall:
		line += " " + e.Call.Name + " " + string(e.Call.Arguments)
	case providers.EventApproval:
		line += " " + string(e.Decision)
	case providers.EventToolProgress:
		line += fmt.Sprintf(" %g/%g %s", e.Progress, e.Total, e.Text)
	case providers.EventToolResult:
		line += " " + e.Result.Text(true)
	case providers.EventUsage:
		line += fmt.Sprintf(" %d+%d", e.Usage.Input, e.Usage.Output)
	case providers.EventRetry:
		line += fmt.Sprintf(" %s %s", e.After, e.Text)
	case providers.EventDone:
		line += fmt.Sprintf(" %s: %s (%d turns, %d+%d)", e.Stop, e.Text, e.Turns, e.Usage.Input, e.Usage.Output)
	case providers.EventError:
		line += " " + e.Err.Error()
	}
	l.lines = append(l.lines, line)
}

func (l *listener) String() string { return strings.Join(l.lines, "\n") + "\n" }

// same compares a text with the wanted one, which may be indented.
func same(t *testing.T, what, got, want string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(want), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	if got = strings.TrimSpace(got); got != strings.Join(lines, "\n") {
		t.Errorf("%s:\n%s\n\nwant:\n%s", what, got, strings.Join(lines, "\n"))
	}
}

type addIn struct {
	A int `json:"a"`
	B int `json:"b"`
}

// add is a tool.
func add(_ context.Context, in addIn) (string, error) { return fmt.Sprint(in.A + in.B), nil }

type none struct{}

// function makes a tool of a Go function without arguments, with annotations as raw JSON.
func function(t testing.TB, name, annotations string, f func(context.Context) (string, error)) bridge.Tool {
	t.Helper()
	tool, err := bridge.Func(name, "A tool.", func(ctx context.Context, _ none) (string, error) { return f(ctx) })
	if err != nil {
		t.Fatal(err)
	}
	if annotations != "" {
		tool.Extra = json.RawMessage(`{"name":"` + name + `","description":"A tool.","inputSchema":` + string(tool.InputSchema) + `,"annotations":` + annotations + `}`)
	}
	tool.Timeout = 1 << 50
	return tool
}

// adder returns the function add as a tool.
func adder(t testing.TB) bridge.Tool {
	t.Helper()
	tool, err := bridge.Func("add", "Adds two numbers.", add)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// session opens tools until the end of the test.
func session(t testing.TB, tools ...bridge.Tool) *providers.Loop {
	t.Helper()
	native, err := bridge.NewNative(bridge.NativeOptions{}, tools...)
	if err != nil {
		t.Fatal(err)
	}
	s, err := providers.NewToolbox(native).Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		if err := native.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// ask returns the task of a prompt.
func ask(p providers.Provider, prompt string) providers.Task {
	return providers.Task{Provider: p, Request: providers.Request{Messages: []providers.Message{providers.UserText(prompt)}}}
}

// run runs a task and returns its events beside the outcome.
func run(t *testing.T, s *providers.Loop, task providers.Task) (*providers.Run, string, error) {
	t.Helper()
	var l listener
	task.Emit = l.hear
	r, err := s.Run(t.Context(), task)
	return r, l.String(), err
}

type toolformatError = toolformat.Error
