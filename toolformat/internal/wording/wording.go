package wording

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A Note is what toolformat.Note documents.
type Note struct {
	Tool string // the tool's name as it was read; "" if it has no name, or the note is not about one tool
	Path string // JSON Pointer (RFC 6901) into the definition in the internal format, such as "/input_schema/properties/a"; "" for all of it
	Rule string // what was done or found, as one stable word: "root-combinator"
	Text string // the same for a reader: what was there, what replaced it, and why
}

// String returns "tool: path: text", without the parts that are empty.
func (n Note) String() string {
	text := n.Text
	if n.Path != "" {
		text = n.Path + ": " + text
	}
	if n.Tool != "" {
		text = n.Tool + ": " + text
	}
	return text
}

// HashLen is the length of the ending that Shorten appends: "_" and eight hex digits.
const HashLen = 9

// Shorten is what toolformat.Shorten documents.
func Shorten(name string, limit int) string {
	if limit < 16 || len(name) <= limit {
		return name
	}
	cut := limit - HashLen
	for cut > 0 && !utf8.RuneStart(name[cut]) {
		cut--
	}
	return name[:cut] + "_" + Hash(name, HashLen-1)
}

// Hash returns the first hex digits of a name's SHA-256.
func Hash(name string, digits int) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])[:digits]
}

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

// PrefixSeparator stands between the prefix of a source and the name of its tool.
const PrefixSeparator = "__"

// Comparing spellings is quadratic: only the first words that are short enough are compared.
const (
	maxWord  = 60 // bytes
	maxWords = 500
)

// Closest is what toolformat.Closest documents.
func Closest(word string, known []string) string {
	if near := Nearest(word, known); len(near) == 1 {
		return near[0]
	}
	return ""
}

// Nearest is what toolformat.Nearest documents. Of the shorter word at least half must stay, and
// more than one letter; below four letters one edit is the limit.
func Nearest(word string, known []string) []string {
	if word == "" {
		return nil
	}
	letters := lettersOf(word)
	best, bestSpelling := max(2, len(letters)/3), maxWord
	var near []string
	for i, k := range known {
		distance, spelling := 0, 0
		switch {
		case strings.EqualFold(k, word), strings.HasSuffix(k, PrefixSeparator+word):
		case i >= maxWords || max(len(k), len(word)) > maxWord:
			continue
		default:
			other := lettersOf(k)
			distance = editDistance(letters, other)
			kept := len(letters) + len(other) - 2*distance
			if distance > best || distance > max(1, min(len(letters), len(other))/2) || kept <= 2 {
				continue
			}
			spelling = editDistance([]rune(strings.ToLower(word)), []rune(strings.ToLower(k)))
		}
		switch {
		case distance < best || spelling < bestSpelling:
			best, bestSpelling, near = distance, spelling, []string{k}
		case spelling == bestSpelling:
			near = append(near, k)
		}
	}
	return near
}

var withoutSeparators = strings.NewReplacer("_", "", "-", "", ".", "", " ", "", `"`, "")

// lettersOf returns a word in lower case and without separators.
func lettersOf(word string) []rune { return []rune(withoutSeparators.Replace(strings.ToLower(word))) }

// editDistance counts the insertions, deletions, replacements and swaps of neighbors that turn
// a into b (Damerau-Levenshtein, optimal string alignment).
func editDistance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row[0] = i + 1
		for j := range b {
			change := last[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
