// Command mcpbench measures MCP gateways: calls a second, CPU time and memory beside the same calls
// without a gateway (direct) and through the least that a gateway can do (the floor).
//
// Files: main.go (the commands, and those that are parts of a measurement: load, echo, floor), run.go
// (run, report, gateways), gateways.json (the gateways that it knows).
//
// Packages: internal/bench (what is measured, in which order), internal/load (callers that check each
// answer), internal/client (a cheap MCP client), internal/upstream (echo and floor), internal/host
// (processes and the state of the machine), internal/report (tables and pictures), internal/raw (JSON
// without decoding).
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
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/client"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/load"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/upstream"
)

type command struct {
	name, usage, about string
	words              bool                        // it takes arguments that are not flags
	prepare            func(*pflag.FlagSet) action // adds its flags
}

// An action is what a command does with the words that are not flags.
type action func(ctx context.Context, words []string, out, log io.Writer) error

func commands() []command {
	return []command{
		{"run", "run [--only NAME]… [--suite NAME]… [--json FILE]", "measure gateways beside direct and floor", false, prepareRun},
		{"report", "report [--page FILE] [--svg FILE] FILE…", "show what run has written, as tables or a picture", true, prepareReport},
		{"gateways", "gateways [--gateways FILE]", "list the gateways that are known, and how to install each", false, prepareGateways},
		{"load", "load --url URL [--callers N] [--payload BYTES]", "put load on one server and check its answers", true, prepareLoad},
		{"echo", "echo [--listen HOST:PORT]", "be the server behind the gateways", false, prepareEcho},
		{"floor", "floor --listen HOST:PORT [--upstream URL,… | -- COMMAND]", "be the least that a gateway can do", true, prepareFloor},
	}
}

func main() {
	debug.SetGCPercent(400) // load, echo and floor should cost little
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := dispatch(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mcpbench: "+err.Error())
		os.Exit(1)
	}
}

func dispatch(ctx context.Context, args []string, out, log io.Writer) error {
	name := "--help"
	if len(args) > 0 {
		name = args[0]
	}
	for _, c := range commands() {
		if c.name != name {
			continue
		}
		f := pflag.NewFlagSet(name, pflag.ContinueOnError)
		f.SortFlags = false
		f.SetOutput(io.Discard)
		f.Usage = func() {
			fmt.Fprintf(out, "Usage: mcpbench %s\n\n%s%s.\n\n%s", c.usage, strings.ToUpper(c.about[:1]), c.about[1:], f.FlagUsagesWrapped(100))
		}
		do := c.prepare(f)
		err := f.Parse(args[1:])
		if err == nil && !c.words && f.NArg() > 0 {
			err = fmt.Errorf("unexpected argument %q", f.Arg(0))
		}
		switch {
		case errors.Is(err, pflag.ErrHelp):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w (see mcpbench %s --help)", name, err, name)
		}
		return do(ctx, f.Args(), out, log)
	}
	if name != "help" && name != "--help" && name != "-h" {
		return fmt.Errorf("no command %q (see mcpbench --help)", name)
	}
	fmt.Fprint(out, "mcpbench measures MCP gateways.\n\n")
	for _, c := range commands() {
		fmt.Fprintf(out, "  mcpbench %-58s %s\n", c.usage, c.about)
	}
	fmt.Fprint(out, "\nmcpbench COMMAND --help lists a command's flags. docs/benchmark.md tells what is measured and how.\n"+
		"It fails with status 1 for a wrong answer, a gateway that does not work and CPU time that has risen.\n")
	return nil
}

func prepareLoad(f *pflag.FlagSet) action {
	l := load.Load{Target: client.Target{Carrier: client.HTTP}, Warm: 300 * time.Millisecond}
	f.StringVar(&l.Target.URL, "url", "", "the server's `URL`, http: or ws:; without it, a command after -- that speaks stdio")
	f.IntVar(&l.Callers, "callers", 1, "call from `N` callers at once, over HTTP and WebSocket each with a session of its own")
	f.IntVar(&l.Payload, "payload", 32, "send this many `BYTES` of text, at least 20")
	f.DurationVar(&l.Length, "for", 2*time.Second, "call for this `TIME`")
	f.StringVar(&l.Tool, "tool", "echo", "call this tool; *`NAME` takes all that end in NAME in turn")
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
		return serve(ctx, *listen, &http.Server{Handler: echo})
	}
}

func prepareFloor(f *pflag.FlagSet) action {
	listen := f.String("listen", "127.0.0.1:7333", "serve streamable HTTP on /mcp of this `HOST:PORT`")
	urls := f.StringSlice("upstream", nil, "pass calls on to the server at this `URL` instead of a command; given several, those of a connection to one of them")
	times := f.Int("times", 1, "start the command `N` times, and pass the calls of a connection on to one of them")
	return func(ctx context.Context, words []string, _, _ io.Writer) error {
		switch {
		case (len(*urls) == 0) == (len(words) == 0):
			return errors.New("floor: expected either --upstream URL or -- COMMAND")
		case *times < 1:
			return errors.New("floor: expected --times of at least 1")
		}
		var handlers []http.Handler
		for _, url := range *urls {
			handlers = append(handlers, upstream.FloorHTTP(url))
		}
		open, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		for len(words) > 0 && len(handlers) < *times {
			handler, err := upstream.FloorStdio(words, stop)
			if err != nil {
				return err
			}
			handlers = append(handlers, handler)
		}
		if err := serve(open, *listen, upstream.Spread(handlers)); err != nil || ctx.Err() != nil {
			return err
		}
		return context.Cause(open)
	}
}

// serve serves until the context ends, which is not an error.
func serve(ctx context.Context, address string, server *http.Server) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { l.Close() })()
	if err = server.Serve(l); ctx.Err() != nil {
		return nil
	}
	return err
}
