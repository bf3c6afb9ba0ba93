package output

import (
	"strings"
	"testing"
)

// Help in a pipe is as wide as on a terminal of 80 columns, however its paragraphs are written.
func TestHelp(t *testing.T) {
	words := func(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }
	for text, want := range map[string]string{
		"one\ntwo\n\nthree": "one two\n\nthree\n",
		words(17):           words(16) + "\nword\n",
		words(10) + "\n" + words(7) + "\n  bash\n  zsh\nend": words(16) + "\nword\n  bash\n  zsh\nend\n",
		words(17) + "\n  " + words(20):                       words(16) + "\nword\n  " + words(20) + "\n",
	} {
		var got strings.Builder
		if Help(&got, text); got.String() != want {
			t.Errorf("%q: got %q, want %q", text, got.String(), want)
		}
	}
	var got strings.Builder
	Flags(&got, "      --long NAME   "+words(14)+"\n  -s, --short       what\x1b it is\n      --bare        \n")
	if want := "      --long NAME   " + words(12) + "\n                    word word\n  -s, --short       what\ufffd it is\n      --bare\n"; got.String() != want {
		t.Errorf("got %q, want %q", got.String(), want)
	}
	for text, want := range map[string]string{
		words(14) + " [--args JSON] [FILE]": "  call " + words(14) + "\n       [--args JSON] [FILE]\n",
		"now [" + words(15) + "] [FILE]":    "  call now\n    [" + words(15) + "]\n    [FILE]\n",
		"now [" + words(17) + "] [FILE]":    "  call now\n    [" + words(17) + "]\n    [FILE]\n",
	} {
		got.Reset()
		if Usage(&got, "  call ", text); got.String() != want {
			t.Errorf("got %q, want %q", got.String(), want)
		}
	}
}
