package mcpclient_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/mcpserver"
)

// A caller lists the tools of an MCP server and calls one of them.
func ExampleNew() {
	server := mcpserver.New(sourcetest.NewFake(), mcpserver.Options{}) // any MCP server will do
	defer server.Close()
	web := httptest.NewServer(server.Handler())
	defer web.Close()

	client := mcpclient.New(mcpclient.Config{Name: "fake", URL: web.URL + "/mcp"})
	defer client.Close()
	ctx := context.Background()
	session, err := client.Open(ctx, &bridge.Caller{ID: "example"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()

	tools, err := session.List(ctx, bridge.Tools)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("the first tool is", tools.Items[0].Key)

	params, err := wire.SplitParams([]byte(`{"name":"echo","arguments":{"text":"hello"}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	reply := session.Do(ctx, &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: "echo"})
	defer reply.Free()
	fmt.Println(string(reply.Result))
	fmt.Println(client.Status().State)
	// Output:
	// the first tool is echo
	// {"content":[],"structuredContent":{"text":"hello"}}
	// ready
}

// Two servers share a bound on their child processes.
func ExampleChildren() {
	bound := &mcpclient.Children{Max: 10}
	files := mcpclient.New(mcpclient.Config{Name: "files", Command: []string{"files-server"}, Children: bound})
	defer files.Close()
	notes := mcpclient.New(mcpclient.Config{Name: "notes", Command: []string{"notes-server"}, Children: bound})
	defer notes.Close()
	fmt.Println(files.Status().State, notes.Status().State) // nothing runs before a session is opened
	// Output: idle idle
}
