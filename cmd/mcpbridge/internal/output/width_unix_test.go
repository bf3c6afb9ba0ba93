//go:build unix

package output

import (
	"testing"

	"github.com/creack/pty"
)

// TestProgressWithoutWidth holds that only a terminal of a known width is drawn on.
func TestProgressWithoutWidth(t *testing.T) {
	ours, theirs, err := pty.Open()
	if err != nil {
		t.Skip(err)
	}
	defer ours.Close()
	defer theirs.Close()
	t.Setenv("TERM", "xterm")
	for _, columns := range []uint16{0, 80} {
		if err := pty.Setsize(ours, &pty.Winsize{Cols: columns, Rows: 24}); err != nil {
			t.Fatal(err)
		}
		p := NewProgress(theirs)
		if drawn := p.screen != nil; drawn != (columns > 0) {
			t.Errorf("%d columns: drawn on: %t", columns, drawn)
		}
		p.End()
	}
}
