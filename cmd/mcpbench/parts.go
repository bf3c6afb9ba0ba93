package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/client"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/load"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/upstream"
)

func prepareLoad(f *pflag.FlagSet) action {
	l := load.Load{Target: client.Target{Carrier: client.HTTP}, Warm: 300 * time.Millisecond}
	f.StringVar(&l.Target.URL, "url", "", "the server's `URL`, http: or ws:; without it, a command after -- that speaks stdio")
	f.IntVar(&l.Callers, "callers", 1, "call from `N` callers at once, over HTTP and WebSocket each with a session of its own")
	f.IntVar(&l.Payload, "payload", 32, "send this many `BYTES` of text, at least 20")
	f.DurationVar(&l.Length, "for", 2*time.Second, "call for this `TIME`")
	f.StringVar(&l.Tool, "tool", "echo", "call this tool; *`NAME` takes the first that ends in NAME")
	f.BoolVar(&l.Target.Modern, "modern", false, "speak revision "+client.Modern+" instead of "+client.Legacy)
	return func(ctx context.Context, words []string, out, _ io.Writer) error {
		l.Target.Command = words
		switch {
		case (l.Target.URL == "") == (len(words) == 0):
			return errors.New("load: expected either --url URL or -- COMMAND")
		case l.Callers < 1 || l.Payload < load.MinPayload:
			return fmt.Errorf("load: expected --callers of at least 1 and --payload of at least %d", load.MinPayload)
		case len(words) > 0:
			l.Target.Carrier = client.Stdio
		case strings.HasPrefix(l.Target.URL, "ws:"):
			l.Target.Carrier = client.WS
		}
		calls, err := l.Run(ctx)
		if err != nil {
			return err
		}
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(calls)
	}
}

func prepareEcho(f *pflag.FlagSet) action {
	listen := f.String("listen", "", "serve streamable HTTP on /mcp and WebSocket on /ws of this `HOST:PORT` instead of standard input and output")
	modern := f.Bool("modern", true, "speak revision "+client.Modern+" as well as "+client.Legacy)
	tools := f.Int("tools", 1, "list `N` tools, all but the first as filling")
	return func(ctx context.Context, _ []string, out, _ io.Writer) error {
		echo := upstream.NewEcho(*modern, *tools)
		if *listen == "" {
			return echo.ServeStdio(os.Stdin, out)
		}
		return serve(ctx, *listen, echo)
	}
}

func prepareFloor(f *pflag.FlagSet) action {
	listen := f.String("listen", "127.0.0.1:7333", "serve streamable HTTP on /mcp of this `HOST:PORT`")
	url := f.String("upstream", "", "pass calls on to the server at this `URL` instead of a command")
	return func(ctx context.Context, words []string, _, _ io.Writer) error {
		switch {
		case (*url == "") == (len(words) == 0):
			return errors.New("floor: expected either --upstream URL or -- COMMAND")
		case *url != "":
			return serve(ctx, *listen, upstream.FloorHTTP(*url))
		}
		open, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		handler, err := upstream.FloorStdio(words, stop)
		if err != nil {
			return err
		}
		if err := serve(open, *listen, handler); err != nil || ctx.Err() != nil {
			return err
		}
		return context.Cause(open)
	}
}

// serve serves until the context ends, which is not an error.
func serve(ctx context.Context, address string, handler http.Handler) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { l.Close() })()
	if err = http.Serve(l, handler); ctx.Err() != nil {
		return nil
	}
	return err
}
