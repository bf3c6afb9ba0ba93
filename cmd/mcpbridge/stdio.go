package main

import (
	"context"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
	"github.com/mcpbridge/mcpbridge/mcpserver"
)

func runStdio(ctx context.Context, args []string, std streams) error {
	f := newFlags("stdio", "stdio [flags] [-- COMMAND [ARG…]]", "Serves MCP on standard input and output, for editors and desktop apps.\n"+spoken(), std)
	cfg, _, err := f.parse(args)
	if err != nil {
		return err
	}
	sys, err := newProgram(f, cfg, "info", stack.Options{OneCaller: true}, std.err)
	if err != nil {
		return err
	}
	defer sys.close()
	l := cfg.Limits
	front := mcpserver.New(sys, mcpserver.Options{
		MessageBytes: l.MessageBytes, BatchMessages: l.BatchMessages, CallsPerSession: l.CallsPerSession, QueueBytes: l.QueueBytes,
		Log: sys.log,
	})
	defer front.Close()
	return front.ServeStdio(ctx, std.in, std.out)
}
