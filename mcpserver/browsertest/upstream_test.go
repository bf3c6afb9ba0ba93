package browsertest

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"testing"
)

// upstreamMode in the environment makes the test binary the MCP server behind the
// bridge.
const upstreamMode = "BROWSERTEST_UPSTREAM"

func TestMain(m *testing.M) {
	switch os.Getenv(upstreamMode) {
	case "":
	case "gallery":
		gallery(os.Stdin, os.Stdout, os.Getenv(definitionsFile))
		return
	case "apps":
		serveApps(os.Stdin, os.Stdout)
		return
	case "many":
		many(os.Stdin, os.Stdout)
		return
	default:
		upstream(os.Stdin, os.Stdout)
		return
	}
	os.Exit(run(m))
}

var programs string // the folder of the program that is tested

func run(m *testing.M) int {
	var err error
	if programs, err = os.MkdirTemp("", "browsertest"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(programs)
	return m.Run()
}

type object = map[string]any

// upstream is an MCP server with one tool, which counts and reports progress.
func upstream(in io.Reader, out io.Writer) {
	messages, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				ProtocolVersion string
				Arguments       struct{ To int }
				Meta            struct{ ProgressToken json.RawMessage } `json:"_meta"`
			}
		}
		if messages.Decode(&m) != nil {
			return
		}
		var result object
		switch m.Method {
		case "initialize":
			result = object{
				"protocolVersion": m.Params.ProtocolVersion,
				"capabilities":    object{"tools": object{}},
				"serverInfo":      object{"name": "counter", "version": "1"},
			}
		case "tools/list":
			result = object{"tools": []object{{
				"name": "count", "description": "Counts.",
				"inputSchema": object{"type": "object", "properties": object{"to": object{"type": "integer"}}},
			}}}
		case "tools/call":
			to := m.Params.Arguments.To
			if to < 0 { // it begins, and never ends
				answers.Encode(object{"jsonrpc": "2.0", "method": "notifications/progress", "params": object{"progressToken": m.Params.Meta.ProgressToken, "progress": 1, "total": -to}})
				continue
			}
			for i := range to {
				answers.Encode(object{"jsonrpc": "2.0", "method": "notifications/progress", "params": object{
					"progressToken": m.Params.Meta.ProgressToken, "progress": i + 1, "total": to, "message": fmt.Sprintf("number %d", i+1),
				}})
			}
			result = object{"content": []object{{"type": "text", "text": fmt.Sprintf("counted to %d", to)}}}
		}
		if m.ID != nil {
			answers.Encode(object{"jsonrpc": "2.0", "id": m.ID, "result": result})
		}
	}
}
