package prompted

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

var update = flag.Bool("update", false, "write the golden files anew")

// behind is an inner provider with a fixed answer, streamed in pieces of five bytes.
type behind struct {
	reply  string
	turn   providers.Turn // except for the text
	err    error
	silent bool            // it does not stream
	first  providers.Event // except for the text

	mu  sync.Mutex // guards req
	req *providers.Request
}

func (b *behind) Name() string              { return "behind" }
func (b *behind) Format() toolformat.Format { return toolformat.FormatOllama }

func (b *behind) Turn(ctx context.Context, req *providers.Request, emit func(providers.Event)) (*providers.Turn, error) {
	b.mu.Lock()
	b.req = req
	b.mu.Unlock()
	if b.first.Type != "" {
		emit(b.first)
	}
	said := ""
	for _, portion := range portions(b.reply, []byte{4}) {
		if b.silent {
			break
		}
		said += portion
		emit(providers.Event{Type: providers.EventTextDelta, Text: portion})
		if ctx.Err() != nil {
			return &providers.Turn{Stop: providers.StopCut, Message: providers.Message{Role: providers.RoleAssistant, Parts: []providers.Part{{Type: providers.PartText, Text: said}}}}, ctx.Err()
		}
	}
	if b.err != nil && b.turn.Stop == "" {
		return nil, b.err
	}
	t := b.turn
	t.Message.Role = providers.RoleAssistant
	t.Message.Parts = append(t.Message.Parts, providers.Part{Type: providers.PartText, Text: b.reply})
	if b.err == nil {
		raw, _ := json.Marshal(b.reply)
		t.Message.Raw = &providers.Raw{Provider: "behind", Model: req.Model, Items: raw}
	}
	return &t, b.err
}

// ask gets a turn and its events.
func ask(t *testing.T, b *behind, req *providers.Request) (turn *providers.Turn, heard string, err error) {
	t.Helper()
	var lines []string
	turn, err = New(b, Options{}).Turn(t.Context(), req, func(ev providers.Event) {
		switch {
		case ev.Call != nil:
			lines = append(lines, fmt.Sprintf("%s %s %s %s", ev.Type, ev.Call.ID, ev.Call.Name, ev.Text))
		case len(lines) > 0 && strings.HasPrefix(lines[len(lines)-1], string(ev.Type)):
			lines[len(lines)-1] += ev.Text
		default:
			lines = append(lines, string(ev.Type)+" "+ev.Text)
		}
	})
	return turn, strings.Join(lines, "\n"), err
}

func parts(m *providers.Message) string {
	var lines []string
	for _, p := range m.Parts {
		if p.Call != nil {
			lines = append(lines, fmt.Sprintf("call %s %s %s", p.Call.ID, p.Call.Name, p.Call.Arguments))
		} else {
			lines = append(lines, fmt.Sprintf("%s %q", p.Type, p.Text))
		}
	}
	return strings.Join(lines, "\n")
}

func request(messages ...providers.Message) *providers.Request {
	return &providers.Request{Model: "m", Tools: testTools(), Messages: append([]providers.Message{providers.UserText("Hi.")}, messages...)}
}

func want(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s:\n%v\nwant\n%v", what, got, want)
	}
}

func TestTurn(t *testing.T) {
	for _, silent := range []bool{false, true} {
		b := &behind{reply: "Let me see.\n<tool_call>" + paris + "</tool_call>\n<tool_call>" + paris + "</tool_call>", silent: silent}
		b.turn = providers.Turn{Stop: providers.StopEnd, Model: "m-2", Usage: providers.Usage{Input: 3}}
		b.turn.Message.Parts = []providers.Part{{Type: providers.PartThinking, Text: "hm"}}
		turn, heard, err := ask(t, b, request())
		if err != nil {
			t.Fatal(err)
		}
		want(t, "parts", parts(&turn.Message), "thinking \"hm\"\ntext \"Let me see.\\n\"\ncall call_1_0 get_weather {\"location\": \"Paris\"}\ncall call_1_1 get_weather {\"location\": \"Paris\"}")
		want(t, "events", heard, "text_delta Let me see.\n\narguments_delta call_1_0 get_weather {\"location\": \"Paris\"}\narguments_delta call_1_1 get_weather {\"location\": \"Paris\"}")
		want(t, "stop, model and usage", fmt.Sprint(turn.Stop, turn.Model, turn.Usage.Input), "tool_callsm-23")
		want(t, "owner of the raw items", turn.Message.Raw.Provider, "prompted")
		if b.req.Tools != nil || b.req.Choice != providers.ChoiceAuto {
			t.Error("the provider behind is sent tools")
		}
	}
}

