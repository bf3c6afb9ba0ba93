package terminal

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// A Terminal is one in raw mode, in which Ctrl-C is a key.
type Terminal struct {
	*Screen
	edit       *editor
	in, out    *os.File
	before     *term.State
	cancel     func() // cancels the current work; nil without work
	stopRedraw func() // ends the redrawing of the live lines and waits for it
}

// maxRemembered bounds a line that is kept to be edited again, in bytes.
const maxRemembered = 4000

// Open puts the terminal into raw mode. complete are the words that Tab completes at the beginning
// of a line.
func Open(in, out *os.File, complete func(line string) []string) (*Terminal, error) {
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, fmt.Errorf("the terminal cannot be set up: %w", err)
	}
	t := &Terminal{in: in, out: out, before: before}
	size := Size(out)
	ahead := bytes.ReplaceAll(typedAhead(in), []byte("\n"), []byte("\r")) // outside of raw mode Enter is a line feed
	keys := newKeyboard(io.MultiReader(bytes.NewReader(ahead), in), func() { io.WriteString(out, "\a") })
	if t.edit, err = newEditor(keys, out, size, complete); err != nil {
		return nil, errors.Join(err, term.Restore(int(in.Fd()), before))
	}
	io.WriteString(out, "\x1b[?2004h") // pastes are marked
	t.Screen = NewScreen(t.edit.lines, size, os.Getenv("NO_COLOR") == "")
	return t, nil
}

// Close puts the terminal back into the mode that it had.
func (t *Terminal) Close() {
	t.edit.keys.close()
	t.edit.lines.Close()
	io.WriteString(t.out, "\x1b[?2004l")
	_ = term.Restore(int(t.in.Fd()), t.before) // an error means that the terminal is gone
}

// Prompt lets the user edit a line. Ctrl-C discards the line; a second one in a row, like Ctrl-D,
// returns io.EOF.
func (t *Terminal) Prompt(ctx context.Context) (string, error) {
	t.edit.keys.dropEnter()
	for interrupted := false; ; interrupted = true {
		t.Update(func(p *Printer) { p.Pause(Alone) })
		line, err := t.edit.read(ctx, t.Paint.Bold("> "), "")
		t.typed()
		switch {
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case errors.Is(err, errInterrupted) && interrupted:
			return "", io.EOF
		case errors.Is(err, errInterrupted):
			t.Say(Alone, t.Paint.Dim("Ctrl-C once more, or Ctrl-D, ends"))
			continue
		case err != nil:
			return "", err
		}
		t.Remember(line)
		return t.edit.keys.expand(line), nil
	}
}

// Key asks a question whose answer is one of keys, lower case letters, without Enter. Keys typed
// before the question are dropped. Ctrl-D, like Ctrl-C, cancels the work under way.
func (t *Terminal) Key(ctx context.Context, question, keys string) (byte, error) {
	t.edit.keys.ask() // before the question is seen, and perhaps answered
	io.WriteString(t.out, "  "+question)
	key, err := t.edit.keys.answer(ctx, keys)
	io.WriteString(t.out, strings.Trim(string(rune(key)), "\x00")+"\r\n")
	t.typed()
	if errors.Is(err, io.EOF) && t.cancel != nil {
		t.cancel()
	}
	return key, err
}

// Ask lets the user type an answer, edited from prefill. Ctrl-C and Ctrl-D leave it with an error,
// and the work under way goes on.
func (t *Terminal) Ask(ctx context.Context, question, prefill string) (string, error) {
	t.edit.keys.onInterrupt(nil)
	defer t.edit.keys.onInterrupt(t.cancel)
	t.edit.lines.DisableHistory()
	defer t.edit.lines.EnableHistory()
	line, err := t.edit.read(ctx, "  "+question, prefill)
	t.typed()
	return t.edit.keys.expand(line), err
}

// Remember puts a line into the history, as if it had been typed.
func (t *Terminal) Remember(line string) {
	if strings.TrimSpace(line) != "" && len(line) <= maxRemembered {
		// It cannot fail without a file.
		_ = t.edit.lines.SaveToHistory(toEditor.Replace(line))
	}
}

// Begin begins work that Ctrl-C cancels, and End ends it. Live lines are redrawn in between.
func (t *Terminal) Begin(cancel func()) {
	t.cancel = cancel
	t.begin()
	t.edit.keys.onInterrupt(cancel)
	t.stopRedraw = Animate(t.Screen)
}

// End ends the work. Its live lines go.
func (t *Terminal) End() {
	t.stopRedraw()
	t.edit.keys.onInterrupt(nil)
	t.cancel = nil
	t.Update(func(p *Printer) {
		p.Clear()
		p.Pause(Alone)
	})
}

// maxLine bounds a line, in bytes.
const maxLine = 1 << 20

// Lines reads lines on demand.
type Lines struct {
	in      *bufio.Scanner
	pending chan error // of the pending read; nil without one
}

// NewLines returns a reader of the lines of in.
func NewLines(in io.Reader) *Lines {
	l := &Lines{in: bufio.NewScanner(in)}
	l.in.Buffer(nil, maxLine)
	return l
}

// Read waits for the next line, or for the end of ctx. A read of a terminal cannot be canceled: the
// next Read gets its line, and the last read ends with the program.
func (l *Lines) Read(ctx context.Context) (string, error) {
	if l.pending == nil {
		l.pending = make(chan error, 1)
		go func(done chan<- error) {
			if l.in.Scan() {
				done <- nil
			} else {
				done <- cmp.Or(l.in.Err(), io.EOF)
			}
		}(l.pending)
	}
	select {
	case err := <-l.pending:
		l.pending = nil
		switch {
		case errors.Is(err, bufio.ErrTooLong):
			return "", fmt.Errorf("a line is longer than %d KiB", maxLine>>10)
		case err != nil:
			return "", err
		}
		return l.in.Text(), nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
