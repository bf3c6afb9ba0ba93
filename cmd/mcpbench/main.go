// Command mcpbench measures MCP gateways: calls a second, CPU time and memory beside the same calls
// without a gateway (direct) and through the least that a gateway can do (the floor).
//
// Each command is a function run… that parses its flags and returns an error.
//
// Files: main.go (commands and flags), serve.go (echo and floor), load.go (one load), run.go (run),
// report.go (report and gateways), gateways.json (the gateways that it knows).
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

// Exit codes.
const (
	exitFailed = 1 // a wrong answer, a gateway that does not work, or CPU time that has risen
	exitUsage  = 2
)

type command struct {
	name, usage, about string
	run                func(context.Context, []string, io.Writer, io.Writer) error
}

func commands() []command {
	return []command{
		{"run", "run [--only NAME]… [--suite NAME]… [--json FILE]", "measure gateways beside direct and floor", runRun},
		{"report", "report [--page FILE] [--svg FILE] FILE…", "show what run has written, as tables or a picture", runReport},
		{"gateways", "gateways [--gateways FILE]", "list the gateways that are known, and how to install each", runGateways},
		{"load", "load --url URL [--callers N] [--payload BYTES]", "put load on one server and check its answers", runLoad},
		{"echo", "echo [--listen HOST:PORT]", "be the server behind the gateways", runEcho},
		{"floor", "floor --listen HOST:PORT [--upstream URL | -- COMMAND]", "be the least that a gateway can do", runFloor},
	}
}

func main() {
	debug.SetGCPercent(400) // load, echo and floor should cost little
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := dispatch(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mcpbench: "+err.Error())
		if usage := (usageError)(""); errors.As(err, &usage) {
			os.Exit(exitUsage)
		}
		os.Exit(exitFailed)
	}
}

// usageError is an error of who types the command.
type usageError string

func (e usageError) Error() string { return string(e) }

func usagef(format string, args ...any) error { return usageError(fmt.Sprintf(format, args...)) }

func dispatch(ctx context.Context, args []string, out, log io.Writer) error {
	if len(args) == 0 || args[0] == "help" || args[0] == "--help" || args[0] == "-h" {
		fmt.Fprint(out, "mcpbench measures MCP gateways.\n\n")
		for _, c := range commands() {
			fmt.Fprintf(out, "  mcpbench %-58s %s\n", c.usage, c.about)
		}
		fmt.Fprint(out, "\nmcpbench COMMAND --help lists a command's flags. docs/benchmark.md tells what is measured and how.\n"+
			"Exit codes: 0 done · 1 a wrong answer, a gateway that does not work, CPU time that has risen · 2 bad usage\n")
		return nil
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return c.run(ctx, args[1:], out, log)
		}
	}
	return usagef("no command %q (see mcpbench --help)", args[0])
}

// flags are the flags of a command.
type flags struct {
	*pflag.FlagSet
	command
	out io.Writer
}

func newFlags(name string, out io.Writer) *flags {
	f := &flags{FlagSet: pflag.NewFlagSet(name, pflag.ContinueOnError), out: out}
	for _, c := range commands() {
		if c.name == name {
			f.command = c
		}
	}
	f.SortFlags = false
	f.SetOutput(io.Discard)
	return f
}

// parse parses the arguments. done is set after --help. Words that are not flags are refused unless
// words is set.
func (f *flags) parse(args []string, words bool) (done bool, err error) {
	f.Usage = func() {
		fmt.Fprintf(f.out, "Usage: mcpbench %s\n\n%s%s.\n\n%s", f.usage, strings.ToUpper(f.about[:1]), f.about[1:], f.FlagUsagesWrapped(100))
	}
	err = f.Parse(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return true, nil
	case err != nil:
		return false, usagef("%s: %v (see mcpbench %s --help)", f.Name(), err, f.Name())
	case !words && f.NArg() > 0:
		return false, usagef("%s: unexpected argument %q (see mcpbench %s --help)", f.Name(), f.Arg(0), f.Name())
	}
	return false, nil
}
