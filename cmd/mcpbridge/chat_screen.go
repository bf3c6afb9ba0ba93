package main

import (
	"io"
	"strings"
	"sync"
	"time"
)

// section is what the last lines on the screen are about. There is an empty line between
// two of them.
type section int

const (
	secNone section = iota // by itself
	secText
	secThinking
	secCalls
	secNotes
)

// A screen shows what happens. What has been printed stays as it is; only the live lines,
// which stand last, are drawn anew. It may be used from many goroutines.
type screen struct {
	out   io.Writer
	size  func() (columns, rows int)
	now   func() time.Time
	paint paint

	mu     sync.Mutex // guards what follows
	at     section
	gap    bool // the last line is empty
	flow   flow
	live   live
	edited map[string]title  // calls that run with other arguments, by id
	asked  map[string]bool   // those that somebody was asked about
	fates  map[string]string // what was decided, where it was not to run them
}

func newScreen(out io.Writer, size func() (int, int), p paint) *screen {
	s := &screen{out: out, size: size, now: time.Now, paint: p, gap: true}
	s.flow.width = s.columns
	s.forget()
	return s
}

// forget drops what is known of calls.
func (s *screen) forget() {
	s.edited, s.asked, s.fates = map[string]title{}, map[string]bool{}, map[string]string{}
}

func (s *screen) columns() int {
	columns, _ := s.size()
	return columns
}

// write prints what f writes, above the live lines. The caller holds mu.
func (s *screen) write(f func(b *strings.Builder)) {
	columns, rows := s.size()
	var b strings.Builder
	s.live.erase(&b, columns)
	f(&b)
	s.live.draw(&b, s.paint, s.now(), columns, rows)
	if b.Len() > 0 {
		io.WriteString(s.out, b.String())
	}
}

// tick turns the wheel.
func (s *screen) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live.frame++
	s.write(func(*strings.Builder) {})
}

// enter goes to a section.
func (s *screen) enter(b *strings.Builder, to section) {
	if s.at == to && to != secNone {
		return
	}
	s.leave(b)
	s.at = to
	s.flow.begin()
}

// leave ends what stands on the screen with an empty line.
func (s *screen) leave(b *strings.Builder) {
	if s.at == secText || s.at == secThinking {
		s.flow.end()
		s.pour(b)
	}
	s.at = secNone
	if !s.gap {
		b.WriteByte('\n')
		s.gap = true
	}
}

// pour prints what the flow has ready.
func (s *screen) pour(b *strings.Builder) {
	text := s.flow.take()
	if s.at == secThinking {
		text = s.paint.dim(text)
	}
	b.WriteString(text)
	s.gap = s.gap && text == ""
}

// line prints a line of the section.
func (s *screen) line(b *strings.Builder, text string) {
	b.WriteString(text)
	b.WriteByte('\n')
	s.gap = false
}

// say prints lines of a section.
func (s *screen) say(to section, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(func(b *strings.Builder) {
		s.enter(b, to)
		s.line(b, text)
	})
}

// room puts an empty line before a line that is to be edited.
func (s *screen) room() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(s.leave)
}

// typed tells that a line has been edited.
func (s *screen) typed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gap = false
}

// begin is the beginning of an answer.
func (s *screen) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at, s.live = secNone, live{}
}

// end is its end. What /decide asks about belongs to the next one.
func (s *screen) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(func(b *strings.Builder) {
		s.live.calls, s.live.waiting = nil, ""
		s.leave(b)
	})
	s.forget()
}
