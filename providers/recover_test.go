package providers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// offered returns the names of the tools in a request, in its format.
func offered(req providers.Request, f toolformat.Format) string {
	if req.Tools == nil {
		return "none"
	}
	var names []string
	for _, c := range req.Tools.Encoded(f).Tools {
		names = append(names, c.Name)
	}
	return strings.Join(names, " ")
}

func nothing(context.Context) (string, error) { return "", nil }

// A tool that a provider refuses is left out, and the turn retried.
func TestQuarantine(t *testing.T) {
	for _, c := range []struct {
		message string
		out     string // "" for an error with another reason
	}{
		{"tools.1.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12", "b"},
		{"Invalid 'tools[0].function.name': string does not match pattern.", "a"},
		{"Invalid schema for function 'c': schema must be of type object", "c"},
		{`Invalid schema for tool "b": array schema missing items`, "b"},
		{"* GenerateContentRequest.tools[0].function_declarations[2].parameters.properties: should be non-empty for OBJECT type", "c"},
		{"Unable to submit request because `b` functionDeclaration `parameters.x` schema: function_declarations.1.parameters", "b"},
		{"tools.9.custom.name: too long", ""},
		{"Invalid schema for function 'nobody'", ""},
		{"messages.1.content: field required", ""},
	} {
		t.Run(c.message, func(t *testing.T) {
			p := play(fails(&providers.APIError{Status: 400, Message: c.message}), says("ok"), says("again"))
			s := session(t, function(t, "a", "", nothing), function(t, "b", "", nothing), function(t, "c", "", nothing))
			r, events, err := run(t, s, ask(p, "go"))
			if c.out == "" {
				if err == nil || len(p.steps) != 2 {
					t.Errorf("no error\n%s", events)
				}
				return
			}
			if err != nil || r.Text != "ok" || !strings.Contains(events, "note tool "+c.out+" is left out, script refuses it: ") || strings.Count(events, "turn_start") != 1 {
				t.Fatalf("%v\n%s", err, events)
			}
			want := strings.TrimSpace(strings.Replace("a b c ", c.out+" ", "", 1))
			if got := offered(p.request(1), p.Format()); got != want {
				t.Errorf("offered %q, want %q", got, want)
			}
			if _, _, err = run(t, s, ask(p, "go")); err != nil || offered(p.request(2), p.Format()) != offered(p.request(1), p.Format()) {
				t.Errorf("the next run: %v, offered %s", err, offered(p.request(2), p.Format()))
			}
		})
	}
}

// The index in an error is that of the tools which were sent.
func TestQuarantineOfSome(t *testing.T) {
	p := play(fails(&providers.APIError{Status: 400, Message: "tools[0]: bad"}), says("ok"))
	task := ask(p, "go")
	task.Must = &providers.Selection{Match: []string{"b", "c"}}
	_, events, err := run(t, session(t, function(t, "a", "", nothing), function(t, "b", "", nothing), function(t, "c", "", nothing)), task)
	if err != nil || offered(p.request(0), p.Format()) != "b c" || offered(p.request(1), p.Format()) != "a c" || p.request(1).Choice != "c" {
		t.Errorf("%v: offered %s, then %s\n%s", err, offered(p.request(0), p.Format()), offered(p.request(1), p.Format()), events)
	}
}

func TestQuarantineEnds(t *testing.T) {
	var steps []step
	var tools []bridge.Tool
	for i := range 20 {
		steps = append(steps, fails(&providers.APIError{Status: 400, Message: "tools[0]: bad"}))
		tools = append(tools, function(t, fmt.Sprintf("t%d", i), "", nothing))
	}
	p := play(steps...)
	if _, _, err := run(t, session(t, tools...), ask(p, "go")); err == nil || len(p.requests) != 9 {
		t.Errorf("%v after %d requests", err, len(p.requests))
	}
	p = play(fails(&providers.APIError{Status: 400, Message: "tools[0]: bad"}))
	task := ask(p, "go")
	task.Request.Tools = providers.NewToolSet([]toolformat.Tool{{Name: "own"}})
	if _, _, err := run(t, session(t, tools...), task); err == nil || len(p.requests) != 1 {
		t.Errorf("the asker's own: %v after %d requests", err, len(p.requests))
	}
}

