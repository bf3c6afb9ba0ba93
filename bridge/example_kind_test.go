package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// clockKind is a whole kind of native tool: what a folder of its own would export as Kind.
var clockKind = bridge.NativeKind{Name: "clock", Open: openClock}

// clockAPI is what the config says of an API of the kind.
type clockAPI struct {
	Type string `json:"type"`
	Zone string `json:"zone" jsonschema:"An IANA time zone."`
}

// clockSpec is what a definition says for the kind.
type clockSpec struct {
	Layout string `json:"layout" jsonschema:"How Go's time.Layout is to be written."`
}

type clock struct{ zone *time.Location }

func openClock(cfg bridge.BackendConfig) (bridge.Backend, error) {
	api, err := bridge.DecodeSpec[clockAPI]("clock: api "+cfg.Name, cfg.Config)
	if err != nil {
		return nil, err
	}
	zone, err := time.LoadLocation(api.Zone)
	if err != nil {
		return nil, fmt.Errorf("clock: api %s: zone: %w", cfg.Name, err)
	}
	return &clock{zone}, nil
}

func (c *clock) Tool(definition toolformat.Tool, raw json.RawMessage) (bridge.Tool, []toolformat.Note, error) {
	spec, err := bridge.DecodeSpec[clockSpec]("clock", raw)
	if err != nil {
		return bridge.Tool{}, nil, err
	}
	call := func(_ context.Context, arguments json.RawMessage) (*toolformat.Result, error) {
		var in struct{ Seconds int64 }
		if err := json.Unmarshal(arguments, &in); err != nil { // they are valid, so that this is our own fault
			return nil, toolformat.AsError(err)
		}
		return toolformat.TextResult(time.Unix(in.Seconds, 0).In(c.zone).Format(spec.Layout), false), nil
	}
	return bridge.Tool{Tool: definition, ReadOnly: true, Call: call}, nil, nil
}

func (c *clock) Close() error { return nil }

// A new kind of native tool, from what a config and a definition say to the result of a
// call.
func ExampleNativeKind() {
	backend, err := clockKind.Open(bridge.BackendConfig{Name: "utc", Config: json.RawMessage(`{"type":"clock","zone":"UTC"}`), Log: slog.Default()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer backend.Close()
	definition := toolformat.Tool{
		Name:        "date",
		Description: "The date of a Unix time.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"seconds":{"type":"integer"}},"required":["seconds"]}`),
	}
	tool, _, err := backend.Tool(definition, json.RawMessage(`{"layout":"2 January 2006"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	native, err := bridge.NewNative(bridge.NativeOptions{}, tool)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer native.Close()

	session, err := native.Open(context.Background(), &bridge.Caller{ID: "example"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	for _, arguments := range []string{`{"seconds":1700000000}`, `{"seconds":"soon"}`} {
		params, err := wire.SplitParams([]byte(`{"arguments":` + arguments + `}`))
		if err != nil {
			fmt.Println(err)
			return
		}
		reply := session.Do(context.Background(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: "date"})
		fmt.Println(string(reply.Result))
	}
	_, _, err = backend.Tool(definition, json.RawMessage(`{"layuot":"2006"}`))
	fmt.Println(err)
	// Output:
	// {"content":[{"type":"text","text":"14 November 2023"}]}
	// {"content":[{"type":"text","text":"invalid arguments for tool date: /seconds: expected integer, got string \"soon\""}],"isError":true}
	// clock:
	// - missing required property "layout"
	// - unknown property "layuot" (did you mean "layout"?)
}
