package toolformat

import (
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// PrefixSeparator, "__", stands between the prefix of a source and the name of its tool.
const PrefixSeparator = wording.PrefixSeparator

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

// Shorten cuts a name that is longer than limit bytes and ends it in a hash of the
// whole name, so that the result depends on that name alone and two long names stay
// apart. A limit under 16 means none.
func Shorten(name string, limit int) string { return wording.Shorten(name, limit) }

// The characters that names are made of.
const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
)

// A nameRule says which names a format takes. The zero rule takes every name.
type nameRule struct {
	first, rest string // the characters that may stand first, and after that; "": any
	most        int    // the most characters; 0: any number
	pattern     string // the same as a regular expression, for notes
}

// takes reports whether a name keeps the rule.
func (r nameRule) takes(name string) bool {
	switch {
	case name == "" || r.most > 0 && len(name) > r.most:
		return false
	case r.rest == "":
		return true
	}
	for i := range len(name) {
		if allowed := r.rest; strings.IndexByte(allowed, name[i]) < 0 {
			return false
		}
	}
	return strings.IndexByte(r.first, name[0]) >= 0
}

// fit makes a name that keeps the rule of one that does not: what can be kept of it, and
// a hash of all of it. It depends on the name alone.
func (r nameRule) fit(name string, digits int) string {
	var stem strings.Builder
	gap := false // between two runs of characters that can be kept
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
	if room := r.most - 1 - digits; r.most > 0 && len(readable) > room {
		readable = readable[:room]
	}
	return strings.TrimRight(readable, "_-.:") + "_" + wording.Hash(name, digits)
}

// The hash of a made name has eight digits and grows by eight for as long as another
// tool has the same name, which is as good as never unless somebody wants it.
const (
	shortHash = 8
	longHash  = 48
)

// spell gives each name one that keeps the rule, and no two the same. A name that keeps
// the rule stays. The others depend on themselves alone, so that a tool keeps its name
// when others come and go; only a made name that is another tool's is made again, with
// a longer hash. A name without a spelling has none even then.
func (r nameRule) spell(names []string) map[string]string {
	spelled := make(map[string]string, len(names))
	taken := map[string]bool{}
	var left []string
	for _, name := range names {
		if _, again := spelled[name]; again {
			continue
		}
		spelled[name] = name
		if r.takes(name) {
			taken[name] = true
		} else {
			left = append(left, name)
		}
	}
	for digits := shortHash; digits <= longHash && len(left) > 0; digits += shortHash {
		left = r.spellLeft(left, digits, spelled, taken)
	}
	for _, name := range left {
		delete(spelled, name)
	}
	return spelled
}

// spellLeft spells names with a hash of so many digits and returns those whose spelling
// is not theirs alone.
func (r nameRule) spellLeft(names []string, digits int, spelled map[string]string, taken map[string]bool) []string {
	made := make([]string, len(names))
	wanted := map[string]int{}
	for i, name := range names {
		made[i] = r.fit(name, digits)
		wanted[made[i]]++
	}
	var left []string
	for i, name := range names {
		if wanted[made[i]] > 1 || taken[made[i]] {
			left = append(left, name)
			continue
		}
		spelled[name] = made[i]
		taken[made[i]] = true
	}
	return left
}
