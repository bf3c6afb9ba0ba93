// Package hint quotes in an error what a user wrote, and proposes what was meant.
package hint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// maxQuoted bounds the part of a word that an error repeats, in bytes.
const maxQuoted = 60

// Quote quotes s for an error, shortened.
func Quote(s string) string { return strconv.Quote(Shorten(s)) }

// Shorten cuts s to the part that an error repeats.
func Shorten(s string) string {
	if len(s) <= maxQuoted {
		return s
	}
	end := maxQuoted
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// ShellWord returns s as a word of a command line for a shell.
func ShellWord(s string) string {
	if strings.ContainsAny(s, " \t\"'\\$&|;<>()*?[]{}~`!#") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}

// DidYouMean returns the end of an error about an unknown word: the nearest known word, or all of
// them; "" if there are none.
func DidYouMean(word string, known []string) string {
	if near := toolformat.Closest(word, known); near != "" {
		return fmt.Sprintf(" (did you mean %s?)", near)
	}
	if len(known) == 0 {
		return ""
	}
	return fmt.Sprintf(" (known: %s)", strings.Join(slices.Compact(slices.Sorted(slices.Values(known))), ", "))
}
