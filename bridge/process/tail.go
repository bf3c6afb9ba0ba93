package process

import (
	"strings"
	"unicode"
)

const (
	tailLines = 8   // lines of a Tail
	tailLine  = 256 // bytes of each
)

// A Tail keeps the last 8 lines of a child's output, each up to 256 bytes, for an error. The zero value is empty. Only
// one goroutine at a time may use it.
type Tail struct{ lines []string }

// Add adds a line. It leaves out indented lines, which are mostly frames of a stack.
func (t *Tail) Add(line string) {
	if line == "" || line[0] == ' ' || line[0] == '\t' {
		return
	}
	if len(line) > tailLine {
		line = string(trimPartialRune([]byte(line[:tailLine]))) + "…"
	}
	if line = strings.TrimSpace(strings.Map(printable, line)); line == "" {
		return
	}
	if len(t.lines) == tailLines {
		t.lines = append(t.lines[:0], t.lines[1:]...)
	}
	t.lines = append(t.lines, line)
}

// String returns the lines on one line: "listening on port 80 | Error: the port is in use".
func (t *Tail) String() string { return strings.Join(t.lines, " | ") }

// printable keeps the child's output from controlling a terminal.
func printable(r rune) rune {
	if unicode.IsControl(r) {
		return ' '
	}
	return r
}
