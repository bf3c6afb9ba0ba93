package edit

import (
	"bytes"
	"fmt"
	"slices"
)

// newline returns the line end of the text.
func newline(text []byte) string {
	if at := bytes.IndexByte(text, '\n'); at > 0 && text[at-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// lineOf returns the number of the line of an offset.
func lineOf(text []byte, at int) int { return bytes.Count(text[:at], []byte("\n")) + 1 }

// A lineCounter is lineOf for many offsets of a text.
type lineCounter struct{ ends []int }

func countLines(text []byte) *lineCounter {
	c := &lineCounter{}
	for i, b := range text {
		if b == '\n' {
			c.ends = append(c.ends, i)
		}
	}
	return c
}

func (c *lineCounter) line(at int) int {
	n, _ := slices.BinarySearch(c.ends, at)
	return n + 1
}

// lineStart returns the offset of the line of an offset.
func lineStart(text []byte, at int) int { return bytes.LastIndexByte(text[:at], '\n') + 1 }

// lineEnd returns the offset of the end of the line of an offset, before its line end.
func lineEnd(text []byte, at int) int {
	end := bytes.IndexByte(text[at:], '\n')
	if end < 0 {
		return len(text)
	}
	if end += at; end > at && text[end-1] == '\r' {
		end--
	}
	return end
}

// nextLine returns the offset of the line after the one of an offset.
func nextLine(text []byte, at int) int {
	if end := bytes.IndexByte(text[at:], '\n'); end >= 0 {
		return at + end + 1
	}
	return len(text)
}

// indentOf returns the white space that the line of an offset begins with.
func indentOf(text []byte, at int) string {
	line := text[lineStart(text, at):]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// isFirst reports whether only white space is before an offset in its line.
func isFirst(text []byte, at int) bool {
	return len(bytes.TrimLeft(text[lineStart(text, at):at], " \t")) == 0
}

func isBlank(b []byte) bool { return len(bytes.TrimSpace(b)) == 0 }

// splice returns text with text[start:end] replaced.
func splice(text []byte, start, end int, by string) []byte {
	out := make([]byte, 0, len(text)+len(by))
	return append(append(append(out, text[:start]...), by...), text[end:]...)
}

// commentHash returns the length of the comment of TOML or YAML that b begins with, without the line end.
func commentHash(b []byte) int {
	if len(b) == 0 || b[0] != '#' {
		return 0
	}
	return lineEnd(b, 0)
}

func errorAt(line int, format string, args ...any) error {
	return fmt.Errorf("line %d: %s", line, fmt.Sprintf(format, args...))
}
