package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

var (
	_ providers.Provider = (*Chat)(nil)
	_ providers.Provider = (*Responses)(nil)
)

// An answer is a response without a network.
type answer struct {
	status int    // 0: 200
	kind   string // the content type; "": an event stream
	body   io.Reader
	header http.Header
}

// script is a transport that gives one answer after another and keeps the requests.
type script struct {
	mu       sync.Mutex
	answers  []answer
	requests []*http.Request
	bodies   [][]byte
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.requests, s.bodies = append(s.requests, r), append(s.bodies, body)
	if len(s.answers) == 0 {
		return nil, io.EOF
	}
	a := s.answers[0]
	s.answers = s.answers[1:]
	resp := &http.Response{StatusCode: max(a.status, 200), Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(a.body), Request: r}
	if a.kind != "" {
		resp.Header.Set("Content-Type", a.kind)
	}
	for name, values := range a.header {
		resp.Header[name] = values
	}
	return resp, nil
}

// answering are options whose provider gets these answers.
func answering(answers ...answer) (Options, *script) {
	s := &script{answers: answers}
	return Options{Client: providers.Client{HTTP: &http.Client{Transport: s}, Retry: providers.Retries{First: 1, Most: 1}}}, s
}

// stream is an answer of events, each the JSON of one; of another kind than "message" when
// it begins with it: "error {…}".
func stream(events ...string) answer {
	var b strings.Builder
	for _, e := range events {
		if kind, data, ok := strings.Cut(e, " "); ok && !strings.HasPrefix(e, "{") {
			b.WriteString("event: " + kind + "\n")
			e = data
		}
		b.WriteString("data: " + e + "\n\n")
	}
	return answer{body: strings.NewReader(b.String())}
}

func whole(body string) answer {
	return answer{kind: "application/json; charset=utf-8", body: strings.NewReader(body)}
}

func refusal(status int, body string) answer {
	return answer{status: status, kind: "application/json", body: strings.NewReader(body)}
}

// tool is a tool with one optional property of type string.
func tool(name string) toolformat.Tool {
	return toolformat.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)}
}

// question is a request with the tools add, now and weather.get.
func question() *providers.Request {
	return &providers.Request{
		Model:    "some-model",
		Messages: []providers.Message{providers.UserText("hello")},
		Tools:    providers.NewToolSet([]toolformat.Tool{tool("add"), tool("now"), tool("weather.get")}),
	}
}

// said are the events of a turn.
type said struct{ all []providers.Event }

func (s *said) emit(e providers.Event) { s.all = append(s.all, e) }

// text is what events of a type say together.
func (s *said) text(kind providers.EventType) string {
	var b strings.Builder
	for _, e := range s.all {
		if e.Type == kind {
			b.WriteString(e.Text)
		}
	}
	return b.String()
}

// texts is the text of the parts of a type.
func texts(m *providers.Message, kind providers.PartType) string {
	var b strings.Builder
	for _, p := range m.Parts {
		if p.Type == kind {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// callsOf are the calls of a turn, a line each.
func callsOf(turn *providers.Turn) string {
	var lines []string
	for _, c := range turn.Message.Calls() {
		lines = append(lines, c.ID+" "+c.Name+" "+string(c.Arguments))
	}
	return strings.Join(lines, "\n")
}

func mustTurn(t testing.TB, p providers.Provider, req *providers.Request, emit func(providers.Event)) *providers.Turn {
	t.Helper()
	turn, err := p.Turn(context.Background(), req, emit)
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

// same reports whether two texts are the same JSON.
func same(a, b []byte) bool {
	return canonical(a) == canonical(b)
}

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
