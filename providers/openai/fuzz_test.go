package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"reflect"
	"testing"

	"github.com/mcpbridge/mcpbridge/providers"
)

// FuzzChat: whatever a server sends, in whatever pieces, ends in a turn that can be saved
// and sent back, or in an error.
func FuzzChat(f *testing.F) {
	seed := func(a answer) {
		data, _ := io.ReadAll(a.body)
		f.Add(data, uint16(len(data)/2), a.kind != "")
	}
	seed(stream(delta(`{"role":"assistant","content":"Hi","reasoning":"Hm","reasoning_details":[{"index":0,"type":"t","text":"Hm"}]}`), delta(`{"content":"!","reasoning_details":[{"index":0,"type":"t","text":"…"}]}`), "[DONE]"))
	seed(stream(delta(`[{"index":0,"id":"a","function":{"name":"add","arguments":"{"}},{"index":-1,"id":"a","function":{"name":"","arguments":"}"}}]`), callsEnd))
	seed(stream(delta(`[{"index":1,"id":"a","function":{"name":"parallel","arguments":"{\"tool_uses\":[{\"recipient_name\":\"functions.now\",\"parameters\":{}}]}"}}]`), callsEnd))
	seed(stream(delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm"}]}],"extra_content":{"google":{"thought_signature":"x"}}}`), delta(`{"content":"Hi","tool_calls":null,"function_call":{"name":"now"}}`), callsEnd))
	seed(stream(`error {"error":{"code":"tool_use_failed","failed_generation":"x"}}`))
	seed(whole(`{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"function":{"name":"now","arguments":{}}}]}}],"usage":{"prompt_tokens":1}}`))
	f.Fuzz(func(t *testing.T, data []byte, cut uint16, isWhole bool) {
		fuzzDecoding(t, func(o Options) providers.Provider { return NewChat(o) }, data, cut, isWhole)
	})
}

// FuzzResponses is FuzzChat for the other API.
func FuzzResponses(f *testing.F) {
	seed := func(a answer) {
		data, _ := io.ReadAll(a.body)
		f.Add(data, uint16(len(data)/2), a.kind != "")
	}
	seed(stream(added("0", `{"type":"function_call","call_id":"a","name":"add"}`), `{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{}"}`, completed(`[]`)))
	seed(stream(done("0", reasoningItem), done("1", messageItem), done("1", callItem), completed(`[`+reasoningItem+`]`)))
	seed(stream(`{"type":"response.output_text.delta","delta":"Hi"}`, `{"type":"response.reasoning_text.delta","output_index":3,"delta":"Hm"}`, "[DONE]"))
	seed(stream(`{"type":"response.failed","response":{"error":{"code":"x","message":"y"}}}`))
	seed(whole(`{"status":"completed","output":[` + messageItem + `,` + callItem + `,3]}`))
	f.Fuzz(func(t *testing.T, data []byte, cut uint16, isWhole bool) {
		fuzzDecoding(t, func(o Options) providers.Provider { return NewResponses(o) }, data, cut, isWhole)
	})
}

func fuzzDecoding(t *testing.T, provider func(Options) providers.Provider, data []byte, cut uint16, isWhole bool) {
	at := min(int(cut), len(data))
	turn, err := fuzzTurn(provider, isWhole, bytes.NewReader(data))
	cutTurn, cutErr := fuzzTurn(provider, isWhole, io.MultiReader(bytes.NewReader(data[:at]), bytes.NewReader(data[at:])))
	if !reflect.DeepEqual(turn, cutTurn) || (err == nil) != (cutErr == nil) {
		t.Fatalf("in two pieces %+v (%v), in one %+v (%v)", cutTurn, cutErr, turn, err)
	}
	if turn == nil {
		t.Fatalf("no turn: %v", err)
	}
	if raw := turn.Message.Raw; raw == nil && err == nil && turn.Stop != providers.StopMalformed || raw != nil && err != nil {
		t.Fatalf("%+v, %v", turn, err)
	}
	if _, err := json.Marshal(turn); err != nil {
		t.Fatal(err)
	}
	req := question()
	req.Messages = append(req.Messages, turn.Message)
	seen := map[string]bool{}
	for _, c := range turn.Message.Calls() {
		if seen[c.ID] || c.ID == "" {
			t.Fatalf("the id %q is there twice, or none", c.ID)
		}
		seen[c.ID] = true
	}
	o, s := answering()
	o.Retry.Max = -1
	_, _ = provider(o).Turn(context.Background(), req, nil) // nobody answers
	if !json.Valid(s.bodies[0]) {
		t.Fatalf("not JSON: %s", s.bodies[0])
	}
}

func fuzzTurn(provider func(Options) providers.Provider, isWhole bool, body io.Reader) (*providers.Turn, error) {
	a := answer{body: body}
	if isWhole {
		a.kind = "application/json"
	}
	o, _ := answering(a)
	return provider(o).Turn(context.Background(), question(), func(providers.Event) {})
}
