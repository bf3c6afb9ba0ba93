package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/upstream"
)

func runEcho(ctx context.Context, args []string, out, _ io.Writer) error {
	f := newFlags("echo", out)
	listen := f.String("listen", "", "serve streamable HTTP on /mcp and WebSocket on /ws of this `HOST:PORT` instead of standard input and output")
	era := f.String("era", upstream.Both, "the `ERA` to speak: legacy (initialize and sessions), modern (2026-07-28) or both")
	tools := f.Int("tools", 1, "list `N` tools, all but the first as filling")
	events := f.Bool("events", false, "answer over HTTP with streams of events instead of JSON")
	if done, err := f.parse(args, false); done || err != nil {
		return err
	}
	echo, err := upstream.NewEcho(*era, *tools)
	if err != nil {
		return usagef("echo: %v", err)
	}
	if *listen == "" {
		return echo.ServeStdio(os.Stdin, os.Stdout)
	}
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	return until(ctx, l, func() error { return echo.Serve(l, *events) })
}

func runFloor(ctx context.Context, args []string, out, _ io.Writer) error {
	f := newFlags("floor", out)
	listen := f.String("listen", "127.0.0.1:7333", "serve streamable HTTP on /mcp of this `HOST:PORT`")
	url := f.String("upstream", "", "pass calls on to the server at this `URL` instead of a command")
	if done, err := f.parse(args, true); done || err != nil {
		return err
	}
	if (*url == "") == (f.NArg() == 0) {
		return usagef("floor: expected either --upstream URL or -- COMMAND")
	}
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	if *url != "" {
		return until(ctx, l, func() error { return http.Serve(l, upstream.FloorHTTP(*url)) })
	}
	ended := make(chan error, 1)
	handler, err := upstream.FloorStdio(f.Args(), func(err error) { ended <- err; l.Close() })
	if err != nil {
		return err
	}
	err = until(ctx, l, func() error { return http.Serve(l, handler) })
	select {
	case err = <-ended:
	default:
	}
	return err
}

// until serves until the context ends, which is not an error.
func until(ctx context.Context, l net.Listener, serve func() error) error {
	defer context.AfterFunc(ctx, func() { l.Close() })()
	err := serve()
	if ctx.Err() != nil {
		return nil
	}
	return err
}
