package wording

import (
	"crypto/sha256"
	"encoding/hex"
	"unicode/utf8"
)

// HashLen is the length of the ending that Shorten appends: "_" and eight hex digits.
const HashLen = 9

// Shorten returns a name of at most limit bytes: one that is longer is cut and ends in a hash of
// the whole name, so that the result depends on that name alone and two long names stay apart.
// A limit below 16 means no limit.
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
