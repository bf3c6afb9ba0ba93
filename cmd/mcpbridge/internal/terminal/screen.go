package terminal

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rivo/uniseg"
	"golang.org/x/term"
)

// A Section tells apart what the lines on the screen are about: an empty line stands between two
// sections. The caller has constants of its own.
type Section int

// Alone is the section of lines that belong to no other.
const Alone Section = 0

// A Screen prints text that stays, and below it live lines, which it redraws. Its methods may be
// called from many goroutines.
type Screen struct {
	Paint Paint
	Now   func() time.Time

	out  io.Writer
	size func() (columns, rows int)

	mu      sync.Mutex // guards the fields below
	at      Section
	style   func(string) string // of the text that is being streamed; nil: the section is of lines
	gap     bool                // the last line is empty
	flow    flow
	live    live
	printed strings.Builder // by the update under way
}

// NewScreen returns the screen of a terminal that is size wide and high.
func NewScreen(out io.Writer, size func() (columns, rows int), p Paint) *Screen {
	s := &Screen{out: out, size: size, Now: time.Now, Paint: p, gap: true}
	s.flow.width = s.Columns
	return s
}

// Columns is how wide the screen is now.
func (s *Screen) Columns() int {
	columns, _ := s.size()
	return columns
}

// Update prints what f prints, above the live lines, and redraws those.
func (s *Screen) Update(f func(p *Printer)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	columns, rows := s.size()
	var before, after strings.Builder
	s.printed.Reset()
	shown := s.live.shown
	s.live.erase(&before, columns)
	f(&Printer{s, &s.live})
	s.live.draw(&after, s.Paint, s.Now(), columns, rows)
	if s.printed.Len() > 0 || s.live.shown != shown {
		io.WriteString(s.out, before.String()+s.printed.String()+after.String())
	}
}

// redrawn is how often the live lines are redrawn while they are animated.
const redrawn = 100 * time.Millisecond

// Animate redraws the live lines of a screen, with their times, until stop is called.
func Animate(s *Screen) (stop func()) {
	done := make(chan struct{})
	var redrawing sync.WaitGroup
	redrawing.Go(func() {
		clock := time.NewTicker(redrawn)
		defer clock.Stop()
		for {
			select {
			case <-clock.C:
				s.Update(func(p *Printer) { p.frame++ })
			case <-done:
				return
			}
		}
	})
	return func() {
		close(done)
		redrawing.Wait()
	}
}

// Size returns a function that queries the size of a terminal.
func Size(f *os.File) func() (columns, rows int) {
	return func() (columns, rows int) {
		columns, rows, err := term.GetSize(int(f.Fd()))
		if err != nil || columns <= 0 || rows <= 0 {
			return 80, 24
		}
		return columns, rows
	}
}

// Say prints lines of a section.
func (s *Screen) Say(to Section, text string) {
	s.Update(func(p *Printer) { p.Line(to, text) })
}

// begin forgets the section before, after which the terminal was used for something else.
func (s *Screen) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at, s.style, s.live = Alone, nil, live{}
}

// typed notes that the user has ended a line.
func (s *Screen) typed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gap = false
}

// A Printer prints within [Screen.Update].
type Printer struct {
	s *Screen
	*live
}

// Line prints a line of a section.
func (p *Printer) Line(to Section, text string) {
	p.enter(to)
	p.s.printed.WriteString(text + "\n")
	p.s.gap = false
}

// Stream prints a piece of a section's text, which is broken into lines between words. style, which
// may be nil, is applied to what is printed.
func (p *Printer) Stream(to Section, text string, style func(string) string) {
	p.enter(to)
	if p.s.style = style; style == nil {
		p.s.style = func(text string) string { return text }
	}
	p.s.flow.add(Clean(text))
	p.pour()
}

// Draft prints lines of a section, and shows below them those that may still change.
func (p *Printer) Draft(to Section, lines, pending []string) {
	p.enter(to)
	for _, line := range lines {
		p.s.printed.WriteString(line + "\n")
		p.s.gap = line == ""
	}
	p.draft = pending
}

