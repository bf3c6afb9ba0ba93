package bridge_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A hidden argument is seen and set by the caller's hidden values alone.
func TestHiddenContext(t *testing.T) {
	orders := bridge.Tool{
		Tool: toolformat.Tool{Name: "orders", Description: "Orders.", InputSchema: json.RawMessage(
			`{"type":"object","properties":{"CustomerID":{"type":"integer"},"limit":{"type":"integer","default":5}},"required":["CustomerID","limit"],"additionalProperties":false}`)},
		Hidden: []string{"customerid"},
		Call: func(_ context.Context, arguments json.RawMessage) (*toolformat.Result, error) {
			return toolformat.TextResult(string(arguments), false), nil
		},
	}
	n, err := bridge.NewNative(bridge.NativeOptions{SharedValue: func(name string) ([]byte, bool) {
		return []byte(`"7"`), strings.EqualFold(name, "customerid")
	}}, orders)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	value := func(raw string) func(string) ([]byte, bool) {
		return func(string) ([]byte, bool) { return []byte(raw), raw != "" }
	}
	for _, c := range []struct {
		name, arguments string
		context         func(string) ([]byte, bool)
		want            string
	}{
		{"the caller's", `{"limit":1}`, value("42"), `{"limit":1,"CustomerID":42}`},
		{"a default of another argument", `{}`, value("42"), `{"limit":5,"CustomerID":42}`},
		{"set by a model", `{"limit":1,"customerid":1,"CUSTOMERID":2,"CustomerID":3}`, value("42"), `{"limit":1,"CustomerID":42}`},
		{"for all callers, typed by the schema", `{"limit":1}`, nil, `{"limit":1,"CustomerID":7}`},
		{"one that does not fit is not told", `{"limit":1}`, value(`"secret"`), `Invalid context field: customerid`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := callOrders(t, n, c.context, c.arguments)
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	s, _ := n.Open(t.Context(), &bridge.Caller{ID: "a"})
	defer s.Close()
	list, err := s.List(t.Context(), bridge.Tools)
	if err != nil || strings.Contains(strings.ToLower(string(list.Items[0].Raw)), "customerid") {
		t.Errorf("%s (%v)", list.Items[0].Raw, err)
	}
}

// Without a value the backend is not called.
func TestMissingContext(t *testing.T) {
	called := false
	n, err := bridge.NewNative(bridge.NativeOptions{}, bridge.Tool{
		Tool:   toolformat.Tool{Name: "orders", InputSchema: json.RawMessage(`{"type":"object","properties":{"customerid":{},"requestid":{},"invocationid":{}}}`)},
		Hidden: []string{"requestid", "invocationid", "customerid"},
		Call: func(context.Context, json.RawMessage) (*toolformat.Result, error) {
			called = true
			return nil, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if got := callOrders(t, n, nil, `{}`); got != "Missing context field: customerid" || called {
		t.Errorf("%s, called: %v", got, called)
	}
}

// callOrders is the text of the result of a call.
func callOrders(t *testing.T, n *bridge.Native, values func(string) ([]byte, bool), arguments string) string {
	t.Helper()
	s, err := n.Open(t.Context(), &bridge.Caller{ID: "a", HiddenValue: values})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	params, err := wire.SplitParams([]byte(`{"name":"orders","arguments":` + arguments + `}`))
	if err != nil {
		t.Fatal(err)
	}
	reply := s.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: "orders"})
	if reply.Err != nil {
		return reply.Err.Error()
	}
	blocks, err := (&toolformat.Result{JSON: reply.Result}).Content()
	if err != nil || len(blocks) != 1 {
		t.Fatalf("%s: %v", reply.Result, err)
	}
	return blocks[0].Text
}
