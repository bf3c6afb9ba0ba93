package terminal

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rivo/uniseg"
)

// Live are the lines that stand last and are redrawn while something is under way: the tasks that
// run, or else what is waited for.
type Live struct {
	tasks   []*Task
	waiting string // what for; "": nothing
	since   time.Time
	frame   int   // of the spinner
	drawn   []int // the widths of the lines on the screen
}

// A Task is something under way, on a line of its own.
type Task struct {
	ID    string
	Title Title
	Begun time.Time // zero: no time is shown
	Note  string    // its progress
}

// A Title is the name of a task and what it works on.
type Title struct{ Name, Detail string }

// Line is the title on one line: a mark, the name, the detail as far as there is room, and more.
func (t Title) Line(p Paint, mark, more string, columns int) string {
	room := columns - 2 // the mark and a space
	if more = Fit(more, room/2); more != "" {
		room -= uniseg.StringWidth(more) + 1
		more = " " + more
	}
	name := Fit(t.Name, room)
	detail := Inline(t.Detail)
	if room -= uniseg.StringWidth(name) + 1; room >= 4 && detail != "" {
		detail = " " + Fit(detail, room)
	} else {
		detail = ""
	}
	return mark + " " + p.Bold(name) + p.Dim(detail+more)
}

// Wait shows what is waited for while no task runs; "" is nothing.
func (l *Live) Wait(what string, now time.Time) { l.waiting, l.since = what, now }

// Clear removes all lines.
func (l *Live) Clear() { l.tasks, l.waiting = nil, "" }

// Add shows a task.
func (l *Live) Add(t *Task) { l.tasks, l.waiting = append(l.tasks, t), "" }

// Find returns the task of an ID, or nil.
func (l *Live) Find(id string) *Task {
	for _, t := range l.tasks {
		if t.ID == id {
			return t
		}
	}
	return nil
}

// Remove removes the task of an ID.
func (l *Live) Remove(id string) {
	l.tasks = slices.DeleteFunc(l.tasks, func(t *Task) bool { return t.ID == id })
}

// erase removes the lines and leaves the cursor where the first of them began. A terminal that has
// become narrower has broken them.
func (l *Live) erase(b *strings.Builder, columns int) {
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
func (l *Live) draw(b *strings.Builder, p Paint, now time.Time, columns, rows int) {
	b.WriteString(strings.Join(l.lines(p, now, columns-1, max(1, rows/2)), "\n"))
	for _, line := range l.lines(false, now, columns-1, max(1, rows/2)) {
		l.drawn = append(l.drawn, uniseg.StringWidth(line))
	}
}

// spinner has the frames of the mark before what is under way.
var spinner = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

func (l *Live) lines(p Paint, now time.Time, columns, most int) []string {
	mark := spinner[l.frame%len(spinner)]
	if len(l.tasks) == 0 {
		if l.waiting == "" {
			return nil
		}
		return []string{p.Dim(Fit(mark+" "+l.waiting+" "+elapsed(now.Sub(l.since)), columns))}
	}
	var lines []string
	for i, t := range l.tasks {
		if left := len(l.tasks) - i; len(lines) == most-1 && left > 1 {
			return append(lines, p.Dim(Fit(fmt.Sprintf("  and %d more", left), columns)))
		}
		more := t.Note
		if !t.Begun.IsZero() {
			more = strings.TrimSpace(elapsed(now.Sub(t.Begun)) + " " + t.Note)
		}
		lines = append(lines, t.Title.Line(p, mark, more, columns))
	}
	return lines
}
