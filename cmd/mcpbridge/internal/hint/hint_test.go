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
