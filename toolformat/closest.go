package toolformat

import "github.com/mcpbridge/mcpbridge/toolformat/internal/wording"

// Closest is the one of known words that a word was most likely meant to be, for an error
// that asks whether it is; "" when none is near, or several equally: see Nearest.
func Closest(word string, known []string) string { return wording.Closest(word, known) }

// Nearest are those of known words that a word is equally near to, and to no other nearer.
func Nearest(word string, known []string) []string { return wording.Nearest(word, known) }
