package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/anthropic"
	"github.com/mcpbridge/mcpbridge/providers/gemini"
	"github.com/mcpbridge/mcpbridge/providers/ollama"
	"github.com/mcpbridge/mcpbridge/providers/openai"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// script writes the files of a script, named after their index, and opens it.
func script(t *testing.T, files ...string) (*Script, error) {
	t.Helper()
	dir := t.TempDir()
	var names []string
	for i, text := range files {
		name := filepath.Join(dir, fmt.Sprintf("%d.jsonl", i))
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return Open(names...)
}

// newProvider makes the provider of a format.
func newProvider(f toolformat.Format, c *http.Client) providers.Provider {
	client := providers.Client{HTTP: c}
	switch f {
	case toolformat.FormatOpenAI:
		return openai.NewChat(openai.Options{Client: client})
	case toolformat.FormatOpenAIResponses:
		return openai.NewResponses(openai.Options{Client: client})
	case toolformat.FormatGemini:
		return gemini.New(gemini.Options{Client: client})
	case toolformat.FormatOllama:
		return ollama.New(ollama.Options{Client: client})
	}
	return anthropic.New(anthropic.Options{Client: client})
}

// play returns what answers the requests of a provider of the script's format.
func play(t *testing.T, s *Script) (run http.RoundTripper) {
	t.Helper()
	_, err := s.Provider(func(c *http.Client) providers.Provider {
		run = c.Transport
		return newProvider(s.Format(), c)
	})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// post sends a body through a run, as a provider does, and returns what came back.
func post(t *testing.T, run http.RoundTripper, body string) (text, kind string, err error) {
	t.Helper()
	c := providers.Client{BaseURL: "https://nowhere.invalid", HTTP: &http.Client{Transport: run}, Retry: providers.Retries{Max: -1}}
	var d reader
	_, err = c.Turn(t.Context(), providers.Exchange{Path: "/v1/messages", Body: []byte(body), Decoder: &d}, nil)
	return d.text, d.kind, err
}

// A reader is a Decoder that makes nothing of a response.
type reader struct{ text, kind string }

func (r *reader) Read(resp *providers.Response, _ func(providers.Event)) error {
	body, err := io.ReadAll(resp)
	r.text, r.kind = string(body), resp.Header.Get("Content-Type")
	return err
}

func (r *reader) Turn() *providers.Turn { return &providers.Turn{} }

func TestReplay(t *testing.T) {
	s, err := script(t,
		`{"file":"a","i":0,"url":"https://x","fmt":"anthropic","status":200,"sse":true,"req":{},"resp":"event: ping\ndata: {}\n\n"}`+"\n\n",
		`{"fmt":"anthropic","resp":{"a": 1.0}}`+"\n"+`{"fmt":"anthropic","status":529,"resp":{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	if s.Format() != toolformat.FormatAnthropic {
		t.Errorf("format %s", s.Format())
	}
	for range 2 { // two runs are equal
		run := play(t, s)
		if text, kind, err := post(t, run, `{}`); err != nil || text != "event: ping\ndata: {}\n\n" || kind != "text/event-stream" {
			t.Errorf("%q, %s, %v", text, kind, err)
		}
		if text, kind, err := post(t, run, `{}`); err != nil || text != `{"a": 1.0}` || kind != "application/json" {
			t.Errorf("%q, %s, %v", text, kind, err)
		}
		var e *providers.APIError
		if _, _, err := post(t, run, `{}`); !errors.As(err, &e) || e.Status != 529 || e.Message != "Overloaded" {
			t.Errorf("%v", err)
		}
		if _, _, err := post(t, run, `{}`); !errors.As(err, &e) || e.Again || !strings.HasPrefix(e.Message, "replay: ") || !strings.HasSuffix(e.Message, "1.jsonl:2: the script has ended: it has 3 exchanges, and this is one request more") {
			t.Errorf("%v", err)
		}
	}
}

func TestFormats(t *testing.T) {
	for word, want := range map[string]toolformat.Format{
		"openai": toolformat.FormatOpenAI, "openai-chat": toolformat.FormatOpenAI, "openai-responses": toolformat.FormatOpenAIResponses,
		"anthropic": toolformat.FormatAnthropic, "gemini": toolformat.FormatGemini, "ollama": toolformat.FormatOllama,
	} {
		kind, stream := "text/event-stream", ""
		if word == "ollama" {
			kind, stream = "application/x-ndjson", "{}"
		}
		s, err := script(t, `{"fmt":"`+word+`","sse":true,"resp":"`+stream+`"}`)
		if err != nil || s.Format() != want {
			t.Fatalf("%s: %v", word, err)
		}
		if _, got, err := post(t, play(t, s), ""); err != nil || got != kind {
			t.Errorf("%s: %s, %v", word, got, err)
		}
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", " \n", `0.jsonl"]: expected a JSON object a line`},
		{"no JSON", `{"fmt":"gemini","resp":{}}` + "\nhello", "0.jsonl:2: expected an exchange as one JSON object a line: invalid character 'h'"},
		{"unknown key", `{"fmt":"gemini","resp":{},"chek":true}`, `0.jsonl:1: expected an exchange as one JSON object a line: json: unknown field "chek"`},
		{"no format", `{"resp":{}}`, `0.jsonl:1: fmt is missing: expected the format of the API`},
		{"two formats", `{"fmt":"gemini","resp":{}}` + "\n" + `{"fmt":"ollama","resp":{}}`, "0.jsonl:2: fmt ollama: expected gemini, as in the exchanges before it"},
		{"status", `{"fmt":"gemini","status":20,"resp":{}}`, "0.jsonl:1: status 20: expected"},
		{"no response", `{"fmt":"gemini"}`, "0.jsonl:1: resp is missing"},
		{"no stream", `{"fmt":"gemini","sse":true,"resp":{}}`, "0.jsonl:1: resp: expected a JSON string of the stream"},
		{"nothing to check", `{"fmt":"gemini","check":true,"resp":{}}`, "0.jsonl:1: check without req"},
	} {
		if _, err := script(t, c.text); err == nil || !strings.HasPrefix(err.Error(), "replay: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, err := Open(); err == nil {
		t.Error("no files at all")
	}
}

// A script is played by a provider of its format, which says where results are.
func TestOtherProvider(t *testing.T) {
	anthropic := func(c *http.Client) providers.Provider { return newProvider(toolformat.FormatAnthropic, c) }
	unplaced := func(c *http.Client) providers.Provider { return struct{ providers.Provider }{anthropic(c)} }
	for _, c := range []struct {
		line, want string
		make       func(*http.Client) providers.Provider
	}{
		{`{"fmt":"cohere","resp":{}}`, `0.jsonl:1: fmt "cohere": provider anthropic speaks anthropic`, anthropic},
		{`{"fmt":"anthropic","check":true,"req":{},"resp":{}}`, `0.jsonl:1: check: provider anthropic has no ResultPlace`, unplaced},
	} {
		s, err := script(t, c.line)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Provider(c.make); err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s: %v", c.line, err)
		}
	}
}

// exchanges are requests with the results of two calls, in each format; %s is the first of
// them as JSON.
var exchanges = map[string]string{
	"openai":           `{"messages":[{"role":"user","content":"x"},{"role":"tool","tool_call_id":"c1","content":%s},{"role":"tool","tool_call_id":"c2","content":"two"}]}`,
	"openai-responses": `{"input":[{"type":"function_call_output","call_id":"c1","output":%s},{"type":"function_call_output","call_id":"c2","output":"two"}]}`,
	"anthropic":        `{"messages":[{"role":"user","content":"x"},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":%s},{"type":"tool_result","tool_use_id":"c2","content":[{"type":"text","text":"two"}]}]}]}`,
	"gemini":           `{"contents":[{"parts":[{"functionResponse":{"name":"c1","response":%s}},{"functionResponse":{"id":"c2","name":"f","response":{"output":"two"}}}]}]}`,
	"ollama":           `{"messages":[{"role":"tool","content":%s,"tool_name":"c1"},{"role":"tool","content":"two","tool_name":"f","tool_call_id":"c2"}]}`,
}

func TestCheck(t *testing.T) {
	for format, template := range exchanges {
		request := func(result string) string { return fmt.Sprintf(template, result) }
		s, err := script(t, fmt.Sprintf(`{"fmt":%q,"check":true,"req":%s,"resp":{}}`, format, request(`"one"`)))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct{ name, request, want string }{
			{"the same", request(`"one"`), ""},
			{"as blocks", request(`[{"type":"text","text":"one"}]`), ""},
			{"white space", request(" \n\"one\" "), ""},
			{"another result", request(`"another"`), `0.jsonl:1: the result of the call c1 is "another"; the recorded one has "one"`},
			{"no results", `{}`, `0.jsonl:1: the request lacks a result of the call c1; the recorded one has "one"`},
			{"a long one", request(`"` + strings.Repeat("é", 300) + `"`), "is \"" + strings.Repeat("é", 200) + "\"; the"},
			{"no JSON", "x", "0.jsonl:1: the request is not JSON"},
		} {
			_, _, err := post(t, play(t, s), c.request)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: %s: %v", format, c.name, err)
			}
		}
	}
}

// A request that fails its check consumes no response.
func TestCheckKeepsPlace(t *testing.T) {
	request := fmt.Sprintf(exchanges["openai"], `"one"`)
	s, err := script(t, `{"fmt":"openai","check":true,"req":`+request+`,"resp":{"n":1}}`)
	if err != nil {
		t.Fatal(err)
	}
	run := play(t, s)
	if _, _, err := post(t, run, `{}`); err == nil {
		t.Error("it passes")
	}
	if text, _, err := post(t, run, request); err != nil || text != `{"n":1}` {
		t.Errorf("%s, %v", text, err)
	}
}

func TestManyAtOnce(t *testing.T) {
	s, err := script(t, strings.Repeat(`{"fmt":"openai","resp":{}}`+"\n", 50))
	if err != nil {
		t.Fatal(err)
	}
	run := play(t, s)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, _, err := post(t, run, `{}`); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if _, _, err := post(t, run, `{}`); err == nil {
		t.Error("more responses than there are")
	}
}

// Recorded conversations are valid scripts, and pass their own check.
func TestCorpus(t *testing.T) {
	for _, format := range []string{"openai-chat", "openai-responses", "anthropic", "gemini"} {
		for _, conversation := range providertest.Corpus(t, format) {
			var lines strings.Builder
			for _, e := range conversation {
				b, err := json.Marshal(struct {
					providertest.Exchange
					Check bool `json:"check"`
				}{e, e.Req != nil})
				if err != nil {
					t.Fatal(err)
				}
				lines.Write(append(b, '\n'))
			}
			s, err := script(t, lines.String())
			if err != nil {
				t.Fatalf("%s: %v", conversation[0].File, err)
			}
			run := play(t, s)
			for _, e := range conversation {
				text, _, err := post(t, run, string(e.Req))
				if e.Status == 200 && (err != nil || e.SSE && text != string(e.Body())) {
					t.Errorf("%s %d: %v", e.File, e.I, err)
				}
			}
		}
	}
}

// A script with prompts answers them in any order and again, and says which they are.
func TestPrompts(t *testing.T) {
	answer := func(more, content string) string {
		return `{"fmt":"anthropic",` + more + `"resp":{"content":[` + content + `],"stop_reason":"end_turn"}}` + "\n"
	}
	text := func(s string) string { return `{"type":"text","text":"` + s + `"}` }
	call := `{"type":"tool_use","id":"c1","name":"f","input":{}}`
	s, err := script(t, answer(`"prompt":"What is it?",`, call)+answer("", text("one"))+answer(`"prompt":"And then?",`, text("two")))
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Provider(func(c *http.Client) providers.Provider { return newProvider(s.Format(), c) })
	if err != nil {
		t.Fatal(err)
	}
	model := providers.Message{Role: providers.RoleAssistant}
	results := providers.Message{Role: providers.RoleTool}
	for _, c := range []struct {
		name     string
		messages []providers.Message
		want     string
	}{
		{"a later one", []providers.Message{providers.UserText("and  then")}, "two"},
		{"within more", []providers.Message{providers.UserText("<env/> What is it? Say.")}, "c1"},
		{"results", []providers.Message{providers.UserText("what is it"), model, results}, "one"},
		{"again", []providers.Message{providers.UserText("what is it"), model, results, model, providers.UserText("What is it?")}, "c1"},
		{"what a client adds", []providers.Message{providers.UserText("what is it"), providers.UserText("reminder"), model, results, providers.UserText("reminder")}, "one"},
		{"another one later", []providers.Message{providers.UserText("what is it"), model, results, model, providers.UserText("Hello")}, "which answers only"},
		{"another one", []providers.Message{providers.UserText("Hello")}, `0.jsonl:1: this model is a recording, which answers only "What is it?", "And then?"; for all else, choose another model`},
		{"one more", []providers.Message{providers.UserText("what is it"), model, results, model, results}, `0.jsonl:2: the recorded answer ends here, and this is one request more`},
		{"nothing", nil, "which answers only"},
	} {
		turn, err := p.Turn(t.Context(), &providers.Request{Model: "m", Messages: c.messages}, nil)
		got := fmt.Sprint(err)
		if err == nil {
			got = turn.Message.Text()
			for _, call := range turn.Message.Calls() {
				got += call.ID
			}
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.name, got)
		}
		if err != nil && toolformat.AsError(err).Code != toolformat.Invalid {
			t.Errorf("%s: a client that is told %v asks again", c.name, err)
		}
	}
	if _, err := script(t, answer("", "")+answer(`"prompt":"x",`, "")); err == nil || !strings.Contains(err.Error(), "0.jsonl:2: prompt: expected one on the first line, too") {
		t.Errorf("a late prompt: %v", err)
	}
}
