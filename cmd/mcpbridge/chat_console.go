package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
	"github.com/mcpbridge/mcpbridge/providers"
)

// A console is the user interface of a chat.
type console interface {
	// Prompt waits for the next prompt. The error at the end of input is io.EOF.
	Prompt(ctx context.Context) (string, error)
	Remember(line string) // adds to the history of prompts
	Close()

	// Begin and end surround an answer, whose events are shown. Ctrl-C calls cancel.
	Begin(cancel func())
	event(e providers.Event)
	end(run *providers.Run, err error)

	print(text string) // shows the lines of a command's answer
	fail(err error)    // shows an error
	style() (p terminal.Paint, columns int)

	asker() *approver // nil without a user
}

// openConsole returns a full console on a capable terminal, and otherwise a plain one.
func openConsole(std streams, asJSON bool, complete []string) (console, error) {
	if kind := os.Getenv("TERM"); !asJSON && terminal.IsTerminal(std.in) && terminal.IsTerminal(std.out) && kind != "dumb" {
		return openFullConsole(std.in.(*os.File), std.out.(*os.File), complete)
	}
	return newPlainConsole(std, asJSON), nil
}

// A fullConsole is a terminal whose lines can be edited and redrawn.
type fullConsole struct {
	*terminal.Terminal
	calls *callScreen
	asks  *approver
}

func openFullConsole(in, out *os.File, complete []string) (*fullConsole, error) {
	t, err := terminal.Open(in, out, complete)
	if err != nil {
		return nil, err
	}
	c := &fullConsole{Terminal: t, calls: newCallScreen(t.Screen)}
	c.asks = &approver{show: c.calls.question, ask: t.Ask, say: c.print, defers: true, always: map[string]bool{}}
	return c, nil
}

func (c *fullConsole) asker() *approver { return c.asks }

func (c *fullConsole) style() (terminal.Paint, int) { return c.Paint, c.Columns() }

func (c *fullConsole) print(text string) { c.Say(terminal.Alone, strings.TrimSuffix(text, "\n")) }

func (c *fullConsole) fail(err error) { c.print(c.Paint.Red(terminal.Clean(err.Error()))) }

func (c *fullConsole) event(e providers.Event) { c.calls.event(e) }

func (c *fullConsole) end(run *providers.Run, err error) {
	c.End()
	c.Update(func(*terminal.Printer) { c.calls.forget() }) // deferred calls belong to the next answer
	if text, bad := ending(run, err); bad {
		c.Say(secNotes, c.Paint.Red(text))
	} else if text != "" {
		c.Say(secNotes, c.Paint.Dim(text))
	}
}

// emptyAnswer is shown for an answer without text, which would show nothing else.
const emptyAnswer = "empty answer"

// ending returns the note on the end of an answer. bad means that the answer is incomplete.
func ending(run *providers.Run, err error) (text string, bad bool) {
	switch {
	case errors.Is(err, context.Canceled):
		return "canceled", false
	case err != nil:
		return terminal.Clean(err.Error()), true
	case run.Stop == providers.StopEnd && run.Text == "":
		return emptyAnswer, false
	case run.Stop == providers.StopEnd:
		return "", false
	case run.Stop == providers.StopDeferred:
		return deferred(len(run.Waiting)), false
	}
	return incomplete(run.Stop), true
}

// deferred returns the note on deferred calls.
func deferred(n int) string {
	return number(n, "call") + " deferred: /decide reviews " + map[bool]string{true: "it", false: "them"}[n == 1]
}

// logOutput writes to standard error, or prints on a console while there is one.
type logOutput struct {
	to io.Writer

	mu      sync.Mutex // guards console
	console console    // nil without one
}

func (l *logOutput) through(c console) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.console = c
}

func (l *logOutput) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.console == nil {
		return l.to.Write(p)
	}
	paint, _ := l.console.style()
	l.console.print(paint.Dim(terminal.Clean(strings.TrimSpace(string(p)))))
	return len(p), nil
}

// A plainConsole reads one prompt a line. It writes answers, or events as JSON, to standard output
// and the rest to standard error. It is for scripts and for terminals without cursor control.
type plainConsole struct {
	*askPrinter
	in   *terminal.Lines
	asks *approver // nil unless in is a terminal
}

func newPlainConsole(std streams, asJSON bool) *plainConsole {
	c := &plainConsole{askPrinter: newAskPrinter(std, asJSON), in: terminal.NewLines(std.in)}
	if terminal.IsTerminal(std.in) {
		c.asks = lineApprover(c.in, std.err)
		c.asks.defers = true
	}
	return c
}

func (c *plainConsole) Prompt(ctx context.Context) (string, error) {
	if c.asks != nil {
		fmt.Fprint(c.err, "> ")
	}
	return c.in.Read(ctx)
}

func (c *plainConsole) Begin(func()) {}

func (c *plainConsole) end(run *providers.Run, err error) {
	if c.json {
		return // the last event has the end
	}
	c.newline()
	if text, _ := ending(run, err); text != "" {
		c.say("%s", text)
	}
}

func (c *plainConsole) print(text string) {
	to := c.out
	if c.json {
		to = c.err
	}
	fmt.Fprintln(to, strings.TrimSuffix(text, "\n"))
}

func (c *plainConsole) fail(err error) { c.say("%v", err) }

func (c *plainConsole) style() (p terminal.Paint, columns int) {
	if c.asks != nil {
		return false, 80
	}
	return false, 1000 // cuts off nothing important
}

func (c *plainConsole) Remember(string) {}

func (c *plainConsole) asker() *approver { return c.asks }

func (c *plainConsole) Close() {}
