package toolformat

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// PrefixSeparator stands between a source's prefix and the name of its tool.
const PrefixSeparator = "__"

// Prefix is the prefix that a source's name gives: characters outside [A-Za-z0-9_-]
// become "_", then PrefixSeparator.
func Prefix(source string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, source) + PrefixSeparator
}

// hashLen is the length of what Shorten appends: "_" and eight hex digits.
const hashLen = 9

// Shorten cuts a name that is longer than limit bytes and ends it in a hash of the
// whole name, so that the result depends on that name alone and two long names stay
// apart. A limit under 16 means none.
func Shorten(name string, limit int) string {
	if limit < 16 || len(name) <= limit {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	cut := limit - hashLen
	for cut > 0 && !utf8.RuneStart(name[cut]) {
		cut--
	}
	return name[:cut] + "_" + hex.EncodeToString(sum[:4])
}
