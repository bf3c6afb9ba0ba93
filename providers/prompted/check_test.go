package prompted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

func TestCheckArguments(t *testing.T) {
	set := providers.NewToolSet([]toolformat.Tool{
		{Name: "write.it", InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"},"mode":{"type":"string"}}}`)},
		{Name: "open", InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{}},"additionalProperties":{}}`)},
		{Name: "other", InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{}},"anyOf":[{"properties":{"more":{}}}]}`)},
		{Name: "any", InputSchema: json.RawMessage(`{"type":"object"}`)},
	})
	for _, c := range []struct{ name, arguments, want string }{
		{"write.it", `{"text":"x","mode":"a"}`, "<nil>"},
		{"write.it", `{"content":"x"}`, `unknown property "content" (known: text, mode)`},
		{"write.it", `{"Text":"x"}`, `unknown property "Text" (did you mean text?)`},
		{"write.it", `"{}"`, "<nil>"},
		{"open", `{"content":"x"}`, "<nil>"},
		{"other", `{"more":"x"}`, "<nil>"},
		{"any", `{"content":"x"}`, "<nil>"},
		{"gone", `{"content":"x"}`, "<nil>"},
	} {
		err := New(&behind{}, Options{}).CheckArguments(set, &providers.Call{Name: c.name, Arguments: json.RawMessage(c.arguments)})
		if c.want != "<nil>" {
			c.want = "invalid arguments for tool " + set.WireName(format, c.name) + ": " + c.want
		}
		want(t, c.name+c.arguments, fmt.Sprint(err), c.want)
	}
}

// The loop does not run a call with an unknown argument.
func TestUnknownArgument(t *testing.T) {
	native, err := bridge.NewNative(bridge.NativeOptions{}, bridge.Tool{
		Tool: toolformat.Tool{Name: "write", Description: "Writes.", InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)},
		Call: func(context.Context, json.RawMessage) (*toolformat.Result, error) {
			t.Error("it runs")
			return nil, errors.New("it runs")
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer native.Close()
	loop, err := providers.NewToolbox(native).Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer loop.Close()
	b := &behind{reply: `<tool_call>{"name":"write","arguments":{"content":"x"}}</tool_call>`, turn: providers.Turn{Stop: providers.StopEnd}}
	run, err := loop.Run(t.Context(), providers.Task{
		Provider: New(b, Options{}), Request: *request(),
		Options: providers.Options{Limits: providers.Limits{Rounds: 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	result := run.Messages[2].Parts[0].Result
	want(t, "the result", result.Text(true), `Error: invalid arguments for tool write: unknown property "content" (known: text)`)
}