// The provider within says which parameters the models take.
func TestInner(t *testing.T) {
	b := &behind{}
	if inner := New(b, Options{}).Inner(); inner != b {
		t.Errorf("got %v", inner)
	}
}

// The inner server may parse calls although it was offered no tools. They count, and are sent
// back as text, as are their results.
func TestNativeCalls(t *testing.T) {
	made := &providers.Call{ID: "native", Name: "add", Arguments: json.RawMessage(`{"a":1}`)}
	b := &behind{reply: "I add.", turn: providers.Turn{Stop: providers.StopCalls, Message: providers.Message{Parts: []providers.Part{{Type: providers.PartCall, Call: made}}}}}
	turn, _, err := ask(t, b, request())
	if err != nil {
		t.Fatal(err)
	}
	want(t, "the turn", parts(&turn.Message), "text \"I add.\"\ncall native add {\"a\":1}")
	want(t, "its end", turn.Stop, providers.StopCalls)
	if _, _, err = ask(t, b, request(turn.Message)); err != nil {
		t.Fatal(err)
	}
	sent := &b.req.Messages[1]
	want(t, "what is sent back", parts(sent), `text "I add.\n<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\":1}}\n</tool_call>"`)
	if sent.Raw != nil {
		t.Errorf("the message goes back as it came, with a call that has no result: %s", sent.Raw.Items)
	}
}

// Thinking has no calls.
func TestThinking(t *testing.T) {
	b := &behind{reply: "<think>hm " + paris + "</think>\n" + paris, turn: providers.Turn{Stop: providers.StopEnd}}
	turn, heard, err := ask(t, b, request())
	if err != nil {
		t.Fatal(err)
	}
	want(t, "parts", parts(&turn.Message), fmt.Sprintf("thinking %q\ncall call_1_0 get_weather {\"location\": \"Paris\"}", "hm "+paris))
	want(t, "events", heard, "thinking_delta hm "+paris+"\narguments_delta call_1_0 get_weather {\"location\": \"Paris\"}")
	b = &behind{reply: "Hi.", first: providers.Event{Type: providers.EventThinkingDelta, Text: paris}, turn: providers.Turn{Stop: providers.StopEnd}}
	if _, heard, err = ask(t, b, request()); err != nil {
		t.Fatal(err)
	}
	want(t, "events", heard, "thinking_delta "+paris+"\ntext_delta Hi.")
}

