// Command mcpbench measures MCP gateways: calls a second, CPU time and memory beside the same calls
// without a gateway (direct) and through the least that a gateway can do (the floor).
//
// Files: main.go (commands), run.go (measures), report.go (shows figures and gateways), parts.go (load,
// echo and floor), gateways.json (the gateways that it knows).
//
// Packages: internal/bench (what is measured, in which order), internal/load (callers that check each
// answer), internal/client (a cheap MCP client), internal/upstream (echo and floor), internal/host
// (processes and the state of the machine), internal/report (tables and pictures), internal/raw (JSON
// without decoding).
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
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
		{"floor", "floor --listen HOST:PORT [--upstream URL | -- COMMAND]", "be the least that a gateway can do", true, prepareFloor},
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
