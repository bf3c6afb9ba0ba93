package wording

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"
)

// List lists words, the first ten of them; "nothing" when there are none.
func List(words []string) string {
	const most = 10
	switch {
	case len(words) == 0:
		return "nothing"
	case len(words) > most:
		return strings.Join(words[:most], ", ") + fmt.Sprintf(" and %d more", len(words)-most)
	}
	return strings.Join(words, ", ")
}

// Cut cuts a text that is longer than most bytes.
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// Shorten cuts a name that is longer than limit bytes and ends it in a hash of the
// whole name, so that the result depends on that name alone and two long names stay
// apart. A limit under 16 means none.
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

// HashLen is the length of what Shorten appends: "_" and eight hex digits.
const HashLen = 9

// Hash is the beginning of a name's SHA-256, so many hex digits of it.
func Hash(name string, digits int) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])[:digits]
}
