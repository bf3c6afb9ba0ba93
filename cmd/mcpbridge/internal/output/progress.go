package output

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
)

// How long work may take before a Progress shows it: on a terminal, and elsewhere.
const (
	patience      = 120 * time.Millisecond
	quietPatience = 10 * time.Second
)

// A Progress shows what a command waits for. On a terminal each piece of work has a line with its
// time, which its result replaces. Elsewhere work that is slow gets one line, which says that it is
// waited for. The methods may be called from many goroutines.
type Progress struct {
	screen *terminal.Screen // nil elsewhere
	out    io.Writer        // elsewhere
	timer  *time.Timer
	stop   func()

	mu       sync.Mutex // guards the fields below, and is held while anything is printed
	tasks    []*terminal.Task
	finished []string // results that are not shown so far
	due      bool
	ended    bool
}

// NewProgress returns a Progress on a stream. A terminal that does not know how wide it is, as a serial line or
// that of a script, is none to draw on: where a line of it ends could only be guessed.
func NewProgress(stream io.Writer) *Progress {
	screen := NewScreen(stream)
	if screen == nil || Width(stream) == 0 {
		return begin(&Progress{out: stream, stop: func() {}}, quietPatience)
	}
	return begin(&Progress{screen: screen, stop: terminal.Animate(screen)}, patience)
}

// OnScreen returns a Progress on a screen that its owner animates.
func OnScreen(screen *terminal.Screen) *Progress {
	return begin(&Progress{screen: screen, stop: func() {}}, 0)
}

func begin(p *Progress, patience time.Duration) *Progress {
	p.timer = time.AfterFunc(patience, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.due = true
		p.draw()
		for _, t := range p.tasks {
			p.sayWaiting(t)
		}
	})
	return p
}

// sayWaiting prints that a task is waited for if that is not a terminal. p.mu is held.
func (p *Progress) sayWaiting(t *terminal.Task) {
	if p.screen == nil && !p.ended {
		fmt.Fprintf(p.out, "mcpbridge: waiting for %s\n", t.Title.Name)
	}
}

// draw shows the lines. p.mu is held.
func (p *Progress) draw() {
	if p.screen == nil || !p.due || p.ended {
		return
	}
	p.screen.Update(func(on *terminal.Printer) {
		on.Clear()
		for _, line := range p.finished {
			on.Line(progressLines, line)
		}
		for _, t := range p.tasks {
			on.Add(t)
		}
	})
	p.finished = nil
}

// progressLines is the section of results.
const progressLines terminal.Section = 100

// change changes the tasks and shows them.
func (p *Progress) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	p.draw()
}

// Add shows work that has begun. name identifies it.
func (p *Progress) Add(name string, begun time.Time) {
	p.change(func() {
		t := &terminal.Task{ID: name, Title: terminal.Title{Name: terminal.Inline(name)}, Begun: begun}
		p.tasks = append(p.tasks, t)
		if p.due {
			p.sayWaiting(t)
		}
	})
}

// Note sets what a piece of work is doing.
func (p *Progress) Note(name, note string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.tasks {
		if note = terminal.Inline(note); t.ID == name && t.Note != note {
			// The screen reads its tasks during updates only.
			p.update(func() { t.Note = note })
		}
	}
}

// update changes what the screen shows. p.mu is held.
func (p *Progress) update(f func()) {
	if p.screen == nil {
		f()
		return
	}
	p.screen.Update(func(*terminal.Printer) { f() })
}

// Remove removes a piece of work, and returns how long it took.
func (p *Progress) Remove(name string) (took time.Duration) {
	p.change(func() { took = p.remove(name) })
	return took
}

func (p *Progress) remove(name string) (took time.Duration) {
	p.tasks = slices.DeleteFunc(p.tasks, func(t *terminal.Task) bool {
		if t.ID == name {
			took = time.Since(t.Begun)
		}
		return t.ID == name
	})
	return took
}

// Finish replaces a piece of work by its result, in a few words.
func (p *Progress) Finish(name, result string, ok bool) {
	p.change(func() {
		took := p.remove(name)
		if p.screen != nil {
			p.finished = append(p.finished, ResultLine(p.screen, name, result, ok, took))
		}
	})
}

// ResultLine returns the line for the result of work. took is not shown if it is 0.
func ResultLine(s *terminal.Screen, name, result string, ok bool, took time.Duration) string {
	mark, more := s.Paint.Green("✓"), ""
	if !ok {
		mark = s.Paint.Red("✗")
	}
	if took > 0 {
		more = terminal.Duration(took)
	}
	return terminal.Title{Name: terminal.Inline(name), Detail: result}.Line(s.Paint, mark, more, s.Columns()-1)
}

// Above calls f, which prints lines, while those of the work are hidden.
func (p *Progress) Above(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.screen != nil {
		p.screen.Update(func(on *terminal.Printer) { on.Clear() })
	}
	f()
	p.draw()
}

// End removes the lines of work that has not ended.
func (p *Progress) End() {
	p.timer.Stop()
	p.Above(func() { p.ended = true })
	p.stop()
}
