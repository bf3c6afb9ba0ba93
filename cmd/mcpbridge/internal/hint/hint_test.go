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
	for _, c := range []struct{ in, posix, windows string }{
		{"./a-b.json", "./a-b.json", "./a-b.json"},
		{`C:\Users\ann\my.json`, `'C:'\\'Users'\\'ann'\\'my.json'`, `C:\Users\ann\my.json`},
		{"my config", "'my config'", `"my config"`},
		{"", "''", `""`},
		{"a\nb", "'a\nb'", `"…"`},
		{"it's", `'it'\''s'`, `"it's"`},
		{"a'; b; '", `'a'\''; b; '\'''`, `"a'; b; '"`},
		{"a&b", "'a&b'", `"a&b"`},
		{"a&$(b)", "'a&$(b)'", `"…"`},
		{`a"&b`, `'a"&b'`, `"…"`},
		{`\'; b; #`, `''\\''\''; b; #'`, `"\'; b; #"`},
		{"%CMDCMDLINE:~0,1%&b", "'%CMDCMDLINE:~0,1%&b'", `"…"`},
		{"a”;b", "'a”;b'", `"…"`},
	} {
		if posix, windows := posixWord(c.in), windowsWord(c.in); posix != c.posix || windows != c.windows {
			t.Errorf("%q: got %s and %s, want %s and %s", c.in, posix, windows, c.posix, c.windows)
		}
	}
}

func TestCommand(t *testing.T) {
	for want, names := range map[string][]string{
		"mcpbridge enable a --config x":             {"a"},
		"mcpbridge enable a b-c --config x":         {"a", "b-c"},
		"mcpbridge enable --config x -- a --config": {"a", "--config"},
	} {
		if got := Command("mcpbridge enable", " --config x", names...); got != want {
			t.Errorf("%q: got %s, want %s", names, got, want)
		}
	}
}

func TestDidYouMeanNothing(t *testing.T) {
	if got := DidYouMean("a", nil); got != "" {
		t.Errorf("without known words: %q", got)
	}
}
