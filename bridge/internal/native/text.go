package native

import (
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// Text returns a JSON value as text: the characters of a string, the JSON of any other value.
func Text(value []byte) string {
	if s, ok := wire.Text(value); ok {
		return s
	}
	return string(value)
}

// Shorten cuts s to the 40 bytes that an error repeats of it.
func Shorten(s string) string { return Cut(s, 40) }

// Cut returns s, or its first bytes and "…" if it is longer. It never splits a character. Package
// toolformat keeps the same rule: see testdata/rules.
func Cut(s string, bytes int) string {
	if len(s) <= bytes {
		return s
	}
	for bytes > 0 && !utf8.RuneStart(s[bytes]) {
		bytes--
	}
	return s[:bytes] + "…"
}

// Whole returns s without an incomplete rune at its end.
func Whole(s string) string {
	for i := 1; i < utf8.UTFMax && i <= len(s); i++ {
		if utf8.RuneStart(s[len(s)-i]) {
			if !utf8.FullRuneInString(s[len(s)-i:]) {
				return s[:len(s)-i]
			}
			break
		}
	}
	return s
}
