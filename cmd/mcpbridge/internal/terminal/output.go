package terminal

import (
	"io"
	"os"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"
)

// IsTerminal reports whether stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := File(stream)
	return ok && term.IsTerminal(int(f.Fd()))
}

// File returns the file of a stream, also of one that is cleaned.
func File(stream any) (*os.File, bool) {
	if c, ok := stream.(*cleaned); ok {
		return c.file, true
	}
	f, ok := stream.(*os.File)
	return f, ok
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

// CleanOutput returns f, cleaned as by [Clean] if it is a terminal. What is written to a file or a
// pipe stays as it is.
func CleanOutput(f *os.File) io.Writer {
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
	if _, err := io.WriteString(c.to, Clean(string(text[:whole]))); err != nil {
		return 0, err
	}
	return len(p), nil
}
