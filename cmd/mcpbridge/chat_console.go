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

// A console is where a chat is held.
type console interface {
	// Prompt waits for what is typed next; io.EOF when there is no more.
	Prompt(ctx context.Context) (string, error)
	Remember(line string) // as if it had been typed before
	Close()

	// begin and end surround an answer; cancel is for Ctrl-C. event shows what happens
	// meanwhile.
	begin(cancel func())
	event(e providers.Event)
	end(run *providers.Run, err error)

	print(text string) // the answer to a command, lines
	fail(err error)    // what went wrong
	style() (p terminal.Paint, columns int)

	attended() bool   // somebody sees what is said
	asker() *approver // nil: nobody can be asked
}

// openConsole is the terminal of the streams, or what reads prompts as lines where there
// is none that could be more, or where JSON is wanted.
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

func (c *fullConsole) attended() bool { return true }

func (c *fullConsole) asker() *approver { return c.asks }

func (c *fullConsole) style() (terminal.Paint, int) { return c.Paint, c.Columns() }

func (c *fullConsole) print(text string) { c.Say(terminal.Alone, strings.TrimSuffix(text, "\n")) }

func (c *fullConsole) fail(err error) { c.print(c.Paint.Red(terminal.Clean(err.Error()))) }

func (c *fullConsole) begin(cancel func()) { c.Begin(cancel) }

func (c *fullConsole) event(e providers.Event) { c.calls.event(e) }

func (c *fullConsole) end(run *providers.Run, err error) {
	c.End()
	c.Update(func(*terminal.Printer) { c.calls.forget() }) // what /decide asks about belongs to the next answer
	if text, bad := ending(run, err); bad {
		c.Say(secNotes, c.Paint.Red(text))
	} else if text != "" {
		c.Say(secNotes, c.Paint.Dim(text))
	}
}

// wordNothing is said of an answer without a word: nothing else would show that there is one.
const wordNothing = "the model has said nothing"

// ending is what is to be said of how an answer has ended; bad when it should have come
// to more.
func ending(run *providers.Run, err error) (text string, bad bool) {
	waiting := len(run.Waiting)
	switch {
	case errors.Is(err, context.Canceled):
		return "cancelled", false
	case err != nil:
		return terminal.Clean(err.Error()), true
	case run.Stop == providers.StopEnd && run.Text == "":
		return wordNothing, false
	case run.Stop == providers.StopEnd:
		return "", false
	case run.Stop == providers.StopDeferred && waiting == 1:
		return "1 call waits: /decide asks about it", false
	case run.Stop == providers.StopDeferred:
		return fmt.Sprintf("%d calls wait: /decide asks about them", waiting), false
	}
	return "the answer is not whole: " + stopWords(run.Stop), true
}

// logOutput is standard error, until a console takes what is written to it.
type logOutput struct {
	to io.Writer

	mu      sync.Mutex // guards console
	console console    // nil: there is none
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
