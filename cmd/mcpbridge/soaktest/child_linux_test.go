package soaktest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/process"
)

// childMode in the environment makes the test binary one of the children below.
const childMode = "SOAKTEST_CHILD"

func TestMain(m *testing.M) {
	process.Supervise()
	switch mode := os.Getenv(childMode); mode {
	case "":
		var err error
		if programs, err = os.MkdirTemp("", "soaktest"); err != nil {
			panic(err)
		}
		code := m.Run()
		os.RemoveAll(programs)
		os.Exit(code)
	case "client":
		client()
	default:
		server(mode)
	}
}

// waitToBeKilled does not use select {}, which ends a program without other goroutines.
func waitToBeKilled() {
	for {
		syscall.Pause()
	}
}

type object = map[string]any

// server is an MCP server whose tool pid tells its process id, and whose tool block
// never answers. One that is deaf goes on after the end of its input, as servers do
// that do not look; a stubborn one ignores TERM too.
func server(mode string) {
	if mode == "stubborn" {
		signal.Ignore(syscall.SIGTERM)
	}
	messages, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ ProtocolVersion, Name string }
		}
		if err := messages.Decode(&m); err != nil {
			break
		}
		var result object
		switch m.Method {
		case "initialize":
			result = object{
				"protocolVersion": m.Params.ProtocolVersion,
				"capabilities":    object{"tools": object{}},
				"serverInfo":      object{"name": "soak", "version": "1"},
			}
		case "tools/list":
			schema := object{"type": "object"}
			result = object{"tools": []object{
				{"name": "pid", "inputSchema": schema, "annotations": object{"readOnlyHint": true}},
				{"name": "block", "inputSchema": schema},
			}}
		case "tools/call":
			result = object{"content": []object{{"type": "text", "text": strconv.Itoa(os.Getpid())}}}
		}
		if m.ID != nil && m.Params.Name != "block" {
			answers.Encode(object{"jsonrpc": "2.0", "id": m.ID, "result": result})
		}
	}
	if mode != "polite" {
		waitToBeKilled()
	}
}

// client connects as its arguments say, calls, calls what does not answer, says that it
// is ready, and waits to be killed.
func client() {
	ctx := context.Background()
	p, err := dial(ctx, os.Args[1], os.Args[2:])
	if err == nil {
		_, err = p.pid(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if os.Args[1] != "http" { // over HTTP a lost connection does not end a call
		p.begin(ctx, "tools/call", object{"name": "block"})
	}
	fmt.Println("ready")
	waitToBeKilled()
}

// pid calls the tool of that name.
func (p *peer) pid(ctx context.Context) (int, error) {
	result, err := p.tool(ctx, "pid")
	if err != nil {
		return 0, err
	}
	if len(result.Content) != 1 {
		return 0, io.ErrUnexpectedEOF
	}
	return strconv.Atoi(strings.TrimSpace(result.Content[0].Text))
}
