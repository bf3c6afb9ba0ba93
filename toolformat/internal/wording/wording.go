package wording

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A Note says one thing about a tool, its schema or a value: what a conversion did, or what a
// check found. Notes come in the order of the document; equal inputs give equal notes.
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
