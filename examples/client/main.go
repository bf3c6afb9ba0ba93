// Command client shows a client function: a tool that the bridge lists and checks, and that its
// caller carries out. Here the caller is a terminal that draws bar charts.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) error {
	native, err := bridge.NewNative(bridge.NativeOptions{}, bridge.Tool{Client: true, Tool: toolformat.Tool{
		Name:        "show_chart",
		Description: "Shows the user a bar chart.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{
			"labels":{"type":"array","items":{"type":"string"}},
			"values":{"type":"array","items":{"type":"integer","minimum":0,"maximum":60}}
		},"required":["labels","values"]}`),
	}})
	if err != nil {
		return err
	}
	defer native.Close()
	for _, caller := range []*bridge.Caller{
		{ID: "terminal", Functions: terminal{out}},
		{ID: "script"},
	} {
		if err := use(ctx, native, caller, out); err != nil {
			return err
		}
	}
	return nil
}

// use lists the tools that a caller sees, and calls show_chart twice.
func use(ctx context.Context, source bridge.Source, caller *bridge.Caller, out io.Writer) error {
	session, err := source.Open(ctx, caller)
	if err != nil {
		return err
	}
	defer session.Close()
	list, err := session.List(ctx, bridge.Tools)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: tools in the list: %d\n", caller.ID, len(list.Items))
	for _, arguments := range []string{`{"labels":["pencil","globe","ink"],"values":[24,1,2]}`, `{"labels":["pencil"]}`} {
		params, err := wire.SplitParams([]byte(`{"name":"show_chart","arguments":` + arguments + `}`))
		if err != nil {
			return err
		}
		reply := session.Do(ctx, &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: "show_chart"})
		if reply.Err != nil {
			fmt.Fprintf(out, "%s: error: %v\n", caller.ID, reply.Err)
			continue
		}
		fmt.Fprintf(out, "%s: result: %s\n", caller.ID, reply.Result)
	}
	return nil
}

// terminal implements bridge.Functions: its function draws on a terminal.
type terminal struct{ out io.Writer }

// Tools implements bridge.Functions. The bridge has the rest of the definition.
func (terminal) Tools() []toolformat.Tool { return []toolformat.Tool{{Name: "show_chart"}} }

// Call implements bridge.Functions.
func (t terminal) Call(_ context.Context, _ string, arguments json.RawMessage) (*toolformat.Result, error) {
	var in struct {
		Labels []string
		Values []int
	}
	if err := json.Unmarshal(arguments, &in); err != nil {
		return nil, err
	}
	if len(in.Labels) != len(in.Values) {
		return nil, fmt.Errorf("expected as many values as labels, got %d labels and %d values", len(in.Labels), len(in.Values))
	}
	for i, label := range in.Labels {
		fmt.Fprintf(t.out, "%-10s %s\n", label, strings.Repeat("#", in.Values[i]))
	}
	return toolformat.TextResult("the user sees the chart", false), nil
}
