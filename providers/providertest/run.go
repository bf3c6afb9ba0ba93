package providertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
)

// Samples are answers of an API, each the body of a stream.
type Samples struct {
	Kind string // their Content-Type
	Text string // "Hello" in two pieces or more, to its end
	Call string // a call of get_weather with the city Rome and the id call_7, to its end
}

// Run checks the contract of providers.Provider, as far as it is the same for all APIs.
func Run(t *testing.T, p Maker, s Samples) {
	t.Run("text", func(t *testing.T) { checkText(t, p, &s) })
	t.Run("call", func(t *testing.T) { checkCall(t, p, &s) })
	t.Run("request", func(t *testing.T) { checkRequest(t, p) })
	t.Run("settings", func(t *testing.T) { checkSettings(t, p) })
	t.Run("image URL", func(t *testing.T) { checkImageURL(t, p) })
	t.Run("too many tools", func(t *testing.T) { checkTools(t, p) })
	t.Run("cut", func(t *testing.T) { checkCut(t, p, &s) })
	t.Run("parallel", func(t *testing.T) { checkParallel(t, p, &s) })
	t.Run("cancel", func(t *testing.T) { checkCancel(t, p, &s) })
	t.Run("retry", func(t *testing.T) { checkRetry(t, p, &s) })
}

// checkText: text is emitted as it arrives; without a listener the turn is the same.
func checkText(t *testing.T, p Maker, s *Samples) {
	req := Request("m", "call_0")
	turn, events, err := Ask(t, p, req, NewAnswer(s.Kind, s.Text))
	if err != nil {
		t.Fatal(err)
	}
	name := p(http.DefaultClient).Name()
	m := &turn.Message
	if turn.Stop != providers.StopEnd || m.Role != providers.RoleAssistant || m.Text() != "Hello" || m.Raw.Of(name) == nil || m.Raw.Model != "m" {
		t.Errorf("%s", marshal(t, turn))
	}
	if emitted := JoinText(events, providers.EventTextDelta); emitted != "Hello" || len(events) < 2 {
		t.Errorf("%d events tell %q", len(events), emitted)
	}
	transport := &Transport{Answers: []Answer{NewAnswer(s.Kind, s.Text)}}
	quiet, err := p(transport.Client()).Turn(t.Context(), req, nil)
	if a, b := marshal(t, quiet), marshal(t, turn); a != b || err != nil {
		t.Errorf("without a listener %s (%v), with one %s", a, err, b)
	}
}

// checkCall: a call has the tool's own name, and its result can be sent back.
func checkCall(t *testing.T, p Maker, s *Samples) {
	req := Request("m", "call_0")
	turn, events, err := Ask(t, p, req, NewAnswer(s.Kind, s.Call))
	if err != nil {
		t.Fatal(err)
	}
	calls := turn.Message.Calls()
	if turn.Stop != providers.StopCalls || len(calls) != 1 || calls[0].ID != "call_7" || calls[0].Name != "get_weather" {
		t.Fatalf("%s", marshal(t, turn))
	}
	if city, _ := wire.Text(wire.Lookup(calls[0].Arguments, "city")); city != "Rome" || JoinText(events, providers.EventArgumentsDelta) != string(calls[0].Arguments) {
		t.Errorf("arguments %s, emitted %s", calls[0].Arguments, eventLines(events))
	}
	results := providers.Message{Role: providers.RoleTool, Parts: []providers.Part{Result("call_7", "get_weather", `{"content":[{"type":"text","text":"sunny"}]}`)}}
	req.Messages = append(req.Messages, turn.Message, results)
	for range 2 {
		body := string(checkSent(t, p, req))
		if at := strings.Index(body, "Rome"); at < 0 || !strings.Contains(body[at:], "sunny") {
			t.Errorf("no call with its result in %s", body)
		}
		req.Messages[len(req.Messages)-2].Raw = nil // as if another provider had made it
	}
}

// checkRequest: tools are sent unchanged, the caller's members override, the request stays.
func checkRequest(t *testing.T, p Maker) {
	req := Request("m", "call_0")
	req.System = "Be <brief>."
	req.Settings.Body = []byte(`{"own":12345678901234567890}`)
	before := marshal(t, req)
	body := checkSent(t, p, req)
	if marshal(t, req) != before {
		t.Error("the request was changed")
	}
	if tools := req.Tools.Encoded(p(http.DefaultClient).Format()).JSON(); !bytes.Contains(body, tools) {
		t.Errorf("%s\nis not in\n%s", tools, body)
	}
	for _, want := range []string{`"own":12345678901234567890`, `"Be <brief>."`} {
		if !bytes.Contains(body, []byte(want)) {
			t.Errorf("%s is not in\n%s", want, body)
		}
	}
}