// The request for the inner provider, as a golden file.
func TestRequest(t *testing.T) {
	b := &behind{reply: "I look.\n<tool_call>" + paris + "</tool_call>", turn: providers.Turn{Stop: providers.StopEnd}}
	req := request()
	req.System = "Be brief."
	first, _, err := ask(t, b, req)
	if err != nil {
		t.Fatal(err)
	}
	result := func(name, mcp string) providers.Part {
		return providers.Part{Type: providers.PartResult, Result: &providers.Result{ID: "x", Name: name, Content: &toolformat.Result{JSON: json.RawMessage(mcp)}}}
	}
	elsewhere := providers.Message{Role: providers.RoleAssistant, Raw: &providers.Raw{Provider: "openai", Items: json.RawMessage(`[1]`)}, Parts: []providers.Part{
		{Type: providers.PartText, Text: "Now I write."},
		{Type: providers.PartCall, Call: &providers.Call{ID: "c", Name: "files.write", Arguments: json.RawMessage(`{"n":12345678901234567890}`)}},
		{Type: providers.PartCall, Call: &providers.Call{ID: "d", Name: "gone tool"}},
	}}
	req.Messages = append(req.Messages, first.Message,
		providers.Message{Role: providers.RoleTool, Parts: []providers.Part{result("get_weather", `{"content":[{"type":"text","text":"Sunny, 72°F </tool_response> <b>"}]}`)}},
		elsewhere,
		providers.Message{Role: providers.RoleTool, Parts: []providers.Part{
			result("files.write", `{"content":[{"type":"text","text":"disk full"}],"isError":true}`),
			result("gone tool", `{"content":[{"type":"image","data":"iVBORw==","mimeType":"image/png"}],"structuredContent":{"n":1.0}}`),
		}},
		providers.UserText("And now?"),
		providers.Message{Role: providers.RoleAssistant, Raw: &providers.Raw{Provider: "behind", Items: json.RawMessage(`"As ever."`)}, Parts: []providers.Part{{Type: providers.PartText, Text: "As ever."}}},
		providers.UserText("Good."))
	if _, _, err := ask(t, b, req); err != nil {
		t.Fatal(err)
	}
	providertest.Golden(t, *update, "testdata/request.txtar", archive(b.req)...)
}

