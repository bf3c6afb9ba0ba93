// Command policy is a bank for the example: an MCP server on standard input and output, whose money is not
// real.
package main

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func main() {
	var balance atomic.Int64
	balance.Store(100)
	s := server.NewMCPServer("bank", "1.0.0")
	s.AddTool(mcp.NewTool("balance", mcp.WithDescription("Says how many euros there are."), mcp.WithReadOnlyHintAnnotation(true)),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(fmt.Sprintf("%d euros", balance.Load())), nil
		})
	s.AddTool(mcp.NewTool("pay", mcp.WithDescription("Pays an amount."),
		mcp.WithNumber("amount", mcp.Required(), mcp.Description("euros")), mcp.WithString("to", mcp.Required())),
		func(_ context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			amount := call.GetInt("amount", 0)
			return mcp.NewToolResultText(fmt.Sprintf("paid %d euros to %s: %d are left", amount, call.GetString("to", ""), balance.Add(-int64(amount)))), nil
		})
	s.AddTool(mcp.NewTool("delete_account", mcp.WithDescription("Closes the account.")),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("the account is closed"), nil
		})
	if err := server.ServeStdio(s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
