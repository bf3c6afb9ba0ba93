package providertest

import (
	"encoding/json"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
)

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
