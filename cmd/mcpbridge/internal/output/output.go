// Package output is how commands write to a terminal: what servers say is cleaned, lists fit its width,
// and lines show what is waited for. A file or a pipe gets everything as it is.
//
// Files: output.go (the cleaned stream), help.go, progress.go (those lines), table.go (lists), queue.go (a stream
// that nobody may read), enough_*.go (a reader that is gone). The goroutine of a [Progress] ends with its End, that
// of a [Queue] when its lines are written.
package output

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"golang.org/x/term"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
)

// IsTerminal reports whether stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := File(stream)
	return ok && term.IsTerminal(int(f.Fd()))
}

// File returns the file of a stream, also of one that is cleaned or [Kept].
func File(stream any) (*os.File, bool) {
	switch s := stream.(type) {
	case *Kept:
		return File(s.to)
	case *cleaned:
		return s.file, true
	case *os.File:
		return s, true
	}
	return nil, false
}

// Width returns the columns of a stream, or 0 if it is not a terminal.
func Width(stream any) int {
	f, ok := File(stream)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

// Kept is a stream that keeps the first error of its writes, for those who do not look at each.
type Kept struct {
	to io.Writer

	mu  sync.Mutex // guards err
	err error
}

// Keep returns a stream that writes to another one.
func Keep(to io.Writer) *Kept { return &Kept{to: to} }

func (k *Kept) Write(p []byte) (int, error) {
	n, err := k.to.Write(p)
	if err != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.err == nil {
			k.err = err
		}
	}
	return n, err
}

// Err returns the first error of a write so far.
func (k *Kept) Err() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}

// Item prints text behind a front. On a terminal its lines end between words and begin where the text
// does.
func Item(w io.Writer, front, text string) { item(w, Width(w), front, text) }

func item(w io.Writer, columns int, front, text string) {
	indent := uniseg.StringWidth(front)
	if columns > indent {
		text = strings.Join(terminal.Wrap(text, columns-indent), "\n"+strings.Repeat(" ", indent))
	}
	fmt.Fprintf(w, "%s%s\n", front, text)
}

// Question prints a question, behind which the user types the answer. On a terminal its lines end between words.
func Question(w io.Writer, text string) {
	const answer = 2 // columns: a space and a letter
	if columns := Width(w); columns > answer {
		text = strings.Join(terminal.Wrap(text, columns-answer), "\n")
	}
	fmt.Fprint(w, text+" ")
}

// NewScreen returns the screen of a stream, or nil if that is not a terminal that can redraw lines.
func NewScreen(stream any) *terminal.Screen {
	f, _ := File(stream)
	if !IsTerminal(stream) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return terminal.NewScreen(f, terminal.Size(f), os.Getenv("NO_COLOR") == "")
}

// New returns f, cleaned as by [terminal.Clean] if it is a terminal.
func New(f *os.File) io.Writer {
	if !IsTerminal(f) {
		return f
	}
	return &cleaned{file: f, to: f}
}

// cleaned is a terminal that gets clean text only.
type cleaned struct {
	file *os.File
	to   io.Writer

	mu   sync.Mutex // guards rest, and keeps writes apart
	rest []byte     // the beginning of a character
}

func (c *cleaned) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := append(c.rest, p...)
	whole := len(text)
	for i := whole - 1; i >= max(0, whole-utf8.UTFMax+1); i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRune(text[i:]) {
				whole = i
			}
			break
		}
	}
	c.rest = append([]byte(nil), text[whole:]...)
	if _, err := io.WriteString(c.to, terminal.Clean(string(text[:whole]))); err != nil {
		return 0, err
	}
	return len(p), nil
}
