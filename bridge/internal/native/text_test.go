package native

import (
	"strings"
	"testing"
)

// The cases are those of TestCut in toolformat/internal/wording.
func TestCut(t *testing.T) {
	for _, c := range []struct {
		s     string
		bytes int
		want  string
	}{
		{"", 0, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"aüb", 2, "a…"}, {"aüb", 3, "aü…"}, {"日本", 2, "…"},
		{"\x80\x80\x80", 2, "…"}, // not UTF-8: no place where a character begins
	} {
		if got := Cut(c.s, c.bytes); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.s, c.bytes, got, c.want)
		}
	}
	if got := Shorten(strings.Repeat("ü", 30)); got != strings.Repeat("ü", 20)+"…" {
		t.Error(got)
	}
}

func TestWhole(t *testing.T) {
	for s, want := range map[string]string{"": "", "a": "a", "aü": "aü", "a\xc3": "a", "\xf0\x9f\x98": "", "a\xf0": "a", "\x80\x80": "\x80\x80", "caf\xe9": "caf"} {
		if got := Whole(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

func TestText(t *testing.T) {
	for value, want := range map[string]string{`"a\n\u00e9"`: "a\né", `1.50`: "1.50", `["a"]`: `["a"]`, `null`: "null", ``: ""} {
		if got := Text([]byte(value)); got != want {
			t.Errorf("%s: %q", value, got)
		}
	}
}
