package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rivo/uniseg"

	"github.com/mcpbridge/mcpbridge/providers"
)

// live are the lines that stand last and are drawn anew while something is under way: the
// calls that run, or what is waited for.
type live struct {
	calls   []*running
	waiting string // what for; "" for nothing
	since   time.Time
	frame   int   // of the wheel that turns
	drawn   []int // the widths of the lines that stand there
}

// running is a call under way.
type running struct {
	id    string
	title title
	begun time.Time // zero while the model writes the call
	note  string    // its progress
}

// title is a call as it is shown.
type title struct{ name, arguments string }

// maxTitle is how much of a call's arguments can be on one line, in bytes.
const maxTitle = 2000

func titleOf(call *providers.Call) title {
	arguments := call.Arguments[:min(len(call.Arguments), maxTitle)]
	return title{inline(call.Name), string(arguments)}
}

// line is a call on one line: a mark, its name, its arguments as far as there is room, and
// what else is to be said of it.
func (t title) line(p paint, mark, more string, columns int) string {
	room := columns - 2 // the mark and a space
	if more = fit(more, room/2); more != "" {
		room -= uniseg.StringWidth(more) + 1
		more = " " + more
	}
	name := fit(t.name, room)
	arguments := inline(t.arguments)
	if room -= uniseg.StringWidth(name) + 1; room >= 4 && arguments != "" {
		arguments = " " + fit(arguments, room)
	} else {
		arguments = ""
	}
	return mark + " " + p.bold(name) + p.dim(arguments+more)
}

// find is a call under way; nil when it is not.
func (l *live) find(id string) *running {
	for _, r := range l.calls {
		if r.id == id {
			return r
		}
	}
	return nil
}

// end takes a call out.
func (l *live) end(id string) {
	l.calls = slices.DeleteFunc(l.calls, func(r *running) bool { return r.id == id })
}

// write shows a call that the model is about to make, as far as it is written.
func (l *live) write(e *providers.Event) {
	l.waiting = ""
	r := l.find(e.Call.ID)
	if r == nil {
		r = &running{id: e.Call.ID, title: title{name: inline(e.Call.Name)}}
		l.calls = append(l.calls, r)
	}
	if len(r.title.arguments) < maxTitle {
		r.title.arguments += e.Text
	}
}

// erase removes the lines and leaves the cursor where the first of them began. A terminal
// that has become narrower has broken them.
func (l *live) erase(b *strings.Builder, columns int) {
	if l.drawn == nil {
		return
	}
	rows := 0
	for _, width := range l.drawn {
		rows += 1 + max(0, width-1)/max(1, columns)
	}
	b.WriteByte('\r')
	if rows > 1 {
		fmt.Fprintf(b, "\x1b[%dA", rows-1)
	}
	b.WriteString("\x1b[J")
	l.drawn = nil
}

// draw writes the lines, and leaves the cursor at the end of the last one.
func (l *live) draw(b *strings.Builder, p paint, now time.Time, columns, rows int) {
	b.WriteString(strings.Join(l.lines(p, now, columns-1, max(1, rows/2)), "\n"))
	for _, line := range l.lines(false, now, columns-1, max(1, rows/2)) {
		l.drawn = append(l.drawn, uniseg.StringWidth(line))
	}
}

// wheel turns while something is under way.
var wheel = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

func (l *live) lines(p paint, now time.Time, columns, most int) []string {
	mark := wheel[l.frame%len(wheel)]
	if len(l.calls) == 0 {
		if l.waiting == "" {
			return nil
		}
		return []string{p.dim(fit(mark+" "+l.waiting+" "+sofar(now.Sub(l.since)), columns))}
	}
	var lines []string
	for i, r := range l.calls {
		if left := len(l.calls) - i; len(lines) == most-1 && left > 1 {
			return append(lines, p.dim(fit(fmt.Sprintf("  and %d more", left), columns)))
		}
		more := r.note
		if !r.begun.IsZero() {
			more = strings.TrimSpace(sofar(now.Sub(r.begun)) + " " + r.note)
		}
		lines = append(lines, r.title.line(p, mark, more, columns))
	}
	return lines
}

// progressWords are a call's progress.
func progressWords(e *providers.Event) string {
	text := inline(e.Text)
	number := ""
	switch {
	case e.Total > 0:
		number = fmt.Sprintf("%.0f%%", min(100, 100*e.Progress/e.Total))
	case text == "":
		number = fmt.Sprintf("%g", e.Progress)
	}
	return strings.TrimSpace(number + " " + text)
}
