package output

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
)

// Without a terminal only slow work is named, once each.
func TestProgressWithoutTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		p := NewProgress(&out)
		p.Add("quick", time.Now())
		p.Add("slow\x1b", time.Now())
		p.Finish("quick", "1 tool", true)
		p.Note("slow\x1b", "installing")
		time.Sleep(quietPatience)
		synctest.Wait()
		p.Add("late", time.Now())
		p.Above(func() { out.WriteString("a row\n") })
		p.Remove("late")
		p.End()
		if want := "mcpbridge: waiting for slow�\nmcpbridge: waiting for late\na row\n"; out.String() != want {
			t.Errorf("got %q, want %q", out.String(), want)
		}
	})
}

// On a screen each piece of work has a line, which its result replaces.
func TestProgressOnScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		screen := terminal.NewScreen(&out, func() (int, int) { return 40, 10 }, false)
		p := OnScreen(screen)
		p.Add("a", time.Now())
		p.Add("b", time.Now())
		synctest.Wait()
		time.Sleep(1500 * time.Millisecond)
		p.Note("a", "down\x1bloading a package with a long name of its own")
		p.Finish("b", "failed", false)
		p.Finish("a", "2 tools", true)
		p.End()
		for _, want := range []string{"⠋ a 1.5s down�loading a package with a…", "✗ b failed 1.5s\n", "✓ a 2 tools 1.5s\n"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is not in %q", want, out.String())
			}
		}
		if !strings.HasSuffix(out.String(), "✓ a 2 tools 1.5s\n") {
			t.Errorf("something is left of the work: %q", out.String())
		}
	})
}
