package output

import (
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
)

// patience is how long work may take before a Progress shows it.
const patience = 300 * time.Millisecond

// A Progress shows on the last line of a terminal what a command waits for. Its methods do nothing
// on a nil Progress, but Above, and may be called from many goroutines.
type Progress struct {
	screen *terminal.Screen
	begun  time.Time
	timer  *time.Timer
	stop   func()

	mu    sync.Mutex // guards the fields below, and is held while anything is printed
	what  string
	due   bool
	ended bool
}

// NewProgress returns the progress line of a stream, or nil if that cannot show one.
func NewProgress(stream any) *Progress {
	p := &Progress{begun: time.Now(), screen: NewScreen(stream)}
	if p.screen == nil {
		return nil
	}
	p.stop = terminal.Animate(p.screen)
	p.timer = time.AfterFunc(patience, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.due = true
		p.draw()
	})
	return p
}

// draw shows the line. p.mu is held.
func (p *Progress) draw() {
	if p.due && !p.ended {
		p.screen.Update(func(on *terminal.Printer) { on.Wait(p.what, p.begun) })
	}
}

// Show sets what is waited for.
func (p *Progress) Show(what string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what = what
	p.draw()
}

// Above calls f, which prints lines, while the line is hidden.
func (p *Progress) Above(f func()) {
	if p == nil {
		f()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.screen.Update(func(on *terminal.Printer) { on.Clear() })
	f()
	p.draw()
}

// End removes the line.
func (p *Progress) End() {
	if p == nil {
		return
	}
	p.timer.Stop()
	p.Above(func() { p.ended = true })
	p.stop()
}
