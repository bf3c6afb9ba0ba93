package output

import (
	"fmt"
	"io"
	"strings"

	"github.com/rivo/uniseg"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
)

// The columns of help: of a terminal that is wide, whose lines would be hard to read, and of what is not a terminal.
const (
	mostHelp  = 100
	plainHelp = 80
)

// HelpWidth returns the columns of help on a stream. It is the same in every file and pipe.
func HelpWidth(w io.Writer) int {
	if columns := Width(w); columns > 0 {
		return min(columns, mostHelp)
	}
	return plainHelp
}

// Help prints paragraphs of help, whose lines end between words. A line that begins with a space is an example, which
// stays as it is: a command that is broken in two is not the one to copy.
func Help(w io.Writer, text string) {
	var lines []string // of a paragraph
	end := func() {
		if lines != nil {
			HelpItem(w, "", strings.Join(lines, " "))
		}
		lines = nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.TrimLeft(line, " ") == "":
			end()
			fmt.Fprintln(w)
		case line[0] == ' ':
			end()
			fmt.Fprintln(w, line)
		default:
			lines = append(lines, line)
		}
	}
	end()
}

// HelpItem prints text of help behind a front, as [Item] does.
func HelpItem(w io.Writer, front, text string) { item(w, HelpWidth(w), front, text) }

// narrowIndent is the indent of the further lines of a usage whose front leaves no room for its longest word.
const narrowIndent = 4

// Usage prints the words of a command behind a front, in ASCII. What is in brackets, such as a flag and its value, stays on
// one line.
func Usage(w io.Writer, front, text string) {
	const noBreak = "\u00a0"
	var b strings.Builder
	depth := 0
	for _, r := range text {
		switch r {
		case '[':
			depth++
		case ']':
			depth--
		case ' ':
			if depth > 0 {
				b.WriteString(noBreak)
				continue
			}
		}
		b.WriteRune(r)
	}
	text, columns, widest := b.String(), HelpWidth(w), 0
	for word := range strings.SplitSeq(text, " ") {
		widest = max(widest, uniseg.StringWidth(word))
	}
	if len(front)+widest > columns && len(front) > narrowIndent {
		front, text = front[:narrowIndent], strings.ReplaceAll(front[narrowIndent:], " ", noBreak)+text
	}
	var lines strings.Builder
	item(&lines, columns, front, text)
	io.WriteString(w, strings.ReplaceAll(lines.String(), noBreak, " "))
}

// The indent of what a flag is for where there is hardly any room for it beside the flag.
const (
	leastUsage  = 24
	usageIndent = 16
)

// Flags prints flags as pflag lists them when it does not wrap them: each on a line, and behind three spaces at least, all
// in one column, what it is for. They are cleaned. pflag itself breaks no line that has a long word.
func Flags(w io.Writer, usages string) {
	column := 0
	for line := range strings.Lines(usages) {
		flag := strings.TrimLeft(line, " ")
		if at := strings.Index(flag, "   "); at > 0 {
			column = max(column, len(line)-len(flag)+at+3)
		}
	}
	for line := range strings.Lines(usages) {
		line = strings.TrimRight(line, " \n")
		at := min(column, len(line))
		front, text := terminal.Clean(line[:at]), terminal.Clean(line[at:])
		switch {
		case text == "":
			fmt.Fprintln(w, front)
		case HelpWidth(w)-column >= leastUsage:
			HelpItem(w, front, text)
		default:
			fmt.Fprintln(w, strings.TrimRight(front, " "))
			HelpItem(w, strings.Repeat(" ", usageIndent), text)
		}
	}
}
