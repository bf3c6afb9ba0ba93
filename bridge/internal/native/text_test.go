package native

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestCut(t *testing.T) {
	table, err := os.ReadFile("../../../testdata/rules/cut.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		var text, want string
		var most int
		if _, err := fmt.Sscanf(line, "%q %d %q", &text, &most, &want); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if got := Cut(text, most); got != want {
			t.Errorf("Cut(%q, %d) = %q, want %q", text, most, got, want)
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
