package hint

import (
	"strings"
	"testing"
)

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"a\n\"b\"":               `"a\n\"b\""`,
		strings.Repeat("é", 100): `"` + strings.Repeat("é", 30) + `…"`,
		strings.Repeat("x", 60):  `"` + strings.Repeat("x", 60) + `"`,
	} {
		if got := Quote(in); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

func TestShellWord(t *testing.T) {
	for in, want := range map[string]string{"./a-b.json": "./a-b.json", "my config": "'my config'", "it's": `'it'\''s'`} {
		if got := ShellWord(in); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

func TestDidYouMeanNothing(t *testing.T) {
	if got := DidYouMean("a", nil); got != "" {
		t.Errorf("without known words: %q", got)
	}
}
