package providertest

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// CheckAnswer holds what any answer must become, sensible or not, whole and in two pieces:
// the same turn, and one that can be sent back. turn asks a provider over the client.
func CheckAnswer(t *testing.T, kind string, body []byte, cut int, turn func(*http.Client, *providers.Request) (*providers.Turn, error)) {
	t.Helper()
	req := &providers.Request{Model: "m", Messages: []providers.Message{providers.UserText("Hello")}}
	ask := func(cuts ...int) (*providers.Turn, error) {
		carrier := &Carrier{Answers: []Answer{
			{Header: http.Header{"Content-Type": {kind}}, Body: Pieces(body, cuts...)},
			{Header: http.Header{"Content-Type": {kind}}, Body: Pieces(nil)},
		}}
		got, err := turn(carrier.Client(), req)
		for _, b := range carrier.Bodies {
			if err := wire.Valid(b); err != nil {
				t.Fatalf("the request is %v: %s", err, b)
			}
		}
		return got, err
	}
	whole, err := ask()
	pieces, other := ask(cut)
	if a, b := marshal(t, whole), marshal(t, pieces); a != b || (err == nil) != (other == nil) {
		t.Fatalf("whole: %s (%v)\npieces: %s (%v)", a, err, b, other)
	}
	if whole == nil {
		return
	}
	if (err != nil) != (whole.Stop == providers.StopCut) || err != nil && whole.Message.Raw != nil {
		t.Fatalf("%v and %s", err, marshal(t, whole))
	}
	results := providers.Message{Role: providers.RoleTool}
	ids := map[string]bool{}
	for _, call := range whole.Message.Calls() {
		if call.ID == "" || ids[call.ID] {
			t.Fatalf("the id %q", call.ID)
		}
		ids[call.ID] = true
		results.Parts = append(results.Parts, providers.Part{Type: providers.PartResult, Result: &providers.Result{ID: call.ID, Name: call.Name, Content: toolformat.TextResult("ok", false)}})
	}
	req.Messages = append(req.Messages, whole.Message, results)
	_, _ = ask() // whatever it comes to: the request is looked at
	req.Messages[1].Raw = nil
	_, _ = ask()
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
