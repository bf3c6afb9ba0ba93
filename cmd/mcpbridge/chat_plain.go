package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
	"github.com/mcpbridge/mcpbridge/providers"
)

// A plainConsole reads one prompt a line. It writes answers, or events as JSON, to standard output and
// the rest to standard error. It is for scripts and for terminals without cursor control.
type plainConsole struct {
	in      *terminal.Lines
	out     io.Writer
	err     io.Writer
	typed   bool // in is a terminal
	asks    *approver
	printer *askPrinter
}

func newPlainConsole(std streams, asJSON bool) *plainConsole {
	c := &plainConsole{in: terminal.NewLines(std.in), out: std.out, err: std.err, typed: terminal.IsTerminal(std.in)}
	c.printer = newAskPrinter(std, asJSON)
	if asJSON {
		c.out = std.err
	}
	if c.typed {
		c.asks = lineApprover(c.in, std.err)
		c.asks.defers = true
	}
	return c
}

func (c *plainConsole) Prompt(ctx context.Context) (string, error) {
	if c.typed {
		fmt.Fprint(c.err, "> ")
	}
	return c.in.Read(ctx)
}

func (c *plainConsole) Begin(func()) {}

func (c *plainConsole) event(e providers.Event) { c.printer.event(e) }

func (c *plainConsole) end(run *providers.Run, err error) {
	if c.printer.json {
		return // the last event has the end
	}
	c.printer.newline()
	if text, _ := ending(run, err); text != "" {
		c.printer.say("%s", text)
	}
}

func (c *plainConsole) print(text string) { fmt.Fprintln(c.out, strings.TrimSuffix(text, "\n")) }

func (c *plainConsole) fail(err error) { c.printer.say("%v", err) }

func (c *plainConsole) style() (p terminal.Paint, columns int) {
	if c.typed {
		return false, 80
	}
	return false, 1000 // cuts off nothing important
}

func (c *plainConsole) Remember(string) {}

func (c *plainConsole) attended() bool { return c.typed }

func (c *plainConsole) asker() *approver { return c.asks }

func (c *plainConsole) Close() {}
