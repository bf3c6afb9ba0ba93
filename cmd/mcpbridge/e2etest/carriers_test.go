// Package e2etest runs the contract of bridge.Source, and what a client of MCP expects, over the
// whole way: client, carrier, server, bridge, client, carrier, server.
//
// carriers_test.go runs the contract over each carrier; mcpgo_test.go has mcp-go at either end.
// caller_test.go is the scripted client, script_test.go and scriptcall_test.go the scripted
// server; the other files compare what passes in between, by subject.
package e2etest

import (
	"context"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/server"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/mcpserver"
)

// childMode is the variable that makes the test binary a server on stdio.
const childMode = "MCPBRIDGE_TEST_CHILD"

func TestMain(m *testing.M) {
	peer.Main()
	switch mode := os.Getenv(childMode); mode {
	case "":
		flag.Parse()
		flag.Set("test.parallel", "8") // tests side by side mostly wait
		os.Exit(m.Run())
	case "fake":
		s := mcpserver.New(sourcetest.NewFake(), mcpserver.Options{})
		if err := s.ServeStdio(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "mcp-go":
		if err := mcpgo.ServeStdio(newMCPGoServer()); err != nil {
			os.Exit(1)
		}
	case "once":
		serveOnce()
	default:
		fmt.Fprintf(os.Stderr, "no such child: %s\n", mode)
		os.Exit(2)
	}
}

// sideBySide runs a part of a test in parallel with its other parts.
func sideBySide(t *testing.T, name string, part func(*testing.T)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		part(t)
	})
}

// carriers are the configurations of a client of a new Fake.
var carriers = []struct {
	name   string
	config func(testing.TB) mcpclient.Config
}{
	{"stdio", func(testing.TB) mcpclient.Config { return childConfig("fake") }},
	{"http", func(t testing.TB) mcpclient.Config {
		return mcpclient.Config{URL: serve(t, sourcetest.NewFake()) + "/mcp"}
	}},
	{"http-shared", func(t testing.TB) mcpclient.Config {
		return mcpclient.Config{URL: serve(t, sourcetest.NewFake()) + "/mcp", Sharing: mcpclient.Shared}
	}},
	{"sse", func(t testing.TB) mcpclient.Config {
		return mcpclient.Config{URL: serve(t, sourcetest.NewFake()) + "/sse", Transport: mcpclient.SSE}
	}},
	{"ws", func(t testing.TB) mcpclient.Config {
		return mcpclient.Config{URL: "ws" + strings.TrimPrefix(serve(t, sourcetest.NewFake()), "http") + "/ws"}
	}},
}

// childConfig is the configuration of a server that is this test binary.
func childConfig(mode string) mcpclient.Config {
	return mcpclient.Config{Command: []string{os.Args[0]}, Env: map[string]string{childMode: mode, "GORACE": "atexit_sleep_ms=0"}}
}

// serve serves a source over HTTP until the test ends and returns the URL.
func serve(t testing.TB, source bridge.Source) string {
	s := mcpserver.New(source, mcpserver.Options{})
	web := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		s.Close()
		web.Close()
	})
	return web.URL
}

// dial makes a client that is closed when the test ends.
func dial(t testing.TB, cfg mcpclient.Config) *mcpclient.Client {
	cfg.Name = "upstream"
	c := mcpclient.New(cfg)
	t.Cleanup(func() { c.Close() })
	return c
}

// A source behind a server, a carrier and a client keeps the contract.
func TestCarriers(t *testing.T) {
	for _, c := range carriers {
		t.Run(c.name, func(t *testing.T) {
			sourcetest.Contract{Legacy: true}.Run(t, func(t *testing.T) bridge.Source {
				return bridge.New(bridge.Options{}, bridge.Member{Name: "one", Source: dial(t, c.config(t))})
			})
		})
	}
}

// So does the client without a bridge around it.
func TestClients(t *testing.T) {
	for _, c := range carriers {
		t.Run(c.name, func(t *testing.T) {
			sourcetest.Contract{Legacy: true}.Run(t, func(t *testing.T) bridge.Source { return dial(t, c.config(t)) })
		})
	}
}

// So do two hops, with other names on each.
func TestCarriersChained(t *testing.T) {
	for _, c := range carriers {
		t.Run(c.name, func(t *testing.T) {
			sourcetest.Contract{Prefix: "outer__inner__", Legacy: true}.Run(t, func(t *testing.T) bridge.Source {
				inner := bridge.New(bridge.Options{Settle: patience},
					bridge.Member{Name: "beside", Source: sourcetest.NewFake()},
					bridge.Member{Name: "inner", Source: dial(t, c.config(t))})
				return bridge.New(bridge.Options{Settle: patience},
					bridge.Member{Name: "outer", Source: dial(t, mcpclient.Config{URL: serve(t, inner) + "/mcp"})},
					bridge.Member{Name: "other", Source: sourcetest.NewFake()})
			})
		})
	}
}