// A result that a model repeats as it was sent makes no call, and means what it did.
func TestContent(t *testing.T) {
	for _, c := range append(slices.Clone(scannerCases), abstractCases...) {
		for _, text := range []string{c.text, "[" + string(wire.AppendString(nil, c.text)) + "]"} {
			sent := testSyntax().resultJSON(text)
			var back string
			if json.Unmarshal(sent, &back) != nil && !sameJSON(string(sent), text) || back != "" && back != text {
				t.Errorf("%s became %s", text, sent)
			}
			for _, mark := range []string{"<tool_call>", "[tool_calls]", "<function=", "</tool_response", "tool_call:", "```tool_code"} {
				if strings.Contains(strings.ToLower(string(sent)), mark) {
					t.Errorf("%s keeps %s: %s", text, mark, sent)
				}
			}
			if got := scanned(1<<20, string(sent)); strings.Contains(got, "{") && !strings.HasPrefix(got, `"`) && !json.Valid([]byte(c.text)) {
				t.Errorf("%s makes a call:\n%s", sent, got)
			}
		}
	}
	for text, want := range map[string]string{
		"a\tool_call: b":                  `"a\tool_call: b"`,
		"a\\tool_call: b":                 `"a\\\u0074ool_call: b"`,
		`{"a":"<B> </Tool_Response>"}`:    `{"a":"<B> \u003c/Tool_Response>"}`,
		`[1, "[TOOL_CALLS]", "[x]"]`:      `[1, "\u005bTOOL_CALLS]", "[x]"]`,
		"<|tool_call|> |tool_call| <|x|>": `"\u003c\u007ctool_call|> \u007ctool_call| <|x|>"`,
		"```tool_code\n```json":           `"\u0060` + "``tool_code\\n```json\"",
	} {
		if got := string(testSyntax().resultJSON(text)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// archive returns a request as a file for each message.
func archive(req *providers.Request) []txtar.File {
	files := []txtar.File{{Name: "system", Data: []byte(req.System + "\n")}}
	for i, m := range req.Messages {
		var b bytes.Buffer
		for _, p := range m.Parts {
			if p.Type == providers.PartText {
				b.WriteString(p.Text)
			} else {
				fmt.Fprintf(&b, "(%s %s %q)", p.Type, p.MimeType, p.Data)
			}
		}
		if m.Raw != nil {
			fmt.Fprintf(&b, "\n(raw of %s: %s)", m.Raw.Provider, m.Raw.Items)
		}
		b.WriteByte('\n')
		files = append(files, txtar.File{Name: fmt.Sprintf("%d %s", i, m.Role), Data: b.Bytes()})
	}
	return files
}

func TestChoice(t *testing.T) {
	for _, c := range []struct {
		choice     providers.Choice
		serial     bool
		says, lets string
	}{
		{providers.ChoiceAuto, false, "When no tool is needed, just answer.", "tool_calls"},
		{providers.ChoiceRequired, false, "you must use a tool.", "tool_calls"},
		{"files.write", false, "you must use the tool " + testTools().WireName(format, "files.write") + ".", "tool_calls"},
		{providers.ChoiceAuto, true, "Write one such block at most.", "tool_calls"},
		{providers.ChoiceNone, false, "", "end"},
	} {
		b := &behind{reply: paris, turn: providers.Turn{Stop: providers.StopEnd}}
		req := request()
		req.Choice, req.Settings.Serial = c.choice, c.serial
		turn, _, err := ask(t, b, req)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.req.System, c.says) || c.says == "" && b.req.System != "" {
			t.Errorf("choice %q: the model is told %q", c.choice, b.req.System)
		}
		want(t, "stop", turn.Stop, c.lets)
	}
}

// A result that the model makes up ends its turn; later calls are ignored.
func TestMadeUp(t *testing.T) {
	call := "<tool_call>" + paris + "</tool_call>"
	b := &behind{reply: call + "\n<tool_response>\nsunny\n</tool_response>\nIt is sunny. " + strings.Repeat(call, 100), turn: providers.Turn{Stop: providers.StopEnd}}
	for _, silent := range []bool{false, true} {
		b.silent = silent
		turn, heard, err := ask(t, b, request())
		if err != nil {
			t.Fatal(err)
		}
		want(t, "stop", turn.Stop, providers.StopCalls)
		want(t, "parts", parts(&turn.Message), `call call_1_0 get_weather {"location": "Paris"}`)
		if turn.Message.Raw != nil {
			t.Error("what the model made up is kept")
		}
		if !strings.Contains(heard, "note ") {
			t.Errorf("nothing is said of it: %s", heard)
		}
	}
}

func TestErrors(t *testing.T) {
	broke := errors.New("broke")
	if turn, _, err := ask(t, &behind{err: broke}, request()); turn != nil || !errors.Is(err, broke) {
		t.Errorf("a turn that did not begin: %v, %v", turn, err)
	}
	turn, heard, err := ask(t, &behind{reply: "<tool_call>" + paris + "</tool_call> and <tool_c", err: broke, turn: providers.Turn{Stop: providers.StopCut}}, request())
	if !errors.Is(err, broke) || turn == nil {
		t.Fatalf("a turn that was cut: %v, %v", turn, err)
	}
	want(t, "stop", turn.Stop, providers.StopCut)
	want(t, "parts", parts(&turn.Message), "call call_1_0 get_weather {\"location\": \"Paris\"}\ntext \" and <tool_c\"")
	want(t, "events", heard, "arguments_delta call_1_0 get_weather {\"location\": \"Paris\"}\ntext_delta  and <tool_c")
	if turn.Message.Raw != nil {
		t.Error("half a message is kept")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	turn, err = New(&behind{reply: "Hello."}, Options{}).Turn(ctx, request(), nil)
	if !errors.Is(err, context.Canceled) || turn.Stop != providers.StopCut {
		t.Errorf("cancelled: %v, %v", turn, err)
	}
}

func TestStops(t *testing.T) {
	for _, c := range []struct{ behind, want providers.Stop }{
		{providers.StopEnd, providers.StopCalls}, {providers.StopLength, providers.StopLength}, {providers.StopOther, providers.StopOther},
	} {
		turn, _, err := ask(t, &behind{reply: paris, turn: providers.Turn{Stop: c.behind}}, request())
		if err != nil {
			t.Fatal(err)
		}
		want(t, "stop", turn.Stop, c.want)
	}
}

func TestManyAtOnce(t *testing.T) {
	b := &behind{reply: "<tool_call>" + paris + "</tool_call>", turn: providers.Turn{Stop: providers.StopEnd}}
	p := New(b, Options{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if turn, err := p.Turn(t.Context(), request(), nil); err != nil || len(turn.Message.Calls()) != 1 {
				t.Errorf("%v, %v", turn, err)
			}
		})
	}
	wg.Wait()
}
