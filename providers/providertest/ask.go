package providertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

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

// Call is the part of a call.
func Call(id, name, arguments string) providers.Part {
	return providers.Part{Type: providers.PartCall, Call: &providers.Call{ID: id, Name: name, Arguments: json.RawMessage(arguments)}}
}

// Result is the part of what came of a call, given as MCP has it.
func Result(id, name, mcp string) providers.Part {
	return providers.Part{Type: providers.PartResult, Result: &providers.Result{ID: id, Name: name, Content: &toolformat.Result{JSON: json.RawMessage(mcp)}}}
}

// Ask is what becomes of an answer, and what was told on the way.
func Ask(t testing.TB, p Maker, req *providers.Request, a Answer) (*providers.Turn, []providers.Event, error) {
	t.Helper()
	var events []providers.Event
	carrier := &Carrier{Answers: []Answer{a}}
	turn, err := p(carrier.Client()).Turn(t.Context(), req, func(e providers.Event) { events = append(events, e) })
	return turn, events, err
}

// Sent is what goes over the wire for a request, and what the caller is told about it.
func Sent(t testing.TB, p Maker, req *providers.Request) (sent *http.Request, body []byte, notes []string) {
	t.Helper()
	carrier := &Carrier{}
	_, err := p(carrier.Client()).Turn(t.Context(), req, func(e providers.Event) {
		if e.Type == providers.EventNote {
			notes = append(notes, e.Text)
		}
	})
	if len(carrier.Requests) != 1 {
		t.Fatalf("%d requests: %v", len(carrier.Requests), err)
	}
	return carrier.Requests[0], carrier.Bodies[0], notes
}

// Refused is the error of a request that is refused each time, and how often it was tried
// in what time: "Slow down (HTTP 429): 3 tries in 14s".
func Refused(t *testing.T, p Maker, req *providers.Request, status int, header http.Header, body string) (what string, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		carrier := &Carrier{}
		for range 5 {
			carrier.Answers = append(carrier.Answers, Answer{Status: status, Header: header, Body: strings.NewReader(body)})
		}
		begin, told := time.Now(), 0
		var turn *providers.Turn
		turn, err = p(carrier.Client()).Turn(t.Context(), req, func(e providers.Event) {
			if e.Type == providers.EventRetry {
				told++
			}
		})
		if tries := len(carrier.Requests); turn != nil || told != tries-1 {
			t.Errorf("%d tries, %d of them told, and a turn: %+v", tries, told, turn)
		}
		what = fmt.Sprintf("%v: %d tries in %v", err, len(carrier.Requests), time.Since(begin))
	})
	return what, err
}

// CheckTurn holds what becomes of an answer, read whole and byte by byte: the stop of the
// turn, its parts, its model when that is not the request's, the notes, the error, such as
//
//	tool_calls text<Let me see.> call<id name {"a":1}>
//	cut text<Hel> model<x> note<…> error<Overloaded again>
//
// where "again" is for an error that is worth another try.
func CheckTurn(t *testing.T, p Maker, req *providers.Request, kind, body, want string) *providers.Turn {
	t.Helper()
	turn, events, err := Ask(t, p, req, Say(kind, body))
	if got := describe(req, turn, events, err); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if raw := turn.Message.Raw; raw != nil && (err != nil || !json.Valid(raw.Items)) {
		t.Errorf("%v, and the raw items %s", err, raw.Items)
	}
	again, eventsAgain, err := Ask(t, p, req, say(kind, iotest.OneByteReader(strings.NewReader(body))))
	if got := describe(req, again, eventsAgain, err); got != want || told(events) != told(eventsAgain) {
		t.Errorf("byte by byte: got\n%s\n%s\nwant\n%s\n%s", got, told(eventsAgain), want, told(events))
	}
	return turn
}

// describe is what came of a request on one line.
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

// told are events on a line each.
func told(events []providers.Event) string {
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

// Told is the text that events of a type tell.
func Told(events []providers.Event, kind providers.EventType) string {
	var b strings.Builder
	for _, e := range events {
		if e.Type == kind {
			b.WriteString(e.Text)
		}
	}
	return b.String()
}
