package soaktest

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
)

// childMode in the environment makes the test binary one of the children below.
const childMode = "SOAKTEST_CHILD"

func TestMain(m *testing.M) {
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

// server is an MCP server whose tool pid returns its process id, and whose tool block never
// answers. In the mode deaf it goes on after the end of its input, as servers do that do not
// look; in the mode stubborn it ignores TERM too.
func server(mode string) {
	if mode == "stubborn" {
		signal.Ignore(syscall.SIGTERM)
	}
	s := peer.NewServer(peer.Legacy)
	s.Tools = `{"name":"pid","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},{"name":"block","inputSchema":{"type":"object"}}`
	s.Take = func(c *peer.Call) {
		if c.Name() == "pid" {
			c.Reply(fmt.Sprintf(`"content":[{"type":"text","text":"%d"}]`, os.Getpid()))
		}
	}
	s.ServeLines(struct {
		io.Reader
		io.Writer
		io.Closer
	}{os.Stdin, os.Stdout, io.NopCloser(nil)})
	if mode != "polite" {
		waitToBeKilled()
	}
}

// client connects as its arguments say, makes a call and another one without an answer, prints
// ready, and waits to be killed.
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
	if os.Args[1] != "http" { // over HTTP the loss of a connection does not end a call
		p.begin("tools/call", object{"name": "block"})
	}
	fmt.Println("ready")
	waitToBeKilled()
}
