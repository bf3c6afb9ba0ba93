package e2etest

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	mcpgo "github.com/mark3labs/mcp-go/server"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

// patience bounds what a test waits for; only a fault makes a test wait so long.
const patience = time.Minute

// A client of mcp-go works with the server, in the era that it prefers (it falls back) and in
// the legacy era.
func TestMCPGoClient(t *testing.T) {
	for _, c := range []struct {
		name string
		dial func(*testing.T) (transport.Interface, error)
	}{
		{"stdio", func(t *testing.T) (transport.Interface, error) {
			return transport.NewStdio(os.Args[0], []string{childMode + "=fake", "GORACE=atexit_sleep_ms=0"}), nil
		}},
		{"http", func(t *testing.T) (transport.Interface, error) {
			return transport.NewStreamableHTTP(serve(t, sourcetest.NewFake()) + "/mcp")
		}},
		{"sse", func(t *testing.T) (transport.Interface, error) {
			return transport.NewSSE(serve(t, sourcetest.NewFake()) + "/sse")
		}},
	} {
		for _, legacy := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/legacy=%v", c.name, legacy), func(t *testing.T) {
				carrier, err := c.dial(t)
				if err != nil {
					t.Fatal(err)
				}
				var opts []client.ClientOption
				if legacy {
					//lint:ignore SA1019 the legacy era is what this case is about
					opts = append(opts, client.WithLegacyProtocolOnly())
				}
				useMCPGoClient(t, client.NewClient(carrier, opts...))
			})
		}
	}
}

func useMCPGoClient(t *testing.T, c *client.Client) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	defer c.Close()
	progress := make(chan mcp.JSONRPCNotification, 100)
	c.OnNotification(func(n mcp.JSONRPCNotification) {
		if n.Method == wire.NotificationProgress {
			progress <- n
		}
	})
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "test", Version: "1"}
	if got, err := c.Initialize(ctx, hello); err != nil || got.ServerInfo.Name != "fake" {
		t.Fatalf("Initialize: %+v %v", got, err)
	}
	list, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil || len(list.Tools) != 10 || list.Tools[0].Name != "echo" {
		t.Fatalf("ListTools: %+v %v", list, err)
	}
	call := func(tool string, args map[string]any) (*mcp.CallToolResult, error) {
		req := mcp.CallToolRequest{}
		req.Params.Name, req.Params.Arguments = tool, args
		req.Params.Meta = &mcp.Meta{ProgressToken: "token"}
		return c.CallTool(ctx, req)
	}
	if r, err := call("echo", map[string]any{"text": "<&>"}); err != nil || r.StructuredContent.(map[string]any)["text"] != "<&>" {
		t.Errorf("echo: %+v %v", r, err)
	}
	if r, err := call("fail", nil); err != nil || !r.IsError {
		t.Errorf("fail: %+v %v", r, err)
	}
	if _, err := call("error", nil); err == nil || !strings.Contains(err.Error(), "this <fails>") {
		t.Errorf("error: %v", err)
	}
	if _, err := call("no-such", nil); err == nil || !strings.Contains(err.Error(), "unknown tool") {
		t.Errorf("an unknown tool: %v", err)
	}
	const n = 20
	if _, err := call("progress", map[string]any{"n": n}); err != nil {
		t.Errorf("progress: %v", err)
	}
	for i := range n {
		select {
		case got := <-progress:
			if got.Params.AdditionalFields["progressToken"] != "token" {
				t.Fatalf("progress: %+v", got)
			}
		case <-ctx.Done():
			t.Fatalf("%d of %d notifications of progress", i, n)
		}
	}
	//lint:ignore SA1019 a method of the legacy era, which clients still send
	if err := c.Ping(ctx); err != nil {
		t.Errorf("Ping: %v", err)
	}
}

// newMCPGoServer returns a server of mcp-go.
func newMCPGoServer() *mcpgo.MCPServer {
	s := mcpgo.NewMCPServer("theirs", "1", mcpgo.WithToolCapabilities(true))
	s.AddTool(mcp.NewTool("greet", mcp.WithDescription("greets"), mcp.WithString("name", mcp.Required())),
		func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("hello " + req.GetString("name", "nobody")), nil
		})
	s.AddTool(mcp.NewTool("fail"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultError("it failed"), nil
	})
	s.AddTool(mcp.NewTool("more"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.AddTool(mcp.NewTool("new"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("new"), nil
		})
		return mcp.NewToolResultText("done"), nil
	})
	return s
}

// A server of mcp-go works with the client.
func TestMCPGoServer(t *testing.T) {
	for _, c := range []struct {
		name   string
		config func(*testing.T) mcpclient.Config
	}{
		{"stdio", func(*testing.T) mcpclient.Config { return childConfig("mcp-go") }},
		{"http", func(t *testing.T) mcpclient.Config {
			web := httptest.NewServer(mcpgo.NewStreamableHTTPServer(newMCPGoServer(), mcpgo.WithStateful(true)))
			t.Cleanup(web.Close)
			t.Cleanup(web.CloseClientConnections)
			return mcpclient.Config{URL: web.URL + "/mcp"}
		}},
		{"sse", func(t *testing.T) mcpclient.Config {
			web := httptest.NewUnstartedServer(nil)
			s := mcpgo.NewSSEServer(newMCPGoServer(), mcpgo.WithBaseURL("http://"+web.Listener.Addr().String()))
			web.Config.Handler = s
			web.Start()
			t.Cleanup(web.Close)
			t.Cleanup(web.CloseClientConnections)
			return mcpclient.Config{URL: web.URL + "/sse"} // found to be SSE by its refusal of a POST
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			useMCPGoServer(t, bridge.New(bridge.Options{}, bridge.Member{Name: "theirs", Source: dial(t, c.config(t))}))
		})
	}
}

func useMCPGoServer(t *testing.T, source bridge.Source) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	changed := make(chan struct{}, 100)
	s, err := source.Open(ctx, &bridge.Caller{ID: "test", Notify: func(string, []byte) { changed <- struct{}{} }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	list, err := s.List(ctx, bridge.Tools)
	if err != nil || len(list.Items) != 3 {
		t.Fatalf("List: %v %v", list, err)
	}
	call := func(tool, args string) bridge.Reply {
		params, err := wire.SplitParams([]byte(`{"name":"` + tool + `","arguments":` + args + `}`))
		if err != nil {
			t.Fatal(err)
		}
		return s.Do(ctx, &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: tool})
	}
	if r := call("greet", `{"name":"Ann <&>"}`); r.Err != nil || !strings.Contains(string(r.Result), "hello Ann") {
		t.Errorf("greet: %s %v", r.Result, r.Err)
	}
	if r := call("fail", `{}`); r.Err != nil || string(wire.Lookup(r.Result, "isError")) != "true" {
		t.Errorf("fail: %s %v", r.Result, r.Err)
	}
	if r := call("more", `{}`); r.Err != nil {
		t.Errorf("more: %v", r.Err)
	}
	for {
		list, err := s.List(ctx, bridge.Tools)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := list.Find("new"); ok {
			break
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatal("the new tool does not come")
		}
	}
	if r := call("new", `{}`); r.Err != nil {
		t.Errorf("new: %v", r.Err)
	}
}
