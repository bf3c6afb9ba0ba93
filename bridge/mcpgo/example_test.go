package mcpgo_test

import (
	"context"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/mcpgo"
)

// An mcp-go server in the same program becomes one of the bridge's members.
func ExampleNewSource() {
	s := server.NewMCPServer("clock", "1.0.0")
	s.AddTool(mcp.NewTool("now", mcp.WithDescription("Tells the time.")),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("noon"), nil
		})

	b := bridge.New(bridge.Options{}, bridge.Member{Name: "clock", Source: mcpgo.NewSource(s)})
	session, err := b.Open(context.Background(), &bridge.Caller{ID: "example"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	list, err := session.List(context.Background(), bridge.Tools)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, item := range list.Items {
		fmt.Println(item.Key)
	}
	// Output: now
}

// The tools of a bridge.Source are offered by an mcp-go server that a program already has.
func ExampleAddTools() {
	native, err := bridge.NewNative(bridge.NativeOptions{}, add())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer native.Close()

	s := server.NewMCPServer("mine", "1.0.0")
	tools, err := mcpgo.AddTools(context.Background(), s, native, mcpgo.ToolsOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer tools.Close()
	fmt.Println(s.GetTool("add").Tool.Description)
	// Output: Adds two numbers.
}

func add() bridge.Tool {
	type numbers struct{ A, B int }
	tool, err := bridge.Func("add", "Adds two numbers.", func(_ context.Context, n numbers) (int, error) { return n.A + n.B, nil })
	if err != nil {
		panic(err)
	}
	return tool
}
