package toolformat

import (
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// Prefix returns the prefix for the tools of a source: its name with "_" for characters outside of
// [A-Za-z0-9_-], and "__".
func Prefix(source string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(letters+digits+"_-", r) {
			return r
		}
		return '_'
	}, source) + wording.PrefixSeparator
}

// Shorten returns a name of at most limit bytes: one that is longer is cut and ends in a hash of the
// whole name, so that the result depends on that name alone and two long names stay apart. A limit
// below 16 means no limit.
func Shorten(name string, limit int) string { return wording.Shorten(name, limit) }

// The characters of names.
const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
)

// A nameRule says which names a format allows. The zero nameRule allows every name.
type nameRule struct {
	first, rest string // characters allowed first and after that; "" means any
	max         int    // characters; 0 means no limit
	pattern     string // the rule as a regular expression, for notes
}

// allows reports whether a name follows the rule.
func (r nameRule) allows(name string) bool {
	switch {
	case name == "" || r.max > 0 && len(name) > r.max:
		return false
	case r.rest == "":
		return true
	}
	return strings.Contains(r.first, name[:1]) && strings.Trim(name, r.rest) == ""
}

// mangle returns a name that follows the rule for one that does not: the characters that can be kept,
// and a hash of all. It depends on the name alone.
func (r nameRule) mangle(name string, digits int) string {
	var stem strings.Builder
	gap := false // since the last character that can be kept
	for i := 0; i < len(name); i++ {
		if strings.IndexByte(r.rest, name[i]) < 0 {
			gap = true
			continue
		}
		if stem.Len() == 0 && strings.IndexByte(r.first, name[i]) < 0 || gap && stem.Len() > 0 {
			stem.WriteByte('_')
		}
		gap = false
		stem.WriteByte(name[i])
	}
	readable := stem.String()
	if readable == "" {
		readable = "tool"
	}
	if room := r.max - 1 - digits; r.max > 0 && len(readable) > room {
		readable = readable[:room]
	}
	return strings.TrimRight(readable, "_-.:") + "_" + wording.Hash(name, digits)
}

// The hash of a mangled name has eight digits. It grows by eight while another tool has the same
// name, which happens only by intent.
const (
	shortHash = 8
	longHash  = 48
)

// assign returns a name that follows the rule for each name, no two the same. A name that follows the
// rule stays. The others depend on themselves alone, so that a tool keeps its name when others come
// and go; only one that another tool has gets a longer hash. The empty name gets none.
func (r nameRule) assign(names []string) map[string]string {
	assigned := make(map[string]string, len(names))
	taken := map[string]bool{}
	var left []string
	for _, name := range names {
		if _, again := assigned[name]; again || name == "" {
			continue
		}
		assigned[name] = name
		if r.allows(name) {
			taken[name] = true
		} else {
			left = append(left, name)
		}
	}
	for digits := shortHash; digits <= longHash && len(left) > 0; digits += shortHash {
		left = r.assignMangled(left, digits, assigned, taken)
	}
	for _, name := range left {
		delete(assigned, name)
	}
	return assigned
}

// assignMangled mangles names with a hash of a length, and returns those whose result is not unique.
func (r nameRule) assignMangled(names []string, digits int, assigned map[string]string, taken map[string]bool) []string {
	mangled := make([]string, len(names))
	count := map[string]int{}
	for i, name := range names {
		mangled[i] = r.mangle(name, digits)
		count[mangled[i]]++
	}
	var left []string
	for i, name := range names {
		if count[mangled[i]] > 1 || taken[mangled[i]] {
			left = append(left, name)
			continue
		}
		assigned[name] = mangled[i]
		taken[mangled[i]] = true
	}
	return left
}

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
