package output

import (
	"os"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
)

// A character that arrives in pieces is kept together, and only a terminal is cleaned.
func TestNew(t *testing.T) {
	for _, text := range []string{"漢字\x1b[31m", "\u009b31m é", "bad \xe6\xff", "👩\u200d💻"} {
		for size := 1; size < 5; size++ {
			var got strings.Builder
			c := &cleaned{to: &got}
			for at := 0; at < len(text); at += size {
				piece := text[at:min(at+size, len(text))]
				if n, err := c.Write([]byte(piece)); n != len(piece) || err != nil {
					t.Fatal(n, err)
				}
			}
			if got.String() != terminal.Clean(text) {
				t.Errorf("%q in pieces of %d: %q, want %q", text, size, got.String(), terminal.Clean(text))
			}
		}
	}
	f, err := os.Create(t.TempDir() + "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if out := New(f); out != f || IsTerminal(out) || Width(out) != 0 {
		t.Errorf("a file is %T", out)
	}
}
