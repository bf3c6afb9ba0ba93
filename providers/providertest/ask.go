package providertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// An Answer is the response of a Transport to a request.
type Answer struct {
	Status int         // 0 means 200
	Header http.Header // may be nil
	Body   io.Reader
}

// NewAnswer returns an answer with a Content-Type.
func NewAnswer(kind, body string) Answer { return newAnswer(kind, strings.NewReader(body)) }

func newAnswer(kind string, body io.Reader) Answer {
	return Answer{Header: http.Header{"Content-Type": {kind}}, Body: body}
}

// A Transport is an http.RoundTripper without a network: it returns its answers in order and
// records the requests. It is for one goroutine.
type Transport struct {
	Answers  []Answer
	Requests []*http.Request
	Bodies   [][]byte // of the requests
}

// Client returns an http.Client over the transport.
func (c *Transport) Client() *http.Client { return &http.Client{Transport: c} }

// RoundTrip returns the next answer, or an error if none is left.
func (c *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	c.Requests, c.Bodies = append(c.Requests, r), append(c.Bodies, body)
	if len(c.Answers) == 0 {
		return nil, errors.New("no answer is left")
	}
	a := c.Answers[0]
	c.Answers = c.Answers[1:]
	resp := &http.Response{StatusCode: a.Status, Header: a.Header, Body: io.NopCloser(&boundBody{a.Body, r.Context()}), Request: r}
	if resp.StatusCode == 0 {
		resp.StatusCode = http.StatusOK
	}
	if resp.Header == nil {
		resp.Header = http.Header{}
	}
	return resp, nil
}

// A boundBody ends with its request, as bodies of net/http do.
type boundBody struct {
	io.Reader
	ctx context.Context
}

func (c *boundBody) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.Reader.Read(p)
}

// pieces returns a reader of data in pieces that end at the given offsets, which are in order.
func pieces(data []byte, cuts ...int) io.Reader {
	var all []io.Reader
	from := 0
	for _, cut := range append(cuts, len(data)) {
		if cut > from && cut <= len(data) {
			all = append(all, bytes.NewReader(data[from:cut]))
			from = cut
		}
	}
	return io.MultiReader(all...)
}

// A Maker makes a provider whose requests go through a client.
type Maker func(*http.Client) providers.Provider

// Request asks a model for the time and the weather. It offers the tools get_weather, of a
// city, and get_time, which has been called once already, with an id.
func Request(model, id string) *providers.Request {
	return &providers.Request{
		Model: model,
		Messages: []providers.Message{
			providers.UserText("What time is it, and how is the weather?"),
			{Role: providers.RoleAssistant, Parts: []providers.Part{Call(id, "get_time", "{}")}},
			{Role: providers.RoleTool, Parts: []providers.Part{Result(id, "get_time", `{"content":[{"type":"text","text":"noon"}]}`)}},
		},
		Tools: providers.NewToolSet([]toolformat.Tool{
			{Name: "get_weather", Description: "The weather of a city.", InputSchema: []byte(`{"type":"object","properties":{"city":{"type":"string"}}}`)},
			{Name: "get_time", Description: "The time.", InputSchema: []byte(`{"type":"object"}`)},
		}),
	}
}

// Call returns the part with a call.
func Call(id, name, arguments string) providers.Part {
	return providers.Part{Type: providers.PartCall, Call: &providers.Call{ID: id, Name: name, Arguments: json.RawMessage(arguments)}}
}

// Result returns the part with the result of a call, an MCP result.
func Result(id, name, mcp string) providers.Part {
	return providers.Part{Type: providers.PartResult, Result: &providers.Result{ID: id, Name: name, Content: &toolformat.Result{JSON: json.RawMessage(mcp)}}}
}

// Ask returns the turn that a provider makes of an answer, and the events.
func Ask(t testing.TB, p Maker, req *providers.Request, a Answer) (*providers.Turn, []providers.Event, error) {
	t.Helper()
	var events []providers.Event
	transport := &Transport{Answers: []Answer{a}}
	turn, err := p(transport.Client()).Turn(t.Context(), req, func(e providers.Event) { events = append(events, e) })
	return turn, events, err
}