// Pause ends the section with an empty line, unless it is the given one.
func (p *Printer) Pause(unless Section) {
	if p.s.at == unless && unless != Alone {
		return
	}
	if p.s.style != nil {
		p.s.flow.end()
		p.pour()
	}
	p.s.at, p.s.style = Alone, nil
	if !p.s.gap {
		p.s.printed.WriteByte('\n')
		p.s.gap = true
	}
}

// enter begins a section, unless it goes on.
func (p *Printer) enter(to Section) {
	if p.s.at == to && to != Alone {
		return
	}
	p.Pause(Alone)
	p.s.at = to
	p.s.flow.begin()
}

// pour prints the lines that the flow has ready.
func (p *Printer) pour() {
	text := p.s.flow.take()
	p.s.printed.WriteString(p.s.style(text))
	p.s.gap = p.s.gap && text == ""
}

// live are the lines that stand last and are redrawn while something is under way: a draft, and the
// tasks that run or else what is waited for.
type live struct {
	draft   []string
	tasks   []*Task
	waiting string // what for; "": nothing
	since   time.Time
	frame   int   // of the spinner
	drawn   []int // the widths of the lines on the screen
	shown   string
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
	detail := Inline(t.Detail)
	most := room / 2 // of more
	if detail == "" {
		most = max(most, room-uniseg.StringWidth(t.Name)-1)
	}
	if more = Fit(more, most); more != "" {
		room -= uniseg.StringWidth(more) + 1
		more = " " + more
	}
	name := Fit(t.Name, room)
	if room -= uniseg.StringWidth(name) + 1; room >= 4 && detail != "" {
		detail = " " + Fit(detail, room)
	} else {
		detail = ""
	}
	return mark + " " + p.Bold(name) + p.Dim(detail+more)
}

// Wait shows what is waited for while no task runs; "" is nothing.
func (l *live) Wait(what string, now time.Time) { l.waiting, l.since = what, now }

// Clear removes all lines.
func (l *live) Clear() { l.tasks, l.waiting = nil, "" }

// Add shows a task.
func (l *live) Add(t *Task) { l.tasks, l.waiting = append(l.tasks, t), "" }

// Find returns the task of an ID, or nil.
func (l *live) Find(id string) *Task {
	for _, t := range l.tasks {
		if t.ID == id {
			return t
		}
	}
	return nil
}

// Remove removes the task of an ID.
func (l *live) Remove(id string) {
	l.tasks = slices.DeleteFunc(l.tasks, func(t *Task) bool { return t.ID == id })
}

// erase removes the lines and leaves the cursor where the first of them began. A terminal that has
// become narrower has broken them.
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
		fmt.Fprintf(b, "\x1b[%dA\x1b[J", rows-1)
	} else { // tmux would keep a copy of a whole screen that J erases
		b.WriteString("\x1b[K")
	}
	l.drawn = nil
}

// draw writes the lines, and leaves the cursor at the end of the last one.
func (l *live) draw(b *strings.Builder, p Paint, now time.Time, columns, rows int) {
	lines := l.lines(p, now, columns-1, max(1, rows/2))
	if most := max(1, rows/2); len(l.draft) > 0 {
		lines = append(l.draftLines(columns, most), lines...)
	}
	l.shown = strings.Join(lines, "\n")
	b.WriteString(l.shown)
	for _, line := range lines {
		l.drawn = append(l.drawn, Width(line))
	}
}

// draftLines returns the last lines of the draft. One that is too long loses its end and its colors.
func (l *live) draftLines(columns, most int) []string {
	var lines []string
	for _, line := range l.draft[max(0, len(l.draft)-most):] {
		line = strings.ReplaceAll(line, "\t", "        ")
		if Width(line) > columns {
			line = Fit(colorCodes().ReplaceAllString(line, ""), columns)
		}
		lines = append(lines, line)
	}
	return lines
}

// spinner has the frames of the mark before what is under way.
var spinner = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

func (l *live) lines(p Paint, now time.Time, columns, most int) []string {
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
