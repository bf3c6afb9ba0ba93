package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

func (d *decoder) unknownKey(parent, m node, keys keySet) {
	var ours, taken []string
	for name, k := range keys {
		if k.take != nil {
			taken = append(taken, name)
			if k.same == "" {
				ours = append(ours, name)
			}
		}
	}
	slices.Sort(ours)
	parent.offset = m.at
	switch near := toolformat.Closest(m.name, taken); {
	case near != "":
		d.errorf(parent, "unknown key %s (did you mean %q?)", hint.Quote(m.name), near)
	case parent.path == "" && looksLikeServer(d, m):
		d.errorf(parent, `unknown key %s: a server belongs in "mcpServers"`, hint.Quote(m.name))
	default:
		d.errorf(parent, "unknown key %s (known: %s)", hint.Quote(m.name), strings.Join(ours, ", "))
	}
}

// looksLikeServer reports whether n may be a server that was pasted without the "mcpServers" around it.
func looksLikeServer(d *decoder, n node) bool {
	members, _ := d.membersOf(n)
	return slices.ContainsFunc(members, func(m node) bool { return m.name == "command" || m.name == "url" })
}

// oneOf reads one of a closed set of words and returns its meaning.
func oneOf(meanings map[string]string) reader[string] {
	return func(d *decoder, n node) (string, bool) {
		word, ok := readText(d, n)
		if !ok {
			return "", false
		}
		meaning, known := meanings[word]
		if known {
			return meaning, true
		}
		spellings := slices.Sorted(maps.Keys(meanings))
		what := "unknown value"
		if !n.filled() { // the value may be a misplaced secret
			what += " " + hint.Quote(word)
		}
		if near := toolformat.Closest(word, spellings); near != "" {
			d.wrongf(n, "%s (did you mean %q?)", what, near)
		} else {
			d.wrongf(n, "%s (known: %s)", what, strings.Join(spellings, ", "))
		}
		return "", false
	}
}

// words returns a closed set whose words mean themselves.
func words(list ...string) map[string]string {
	set := make(map[string]string, len(list))
	for _, w := range list {
		set[w] = w
	}
	return set
}