// stub is a source of definitions whose calls all have one reply.
type stub struct {
	bridge.Session
	list  *bridge.List
	err   error // of List
	reply bridge.Reply
}

func newStub(t *testing.T, definitions ...string) *stub {
	t.Helper()
	var items []bridge.Item
	for _, d := range definitions {
		it, err := bridge.NewItem(bridge.Tools, []byte(d))
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, it)
	}
	return &stub{list: bridge.NewList(bridge.Tools, items)}
}

func (s *stub) Open(context.Context, *bridge.Caller) (bridge.Session, error) { return s, nil }
func (s *stub) List(context.Context, bridge.ListKind) (*bridge.List, error)  { return s.list, s.err }
func (s *stub) Do(context.Context, *bridge.Request) bridge.Reply             { return s.reply }
func (s *stub) Close() error                                                 { return nil }

// A tool that the format cannot express is left out, with a note; any result of the source is
// given to the model.
func TestFaults(t *testing.T) {
	source := newStub(t, `{"name":"bad","inputSchema":{"type":"array"}}`, `{"name":"odd","annotations":{}}`)
	for _, c := range []struct {
		reply bridge.Reply
		want  string
	}{
		{bridge.Result([]byte(`{"content":`), nil), "Error: the tool's result is not valid JSON"},
		{bridge.Result(nil, nil), ""},
		{bridge.Result([]byte(`{"content":"text"}`), nil), `{"content":"text"}`},
		{bridge.Failed(&toolformat.Error{Code: toolformat.Timeout}), "Error: timeout"},
		{bridge.Failed(toolformat.Errorf(toolformat.Canceled, "the session has ended")), "Error: the session has ended"},
		{bridge.Failed(toolformat.Errorf(toolformat.NotFound, "gone")), "Error: unknown tool: odd; no other tools are available"},
	} {
		source.reply = c.reply
		s, err := providers.NewToolbox(source).Open(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		p := play(calls(call("1", "bad", "{}"), call("2", "odd", `{"a":1}`)), says("ok"))
		r, events, err := run(t, s, ask(p, "go"))
		if err != nil {
			t.Fatal(err)
		}
		if offered(p.request(0), p.Format()) != "odd" || strings.Count(events, "note tool bad is left out, script does not support it: ") != 1 {
			t.Errorf("offered %s\n%s", offered(p.request(0), p.Format()), events)
		}
		same(t, "results", show(r.Messages[2:3]), "tool: [1 Error: unknown tool: bad; the tools are: odd] [2 "+c.want+"]")
	}
}

// A list that fails is an error at first; later the last known list is used.
func TestListFails(t *testing.T) {
	source := newStub(t, `{"name":"f","inputSchema":{"type":"object"}}`)
	s, err := providers.NewToolbox(source).Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	source.err = toolformat.Errorf(toolformat.Unavailable, "its server is away")
	if _, events, err := run(t, s, ask(play(), "go")); err == nil || events != "error listing tools: its server is away\n" {
		t.Errorf("%v\n%s", err, events)
	}
	source.err = nil
	leaves := func(ctx context.Context, req *providers.Request, emit func(providers.Event)) (*providers.Turn, error) {
		source.err = errors.New("away")
		return calls(call("1", "f", "{}"))(ctx, req, emit)
	}
	if _, _, err := run(t, s, ask(play(leaves, says("ok")), "go")); err != nil {
		t.Error(err)
	}
}

func TestModelWithoutTools(t *testing.T) {
	refuses := fmt.Errorf("tiny: %w", providers.ErrNoTools)
	standIn := play(calls(call("1", "add", `{"a":1,"b":1}`)), says("2"))
	standIn.name = "prompted"
	for _, c := range []struct {
		name    string
		options providers.Options
		known   bool
		steps   []step
		text    string
		fails   string
		note    string
	}{
		{name: "an error", steps: []step{fails(refuses)}, fails: "tiny: the model does not support tools: choose another model, or allow prompted tools or none"},
		{name: "known, an error", known: true, fails: "script: the model does not support tools: choose another model, or allow prompted tools or none"},
		{name: "a stand-in", options: providers.Options{StandIn: func(providers.Provider) providers.Provider { return standIn }}, steps: []step{fails(refuses)}, text: "2",
			note: "script has no native tool calling: its prompt describes the tools"},
		{name: "without", options: providers.Options{Toolless: true}, steps: []step{fails(refuses), says("hm")}, text: "hm", note: "script does not support tools: it continues without them"},
		{name: "known, without", known: true, options: providers.Options{Toolless: true}, steps: []step{says("hm")}, text: "hm", note: "script does not support tools: it continues without them"},
		{name: "a stand-in that cannot either", options: providers.Options{Toolless: true, StandIn: func(providers.Provider) providers.Provider { return play(fails(refuses), says("hm")) }},
			steps: []step{fails(refuses)}, text: "hm", note: "script does not support tools: it continues without them"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := play(c.steps...)
			task := ask(p, "1+1")
			task.Options, task.NoTools = c.options, c.known
			r, events, err := run(t, session(t, adder(t)), task)
			if len(p.steps) > 0 || r.Text != c.text || !strings.Contains(events, c.note) {
				t.Errorf("%q, %d steps left\n%s", r.Text, len(p.steps), events)
			}
			if (err != nil) != (c.fails != "") || err != nil && (err.Error() != c.fails || !errors.Is(err, providers.ErrNoTools)) {
				t.Errorf("%v", err)
			}
		})
	}
}

