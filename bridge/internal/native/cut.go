package native

import "unicode/utf8"

// Whole is a text without the beginning of a rune at its end.
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

// Clip is the beginning of a text that is longer than most bytes.
func Clip(s string, most int) string {
	if len(s) > most {
		return Whole(s[:most]) + "…"
	}
	return s
}

// Short is the beginning of a text, for an error that names it.
func Short(s string) string { return Clip(s, 40) }
