package local_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/local"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Definitions of the kind local: a Go function of the program, and a command, whose arguments are
// never read by a shell.
func ExampleOptions_Kind() {
	double, err := bridge.Func("double", "Doubles a number.", func(_ context.Context, in struct{ N int }) (int, error) {
		return 2 * in.N, nil
	})
	if err != nil {
		log.Fatal(err)
	}
	kind := local.Options{Functions: map[string]bridge.Tool{"double": double}}.Kind()
	backend, err := kind.Open(bridge.BackendConfig{Log: slog.Default()})
	if err != nil {
		log.Fatal(err)
	}
	defer backend.Close()
	function, _, err := backend.Tool(toolformat.Tool{Name: "twice"}, json.RawMessage(`{"function":"double"}`))
	if err != nil {
		log.Fatal(err)
	}
	command, _, err := backend.Tool(toolformat.Tool{
		Name:        "version",
		Description: "Shows a setting of Go.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
	}, json.RawMessage(`{"command":["go","env","{name}"],"stdin":false,"timeout":"30s"}`))
	if err != nil {
		log.Fatal(err)
	}
	native, err := bridge.NewNative(bridge.NativeOptions{}, function, command)
	if err != nil {
		log.Fatal(err)
	}
	defer native.Close()

	session, err := native.Open(context.Background(), &bridge.Caller{ID: "example"})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	for _, call := range [][2]string{
		{"twice", `{"N":21}`},
		{"version", `{"name":"GOEXE; id"}`},
		{"version", `{"name":"-json"}`},
	} {
		params, err := wire.SplitParams([]byte(`{"arguments":` + call[1] + `}`))
		if err != nil {
			log.Fatal(err)
		}
		reply := session.Do(context.Background(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: call[0]})
		fmt.Println(string(reply.Result))
	}
	// Output:
	// {"content":[{"type":"text","text":"42"}],"structuredContent":42}
	// {"content":[{"type":"text","text":""}]}
	// {"content":[{"type":"text","text":"argument name: it begins with \"-\" and would be read as an option: expected another value"}],"isError":true}
}

// A command of the kind as it is without options.
func ExampleKind() {
	backend, err := local.Kind.Open(bridge.BackendConfig{Log: slog.Default()})
	if err != nil {
		log.Fatal(err)
	}
	defer backend.Close()
	_, _, err = backend.Tool(toolformat.Tool{Name: "run"}, json.RawMessage(`{"command":["sh","-c","echo {text}"]}`))
	fmt.Println(err)
	// Output:
	// local: command: element 2, "echo {text}": sh would run an argument as code; pass it as an element of its own after the code, which reads it as "$1", sys.argv[1] or the like, or read it from standard input
}