// history returns a conversation with so many rounds of calls.
func history(rounds int) []providers.Message {
	all := []providers.Message{providers.UserText("first")}
	for i := range rounds {
		id := fmt.Sprint(i)
		said := providers.Message{Role: providers.RoleAssistant, Parts: []providers.Part{call(id, "add", "{}")}}
		if i%2 == 1 {
			said.Parts = append([]providers.Part{txt("step" + id)}, said.Parts...)
		}
		all = append(all, said, providers.Message{Role: providers.RoleTool, Parts: []providers.Part{{Type: providers.PartResult,
			Result: &providers.Result{ID: id, Name: "add", Content: toolformat.TextResult(strings.Repeat("x", 1000), false)}}}})
	}
	return all
}

// ids returns the calls and results of a request.
func ids(messages []providers.Message) string {
	var all []string
	for _, m := range messages {
		for _, p := range m.Parts {
			switch {
			case p.Call != nil:
				all = append(all, p.Call.ID)
			case p.Result != nil:
				all = append(all, "="+p.Result.ID)
			default:
				all = append(all, p.Text)
			}
		}
	}
	return strings.Join(all, " ")
}

func TestWindow(t *testing.T) {
	long := &providers.APIError{Status: 400, Code: "context_length_exceeded", Message: "This model's maximum context length is 8192 tokens."}
	for _, c := range []struct {
		name     string
		messages []providers.Message
		steps    []step
		limits   providers.Limits
		want     []string // calls and results in each request
		fails    bool
		dropped  int
	}{
		{name: "an error", messages: history(4), steps: []step{fails(long), says("ok")}, dropped: 2,
			want: []string{"first 0 =0 step1 1 =1 2 =2 step3 3 =3", "first 2 =2 step3 3 =3"}},
		{name: "again and again", messages: history(4), steps: []step{fails(long), fails(long), fails(long)}, fails: true, dropped: 3,
			want: []string{"first 0 =0 step1 1 =1 2 =2 step3 3 =3", "first 2 =2 step3 3 =3", "first step3 3 =3"}},
		{name: "with a prompt behind", messages: append(history(1), providers.UserText("and?")), steps: []step{fails(long), says("ok")}, dropped: 1,
			want: []string{"first 0 =0 and?", "first and?"}},
		{name: "nothing to drop", messages: history(0), steps: []step{fails(long)}, fails: true, want: []string{"first"}},
		{name: "another error", messages: history(3), steps: []step{fails(&providers.APIError{Status: 429, Message: "too many tokens per minute"})}, fails: true,
			want: []string{"first 0 =0 step1 1 =1 2 =2"}},
		{name: "a turn that filled it", messages: history(2), steps: []step{turn(providers.StopWindow, txt("half a")), says("ok")}, dropped: 1,
			want: []string{"first 0 =0 step1 1 =1", "first step1 1 =1"}},
		{name: "a turn that filled it, nothing to drop", messages: history(1), steps: []step{turn(providers.StopWindow, txt("half a"))},
			want: []string{"first 0 =0"}},
		{name: "a limit", messages: history(6), limits: providers.Limits{Window: 600}, steps: []step{says("ok")}, dropped: 4,
			want: []string{"first 4 =4 step5 5 =5"}},
		{name: "a limit that cannot be kept", messages: history(2), limits: providers.Limits{Window: 1}, steps: []step{says("ok")}, dropped: 1,
			want: []string{"first step1 1 =1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := play(c.steps...)
			task := ask(p, "")
			task.Request.Messages, task.Options.Limits = c.messages, c.limits
			r, events, err := run(t, session(t), task)
			if (err != nil) != c.fails || r.Dropped != c.dropped || len(p.requests) != len(c.want) {
				t.Fatalf("%v, %d dropped, %d requests\n%s", err, r.Dropped, len(p.requests), events)
			}
			for i, want := range c.want {
				if got := ids(p.request(i).Messages); got != want {
					t.Errorf("request %d: %s\nwant %s", i, got, want)
				}
			}
			if c.dropped > 0 && !strings.Contains(events, "are left out") {
				t.Errorf("nothing is said of it:\n%s", events)
			}
			if got := ids(r.Messages); !strings.HasPrefix(got, ids(c.messages)) {
				t.Errorf("the conversation has lost something: %s", got)
			}
		})
	}
}

