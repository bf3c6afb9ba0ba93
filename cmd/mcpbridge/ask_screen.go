package main

import (
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
	"github.com/mcpbridge/mcpbridge/providers"
)

// An askScreen shows a run on a terminal as chat does.
type askScreen struct {
	*callScreen
	textOnly bool // standard error, which gets the rest, is not a terminal
	stop     func()
}

// newAskScreen returns the screen of standard output, or nil if it gets the text as the model wrote
// it: that is not a terminal, or it also shows a log, whose lines would break those that are redrawn.
func newAskScreen(std streams, logs bool) *askScreen {
	screen, textOnly := output.NewScreen(std.out), !output.IsTerminal(std.err)
	if screen == nil || logs && !textOnly {
		return nil
	}
	return &askScreen{newCallScreen(screen), textOnly, terminal.Animate(screen)}
}

// close removes what is shown only while the model answers.
func (s *askScreen) close() {
	s.Update(func(p *terminal.Printer) { p.Clear() })
	s.stop()
}

// onScreen reports whether events of a type are shown on the screen.
func (p *askPrinter) onScreen(t providers.EventType) bool {
	return p.screen != nil && (!p.screen.textOnly || t == providers.EventTextDelta)
}
