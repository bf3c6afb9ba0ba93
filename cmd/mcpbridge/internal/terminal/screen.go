package terminal

import (
	"io"
	"strings"
	"sync"
	"time"
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
	live    Live
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
	s.printed.Reset()
	s.live.erase(&s.printed, columns)
	f(&Printer{s, &s.live})
	s.live.draw(&s.printed, s.Paint, s.Now(), columns, rows)
	if s.printed.Len() > 0 {
		io.WriteString(s.out, s.printed.String())
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
	s.at, s.style, s.live = Alone, nil, Live{}
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
	*Live
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
