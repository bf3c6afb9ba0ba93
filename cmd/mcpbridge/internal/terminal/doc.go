// Package terminal edits lines and draws on a terminal in raw mode. It knows nothing of what the
// lines mean.
//
// A [Terminal] reads the keyboard all the time, so that Ctrl-C cancels work while no line is
// edited, and keeps a paste together. Its [Screen] prints text that stays and redraws the lines
// below it. Every text that another program wrote goes through [Clean] or [Inline] first.
//
// The lines are edited by ergochat/readline. charmbracelet/bubbletea would replace most of this
// package, for about 15 more modules and a model of the screen that owns all output; what is here
// is small, tested with a real pseudo terminal, and leaves the scrollback alone.
//
// Files: terminal.go (raw mode, prompts, lines without a terminal), keyboard.go (keys, pastes,
// readline), answer.go (answers of one key), ahead_unix.go (what was typed before), screen.go (what
// stays, and what is redrawn), text.go (cleaning, widths, colors, line breaks).
//
// A keyboard's goroutine and that of [Lines] end with the program, as a read of a terminal cannot
// be canceled. The one that redraws live lines ends with the function that [Animate]
// returns. A Screen may be used from many goroutines, the other types from one at a time.
package terminal
