package wording

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Cut returns s, or its first most bytes and "…" if it is longer. It never splits a character.
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// List lists words with commas, ten of them at most: "a, b and 3 more". It is "nothing" for no
// words.
func List(words []string) string {
	const most = 10
	switch {
	case len(words) == 0:
		return "nothing"
	case len(words) > most:
		return fmt.Sprintf("%s and %d more", strings.Join(words[:most], ", "), len(words)-most)
	}
	return strings.Join(words, ", ")
}
