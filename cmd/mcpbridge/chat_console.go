package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/mcpbridge/mcpbridge/providers"
)

// A console is where a chat is held.
type console interface {
	// prompt waits for what is typed next; io.EOF when there is no more.
	prompt(ctx context.Context) (string, error)

	// begin and end surround an answer; cancel is for Ctrl-C. event shows what happens
	// meanwhile.
	begin(cancel func())
	event(e providers.Event)
	end(run *providers.Run, err error)

	print(text string) // the answer to a command, lines
	fail(err error)    // what went wrong
	style() (p paint, columns int)

	remember(line string) // as if it had been typed before
	attended() bool       // somebody sees what is said
	asker() *approver     // nil: nobody can be asked

	close()
}

// openConsole is the terminal of the streams, or what reads prompts as lines where there
// is none that could be more, or where JSON is wanted.
func openConsole(std streams, asJSON bool, complete []string) (console, error) {
	if kind := os.Getenv("TERM"); !asJSON && isTerminal(std.in) && isTerminal(std.out) && kind != "dumb" {
		return openFullConsole(std.in.(*os.File), std.out.(*os.File), complete)
	}
	return newPlainConsole(std, asJSON), nil
}

// A fullConsole is a terminal in raw mode: Ctrl-C is a key.
type fullConsole struct {
	screen *screen
	edit   *editor
	asks   *approver
	raw    *os.File
	before *term.State
	out    io.Writer
	cancel func() // of the answer under way
	wheel  *pulse
}

// maxRemembered bounds a line that is worth editing again, in bytes.
const maxRemembered = 4000

// turning is how often the live lines are drawn anew.
const turning = 100 * time.Millisecond

func openFullConsole(in, out *os.File, complete []string) (*fullConsole, error) {
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, fmt.Errorf("the terminal cannot be set up: %w", err)
	}
	c := &fullConsole{raw: in, before: before, out: out}
	size := func() (columns, rows int) {
		columns, rows, err := term.GetSize(int(out.Fd()))
		if err != nil || columns <= 0 || rows <= 0 {
			return 80, 24
		}
		return columns, rows
	}
	keys := newKeyboard(in, func() { io.WriteString(out, "\a") })
	if c.edit, err = newEditor(keys, out, size, complete); err != nil {
		return nil, errors.Join(err, term.Restore(int(in.Fd()), before))
	}
	io.WriteString(out, "\x1b[?2004h") // a paste is marked as one
	c.screen = newScreen(c.edit.lines, size, os.Getenv("NO_COLOR") == "")
	c.asks = &approver{show: c.screen.question, ask: c.ask, say: c.print, defers: true, always: map[string]bool{}}
	return c, nil
}

func (c *fullConsole) close() {
	c.edit.keys.close()
	c.edit.lines.Close()
	io.WriteString(c.out, "\x1b[?2004l")
	_ = term.Restore(int(c.raw.Fd()), c.before) // it is gone, then
}

// prompt lets a prompt be edited. Ctrl-C leaves the line, and the second one in a row the
// chat.
func (c *fullConsole) prompt(ctx context.Context) (string, error) {
	for interrupted := false; ; interrupted = true {
		c.screen.room()
		line, err := c.edit.read(ctx, c.screen.paint.bold("> "), "")
		c.screen.typed()
		switch {
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case errors.Is(err, errInterrupted) && interrupted:
			return "", io.EOF
		case errors.Is(err, errInterrupted):
			c.screen.say(secNone, c.screen.paint.dim("Ctrl-C once more, or Ctrl-D, ends"))
			continue
		case err != nil:
			return "", err
		}
		c.remember(line)
		return c.edit.keys.expand(line), nil
	}
}

// ask lets an answer be typed. What has been typed ahead is none. Ctrl-D is as Ctrl-C.
func (c *fullConsole) ask(ctx context.Context, question, prefill string) (string, error) {
	c.edit.keys.forget()
	c.edit.lines.DisableHistory()
	defer c.edit.lines.EnableHistory()
	line, err := c.edit.read(ctx, "  "+question, prefill)
	c.screen.typed()
	if errors.Is(err, io.EOF) && c.cancel != nil {
		c.cancel()
	}
	return line, err
}

func (c *fullConsole) remember(line string) {
	if strings.TrimSpace(line) != "" && len(line) <= maxRemembered {
		c.edit.remember(line)
	}
}

func (c *fullConsole) attended() bool { return true }

func (c *fullConsole) asker() *approver { return c.asks }

func (c *fullConsole) style() (paint, int) { return c.screen.paint, c.screen.columns() }

func (c *fullConsole) print(text string) { c.screen.say(secNone, strings.TrimSuffix(text, "\n")) }

func (c *fullConsole) fail(err error) { c.print(c.screen.paint.red(clean(err.Error()))) }

func (c *fullConsole) begin(cancel func()) {
	c.cancel = cancel
	c.screen.begin()
	c.edit.keys.onInterrupt(cancel)
	c.wheel = startPulse(c.screen.tick)
}

func (c *fullConsole) event(e providers.Event) { c.screen.event(e) }

func (c *fullConsole) end(run *providers.Run, err error) {
	c.wheel.stop()
	c.edit.keys.onInterrupt(nil)
	c.cancel = nil
	c.screen.end()
	if text, bad := ending(run, err); bad {
		c.screen.say(secNotes, c.screen.paint.red(text))
	} else if text != "" {
		c.screen.say(secNotes, c.screen.paint.dim(text))
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
		return clean(err.Error()), true
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

// pulse calls something again and again until it is stopped.
type pulse struct {
	done chan struct{}
	over sync.WaitGroup
}

func startPulse(tick func()) *pulse {
	p := &pulse{done: make(chan struct{})}
	p.over.Go(func() {
		t := time.NewTicker(turning)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				tick()
			case <-p.done:
				return
			}
		}
	})
	return p
}

func (p *pulse) stop() {
	close(p.done)
	p.over.Wait()
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
	l.console.print(paint.dim(clean(strings.TrimSpace(string(p)))))
	return len(p), nil
}