// checkCut: a stream that breaks off is an error, with the turn so far.
func checkCut(t *testing.T, p Maker, s *Samples) {
	req := Request("m", "call_0")
	for _, body := range []string{s.Text, s.Call} {
		whole := false
		for end := range len(body) + 1 {
			if end%7 != 0 && end < len(body) {
				continue
			}
			turn, _, err := Ask(t, p, req, NewAnswer(s.Kind, body[:end]))
			var e *providers.APIError
			switch {
			case turn == nil, (err == nil) != (turn.Message.Raw != nil), err != nil && (!errors.As(err, &e) || turn.Stop != providers.StopCut):
				t.Fatalf("behind %d bytes: %s, %v", end, marshal(t, turn), err)
			case err != nil && whole:
				t.Fatalf("behind %d bytes the turn is not whole any more: %v", end, err)
			}
			whole = err == nil
		}
		if !whole {
			t.Errorf("never whole: %s", body)
		}
	}
}

// checkParallel: one provider has many turns at once.
func checkParallel(t *testing.T, p Maker, s *Samples) {
	shared := p(&http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		return (&Transport{Answers: []Answer{NewAnswer(s.Kind, s.Text)}}).RoundTrip(r)
	})})
	req := Request("m", "call_0")
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if turn, err := shared.Turn(t.Context(), req, nil); err != nil || turn.Message.Text() != "Hello" {
				t.Errorf("%+v, %v", turn, err)
			}
		})
	}
	all.Wait()
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// checkCancel: the end of the context is the error, with the turn so far.
func checkCancel(t *testing.T, p Maker, s *Samples) {
	gone := errors.New("the user has gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	transport := &Transport{Answers: []Answer{newAnswer(s.Kind, iotest.OneByteReader(strings.NewReader(s.Text)))}}
	emitted := ""
	turn, err := p(transport.Client()).Turn(ctx, Request("m", "call_0"), func(e providers.Event) {
		emitted += e.Text
		cancel(gone)
	})
	if !errors.Is(err, gone) || turn == nil || turn.Stop != providers.StopCut || turn.Message.Text() != emitted || emitted == "" || turn.Message.Raw != nil {
		t.Errorf("%s, %v", marshal(t, turn), err)
	}
}

// checkRetry: a temporary refusal is retried, another is not.
func checkRetry(t *testing.T, p Maker, s *Samples) {
	synctest.Test(t, func(t *testing.T) {
		busy := func() Answer {
			return Answer{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"7"}}, Body: strings.NewReader("slow down")}
		}
		transport := &Transport{Answers: []Answer{busy(), busy(), NewAnswer(s.Kind, s.Text)}}
		var events []providers.Event
		turn, err := p(transport.Client()).Turn(t.Context(), Request("m", "call_0"), func(e providers.Event) { events = append(events, e) })
		if err != nil || turn.Message.Text() != "Hello" || events[0].Type != providers.EventRetry || events[0].After.Seconds() != 7 || len(transport.Requests) != 3 {
			t.Errorf("%s after %d requests, %v", marshal(t, turn), len(transport.Requests), err)
		}
	})
	what, err := Refused(t, p, Request("m", "call_0"), http.StatusBadRequest, nil, `{"error":{"message":"No."}}`)
	var e *providers.APIError
	if !strings.HasPrefix(what, "No. (HTTP 400") || !strings.HasSuffix(what, ": 1 tries in 0s") || !errors.As(err, &e) {
		t.Error(what)
	}
}

// CheckAnswer checks what a provider makes of any answer, valid or not, at once and in two
// pieces: the same turn with the same events, which can be sent back. It is the body of fuzz
// targets.
func CheckAnswer(t *testing.T, p Maker, kind string, body []byte, cut int) {
	t.Helper()
	req := Request("m", "call_0")
	whole, events, err := Ask(t, p, req, newAnswer(kind, pieces(body)))
	inTwo, eventsInTwo, errInTwo := Ask(t, p, req, newAnswer(kind, pieces(body, cut)))
	if a, b := marshal(t, whole), marshal(t, inTwo); a != b || (err == nil) != (errInTwo == nil) || eventLines(events) != eventLines(eventsInTwo) {
		t.Fatalf("whole: %s (%v)\n%s\npieces: %s (%v)\n%s", a, err, eventLines(events), b, errInTwo, eventLines(eventsInTwo))
	}
	if whole == nil || err != nil && (whole.Stop != providers.StopCut || whole.Message.Raw != nil) {
		t.Fatalf("%v and %s", err, marshal(t, whole))
	}
	results := providers.Message{Role: providers.RoleTool}
	ids := map[string]bool{"call_0": true}
	for _, call := range whole.Message.Calls() {
		if call.ID == "" || ids[call.ID] || !json.Valid(call.Arguments) {
			t.Fatalf("the call %+v", call)
		}
		ids[call.ID] = true
		results.Parts = append(results.Parts, Result(call.ID, call.Name, `{"content":[{"type":"text","text":"ok"}]}`))
	}
	next := *req
	next.Messages = append(next.Messages, whole.Message, results)
	checkSent(t, p, &next)
	next.Messages[len(req.Messages)].Raw = nil
	checkSent(t, p, &next)
}

// checkSent checks that a request is sent as JSON.
func checkSent(t *testing.T, p Maker, req *providers.Request) []byte {
	t.Helper()
	_, body, _ := Sent(t, p, req)
	if err := wire.Valid(body); err != nil {
		t.Fatalf("the request is %v: %s", err, body)
	}
	return body
}

func marshal(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
