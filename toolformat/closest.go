package toolformat

import "github.com/mcpbridge/mcpbridge/toolformat/internal/wording"

// Closest returns the one known word that word was most likely meant to be, for an error that
// asks "did you mean"; "" if no word is near, or several are equally near: see [Nearest].
func Closest(word string, known []string) string { return wording.Closest(word, known) }

// Nearest returns the known words that are nearest to word, all equally near.
//
// The nearest are the word in other letter case and the word behind the prefix of a source
// ("github__search" for "search"). Otherwise case and separators do not count, except to decide
// between equals, and a word is near within an edit distance of 2, or of a third of its letters
// if that is more.
func Nearest(word string, known []string) []string { return wording.Nearest(word, known) }
