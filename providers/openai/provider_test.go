package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

var (
	_ providers.Provider = (*Chat)(nil)
	_ providers.Provider = (*Responses)(nil)
)

func chat(o Options) providers.Provider      { return NewChat(o) }
func responses(o Options) providers.Provider { return NewResponses(o) }

// over makes a provider over a client.
func over(provider func(Options) providers.Provider) providertest.Maker {
	return func(c *http.Client) providers.Provider { return provider(Options{Client: providers.Client{HTTP: c}}) }
}

// answering returns options for a provider that gets these answers.
func answering(answers ...providertest.Answer) (Options, *providertest.Transport) {
	c := &providertest.Transport{Answers: answers}
	return Options{Client: providers.Client{HTTP: c.Client(), Retry: providers.Retries{First: 1, Most: 1}}}, c
}

// stream returns an answer of events, each JSON, after the type of the event if that is not
// "message": "error {…}".
func stream(all ...string) providertest.Answer {
	return providertest.NewAnswer("text/event-stream", events(all...))
}

func events(all ...string) string {
	var b strings.Builder
	for _, e := range all {
		if kind, data, ok := strings.Cut(e, " "); ok && !strings.HasPrefix(e, "{") {
			b.WriteString("event: " + kind + "\n")
			e = data
		}
		b.WriteString("data: " + e + "\n\n")
	}
	return b.String()
}

func whole(body string) providertest.Answer {
	return providertest.NewAnswer("application/json; charset=utf-8", body)
}

func refusal(status int, body string) providertest.Answer {
	a := whole(body)
	a.Status = status
	return a
}

// tool returns a tool with one optional property of type string.
func tool(name string) toolformat.Tool {
	return toolformat.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)}
}

// question returns a request with the tools add, now and weather.get.
func question() *providers.Request {
	return &providers.Request{
		Model:    "some-model",
		Messages: []providers.Message{providers.UserText("hello")},
		Tools:    providers.NewToolSet([]toolformat.Tool{tool("add"), tool("now"), tool("weather.get")}),
	}
}

// texts returns the text of the parts of a type.
func texts(m *providers.Message, kind providers.PartType) string {
	var b strings.Builder
	for _, p := range m.Parts {
		if p.Type == kind {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// callsOf returns the calls of a turn, each on a line.
func callsOf(turn *providers.Turn) string {
	var lines []string
	for _, c := range turn.Message.Calls() {
		lines = append(lines, c.ID+" "+c.Name+" "+string(c.Arguments))
	}
	return strings.Join(lines, "\n")
}

// answered returns the turn and the events of a question with an answer.
func answered(t *testing.T, provider func(Options) providers.Provider, a providertest.Answer) (*providers.Turn, []providers.Event) {
	t.Helper()
	turn, events, err := providertest.Ask(t, over(provider), question(), a)
	if err != nil {
		t.Fatal(err)
	}
	return turn, events
}

func mustTurn(t testing.TB, p providers.Provider, req *providers.Request, emit func(providers.Event)) *providers.Turn {
	t.Helper()
	turn, err := p.Turn(context.Background(), req, emit)
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

// TestProvider: the contract of all providers.
func TestProvider(t *testing.T) {
	t.Run("chat", func(t *testing.T) {
		providertest.Run(t, over(chat), providertest.Samples{
			Kind: "text/event-stream",
			Text: events(delta(`{"role":"assistant","content":"Hel"}`), delta(`{"content":"lo"}`), `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, "[DONE]"),
			Call: events(delta(`[{"index":0,"id":"call_7","function":{"name":"get_weather","arguments":"{\"city\":"}}]`), delta(`[{"index":0,"function":{"arguments":"\"Rome\"}"}}]`), callsEnd, "[DONE]"),
		})
	})
	t.Run("responses", func(t *testing.T) {
		item := strings.NewReplacer(`"a"`, `"call_7"`, `"add"`, `"get_weather"`).Replace(callItem)
		piece := func(kind, delta string) string {
			return `{"type":"response.` + kind + `.delta","output_index":0,"delta":"` + delta + `"}`
		}
		providertest.Run(t, over(responses), providertest.Samples{
			Kind: "text/event-stream",
			Text: events(added("0", `{"type":"message"}`), piece("output_text", "Hel"), piece("output_text", "lo"), done("0", messageItem), completed(`[`+messageItem+`]`)),
			Call: events(added("0", strings.Replace(item, `{\"city\":\"Rome\"}`, "", 1)), piece("function_call_arguments", `{\"city\":`), piece("function_call_arguments", `\"Rome\"}`), done("0", item), completed(`[`+item+`]`)),
		})
	})
}

// canonical returns JSON in a canonical form.
func canonical(raw []byte) string {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return "no JSON: " + string(raw)
	}
	b, _ := json.Marshal(v)
	return string(b)
}