// A long conversation without calls loses its oldest messages, where that is allowed, and the
// next run knows it.
func TestShorten(t *testing.T) {
	long := &providers.APIError{Status: 400, Code: "context_length_exceeded"}
	talked := func(prompts ...string) (all []providers.Message) {
		for i, prompt := range prompts {
			if i > 0 {
				all = append(all, providers.Message{Role: providers.RoleAssistant, Parts: []providers.Part{{Type: providers.PartText, Text: "to " + prompts[i-1]}}})
			}
			all = append(all, providers.UserText(prompt))
		}
		return all
	}
	withRound := append(append(history(1), talked("x", "a")[1:]...), talked("x", "b", "c")[1:]...) // first 0 =0 | to x, a | to x, b | to b, c
	for _, c := range []struct {
		name     string
		messages []providers.Message
		steps    []step
		options  providers.Options
		want     []string
		fails    bool
		leftOut  int
	}{
		{name: "not allowed", messages: talked("a", "b", "c"), steps: []step{fails(long)}, fails: true, want: []string{"a to a b to b c"}},
		{name: "an error", messages: talked("a", "b", "c"), steps: []step{fails(long), says("ok")}, options: providers.Options{Shorten: true}, leftOut: 2,
			want: []string{"a to a b to b c", "b to b c"}},
		{name: "until one is left", messages: talked("a", "b", "c"), steps: []step{fails(long), fails(long), fails(long)}, options: providers.Options{Shorten: true}, fails: true, leftOut: 4,
			want: []string{"a to a b to b c", "b to b c", "c"}},
		{name: "rounds first", messages: withRound, steps: []step{fails(long), fails(long), says("ok")}, options: providers.Options{Shorten: true}, leftOut: 6,
			want: []string{"first 0 =0 to x a to x b to b c", "first to x a to x b to b c", "b to b c"}},
		{name: "a limit", messages: talked(strings.Repeat("long ", 1000), "b", "c"), steps: []step{says("ok")}, options: providers.Options{Shorten: true, Limits: providers.Limits{Window: 200}}, leftOut: 2,
			want: []string{"b to b c"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := play(c.steps...)
			task := ask(p, "")
			task.Request.Messages, task.Options = c.messages, c.options
			r, events, err := run(t, session(t), task)
			if (err != nil) != c.fails || r.LeftOut != c.leftOut || r.Dropped != 0 || len(p.requests) != len(c.want) {
				t.Fatalf("%v, %d left out, %d dropped, %d requests\n%s", err, r.LeftOut, r.Dropped, len(p.requests), events)
			}
			for i, want := range c.want {
				if got := ids(p.request(i).Messages); got != want {
					t.Errorf("request %d: %s\nwant %s", i, got, want)
				}
			}
			if c.leftOut > 0 && !strings.Contains(events, fmt.Sprintf("the oldest %d messages are left out", c.leftOut)) {
				t.Errorf("nothing is said of it:\n%s", events)
			}
			if got := ids(r.Messages); !strings.HasPrefix(got, ids(c.messages)) {
				t.Errorf("the conversation has lost something: %s", got)
			}
		})
	}
	p := play(says("1"), says("2"), fails(long), says("3"), says("4"))
	c := talk(t, p).Options(providers.Options{Shorten: true})
	for _, prompt := range []string{"a", "b", "c", "d"} {
		var err error
		if _, c, err = c.Prompt(t.Context(), prompt); err != nil {
			t.Fatal(err)
		}
	}
	if got := ids(p.request(4).Messages); got != "b 2 c 3 d" || len(c.Messages()) != 8 {
		t.Errorf("the next prompt: %s", got)
	}
	saved, err := json.Marshal(c.Transcript())
	var loaded providers.Transcript
	if err == nil {
		err = json.Unmarshal(saved, &loaded)
	}
	if err != nil || loaded.LeftOut != 2 {
		t.Errorf("saved: %d left out, %v", loaded.LeftOut, err)
	}
}