// Sent returns what a provider sends for a request, and the notes about it.
func Sent(t testing.TB, p Maker, req *providers.Request) (sent *http.Request, body []byte, notes []string) {
	t.Helper()
	transport := &Transport{}
	_, err := p(transport.Client()).Turn(t.Context(), req, func(e providers.Event) {
		if e.Type == providers.EventNote {
			notes = append(notes, e.Text)
		}
	})
	if len(transport.Requests) != 1 {
		t.Fatalf("%d requests: %v", len(transport.Requests), err)
	}
	return transport.Requests[0], transport.Bodies[0], notes
}

// Refused returns the error of a request that is always refused, and as what the number and
// time of the attempts: "Slow down (HTTP 429): 3 tries in 14s".
func Refused(t *testing.T, p Maker, req *providers.Request, status int, header http.Header, body string) (what string, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		transport := &Transport{}
		for range 5 {
			transport.Answers = append(transport.Answers, Answer{Status: status, Header: header, Body: strings.NewReader(body)})
		}
		begin, retries := time.Now(), 0
		var turn *providers.Turn
		turn, err = p(transport.Client()).Turn(t.Context(), req, func(e providers.Event) {
			if e.Type == providers.EventRetry {
				retries++
			}
		})
		if tries := len(transport.Requests); turn != nil || retries != tries-1 {
			t.Errorf("%d tries, %d of them retries, and a turn: %+v", tries, retries, turn)
		}
		what = fmt.Sprintf("%v: %d tries in %v", err, len(transport.Requests), time.Since(begin))
	})
	return what, err
}

// CheckTurn checks what a provider makes of an answer, read at once and byte by byte: the
// turn's stop and parts, its model if that is not the request's, the notes, and the error:
//
//	tool_calls text<Let me see.> call<id name {"a":1}>
//	cut text<Hel> model<x> note<…> error<Overloaded again>
//
// where "again" is APIError.Again.
func CheckTurn(t *testing.T, p Maker, req *providers.Request, kind, body, want string) *providers.Turn {
	t.Helper()
	turn, events, err := Ask(t, p, req, NewAnswer(kind, body))
	if got := describe(req, turn, events, err); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if raw := turn.Message.Raw; raw != nil && (err != nil || !json.Valid(raw.Items)) {
		t.Errorf("%v, and the raw items %s", err, raw.Items)
	}
	again, eventsAgain, err := Ask(t, p, req, newAnswer(kind, iotest.OneByteReader(strings.NewReader(body))))
	if got := describe(req, again, eventsAgain, err); got != want || eventLines(events) != eventLines(eventsAgain) {
		t.Errorf("byte by byte: got\n%s\n%s\nwant\n%s\n%s", got, eventLines(eventsAgain), want, eventLines(events))
	}
	return turn
}

// describe returns the outcome of a request on one line.
func describe(req *providers.Request, turn *providers.Turn, events []providers.Event, err error) string {
	words := []string{"no turn"}
	if turn != nil {
		words = []string{string(turn.Stop)}
		for _, p := range turn.Message.Parts {
			if p.Call != nil {
				words = append(words, fmt.Sprintf("call<%s %s %s>", p.Call.ID, p.Call.Name, p.Call.Arguments))
			} else {
				words = append(words, fmt.Sprintf("%s<%s>", p.Type, p.Text))
			}
		}
		if turn.Model != req.Model {
			words = append(words, "model<"+turn.Model+">")
		}
	}
	for _, e := range events {
		if e.Type == providers.EventNote {
			words = append(words, "note<"+e.Text+">")
		}
	}
	var api *providers.APIError
	if errors.As(err, &api) && api.Again {
		words = append(words, "error<"+err.Error()+" again>")
	} else if err != nil {
		words = append(words, "error<"+err.Error()+">")
	}
	return strings.Join(words, " ")
}

// eventLines are events on a line each.
func eventLines(events []providers.Event) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "%s %s", e.Type, e.Text)
		if e.Call != nil {
			fmt.Fprintf(&b, " (%s %s)", e.Call.ID, e.Call.Name)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// JoinText returns the joined text of the events of a type.
func JoinText(events []providers.Event, kind providers.EventType) string {
	var b strings.Builder
	for _, e := range events {
		if e.Type == kind {
			b.WriteString(e.Text)
		}
	}
	return b.String()
}
