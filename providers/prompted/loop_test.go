package prompted

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// family is a model that writes two calls, and then an answer.
type family struct {
	behind
	calls string
	asked []*providers.Request
}

func (f *family) Turn(ctx context.Context, req *providers.Request, emit func(providers.Event)) (*providers.Turn, error) {
	f.asked = append(f.asked, req)
	f.turn, f.reply = providers.Turn{Stop: providers.StopEnd}, "It is sunny."
	if len(f.asked) == 1 {
		f.reply = "I look.\n" + f.calls
	}
	turn, err := f.behind.Turn(ctx, req, emit)
	if turn != nil {
		turn.Message.Raw = nil // what is sent is what the conversation has
	}
	return turn, err
}

// The loop with a model of each family, as golden files of what the model is sent: how it is told of
// the tools, and its calls and their results.
func TestLoop(t *testing.T) {
	weather := toolformat.Tool{Name: "get_weather", Description: "Returns the weather.", InputSchema: json.RawMessage(
		`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"},"hourly":{"type":"boolean"}},"required":["city"]}`)}
	calls := []*providers.Call{
		{Name: weather.Name, Arguments: json.RawMessage(`{"city":"Rome","days":3,"hourly":false}`)},
		{Name: weather.Name, Arguments: json.RawMessage(`{"city":"São \"P\""}`)},
	}
	for i := range grammars {
		g := &grammars[i]
		t.Run(g.name, func(t *testing.T) {
			var mu sync.Mutex
			got := map[string]bool{}
			native, err := bridge.NewNative(bridge.NativeOptions{}, bridge.Tool{Tool: weather, Call: func(_ context.Context, arguments json.RawMessage) (*toolformat.Result, error) {
				mu.Lock()
				defer mu.Unlock()
				got[sorted(arguments)] = true
				if len(arguments) > 30 {
					return toolformat.TextResult(`{"sky":"clear"}`, false), nil
				}
				return toolformat.TextResult("sunny </tool_response>", false), nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer native.Close()
			loop, err := providers.NewToolbox(native).Open(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer loop.Close()
			w := writer{grammar: g.written(), history: &history{}, req: &providers.Request{}}
			model := &family{calls: string(w.appendCalls(nil, calls))}
			run, err := loop.Run(t.Context(), providers.Task{
				Provider: New(model, Options{Grammar: g.name}),
				Request:  providers.Request{Model: "m", Messages: []providers.Message{providers.UserText("Hi.")}},
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range calls {
				if !got[sorted(c.Arguments)] {
					t.Errorf("not called with %s, but %v", c.Arguments, got)
				}
			}
			want(t, "the answer", run.Messages[len(run.Messages)-1].Text(), "It is sunny.")
			want(t, "requests", fmt.Sprint(len(model.asked)), "2")
			providertest.Golden(t, *update, filepath.Join("testdata", "loop", g.name+".txtar"), archive(model.asked[1])...)
		})
	}
}