// The provider's count of tokens scales the limit.
func TestWindowIsWeighed(t *testing.T) {
	heavy := func(s step) step { // each byte is a token
		return func(ctx context.Context, req *providers.Request, emit func(providers.Event)) (*providers.Turn, error) {
			turn, err := s(ctx, req, emit)
			turn.Usage.Input = 2000
			return turn, err
		}
	}
	p := play(heavy(calls(call("9", "add", `{"a":1,"b":1}`))), says("ok"))
	task := ask(p, "")
	task.Request.Messages, task.Options.Limits.Window = history(2), 1500
	if _, _, err := run(t, session(t, adder(t)), task); err != nil {
		t.Fatal(err)
	}
	if got := ids(p.request(0).Messages) + " | " + ids(p.request(1).Messages); got != "first 0 =0 step1 1 =1 | first step1 1 =1 9 =9" {
		t.Errorf("requests: %s", got)
	}
}

// A list that changes between rounds is offered; one that does not costs nothing.
func TestListChanges(t *testing.T) {
	native, err := bridge.NewNative(bridge.NativeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer native.Close()
	learn := function(t, "learn", "", func(context.Context) (string, error) {
		return "learnt", native.Replace(function(t, "forget", "", nothing))
	})
	if err := native.Replace(learn); err != nil {
		t.Fatal(err)
	}
	box := providers.NewToolbox(native)
	s, err := box.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p := play(says("hello"), calls(call("1", "learn", "{}")), says("ok"), says("still"))
	for _, prompt := range []string{"a", "b", "c"} {
		if _, _, err := run(t, s, ask(p, prompt)); err != nil {
			t.Fatal(err)
		}
	}
	if p.request(0).Tools != p.request(1).Tools || p.request(2).Tools != p.request(3).Tools {
		t.Error("a list that is the same is written again")
	}
	if got := offered(p.request(1), p.Format()) + ", " + offered(p.request(2), p.Format()); got != "learn, forget" {
		t.Errorf("offered %s", got)
	}
}

// The error for an invalid task names what is missing.
func TestBadTasks(t *testing.T) {
	s := session(t)
	if r, events, err := run(t, s, providers.Task{}); err == nil || r == nil || !strings.HasPrefix(events, "error the task has no provider") {
		t.Errorf("%v\n%s", err, events)
	}
	if _, events, err := run(t, s, providers.Task{Provider: play()}); err == nil || !strings.HasPrefix(events, "error no messages:") {
		t.Errorf("%v\n%s", err, events)
	}
	task := ask(play(), "go")
	task.Options.Serial = []string{"["}
	if _, _, err := run(t, s, task); err == nil || err.Error() != `serial: "[": expected a glob of tool names` {
		t.Error(err)
	}
	none := func(context.Context, *providers.Request, func(providers.Event)) (*providers.Turn, error) {
		return nil, nil
	}
	if _, _, err := run(t, s, ask(play(none), "go")); err == nil {
		t.Error("a provider that gives nothing")
	}
}
