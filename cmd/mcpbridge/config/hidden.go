package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A hiddenName is a place of the file that gives a hidden value.
type hiddenName struct {
	name   string // lower case
	path   string
	line   int
	source bool // it is an entry of "context", not of a profile or the console
}

// UnusedContext returns a line for each hidden value that no server's "context" names, and that is none
// of the names that native tools have: it hides nothing. Those that are misspelt, as it seems, are apart.
func (c *Config) UnusedContext(ofNatives []string) (misspelt, unused []string) {
	used := slices.Clone(ofNatives)
	for i := range c.Servers {
		used = append(used, c.Servers[i].Context...)
	}
	for i := range used {
		used[i] = strings.ToLower(used[i])
	}
	known := slices.Clone(used)
	for _, h := range c.hidden {
		if h.source {
			known = append(known, h.name)
		}
	}
	slices.Sort(known)
	known = slices.Compact(known)
	for _, h := range c.hidden {
		if slices.Contains(used, h.name) || !h.source && slices.Contains(known, h.name) { // the entry is named
			continue
		}
		text := fmt.Sprintf("%s:%d: %s: no native tool has it, and no server names it in its context, so that nothing is hidden", c.Path, h.line, h.path)
		others := slices.DeleteFunc(slices.Clone(known), func(name string) bool { return name == h.name })
		if near := toolformat.Closest(h.name, others); near != "" {
			misspelt = append(misspelt, fmt.Sprintf("%s (did you mean %s?)", text, hint.Quote(near)))
		} else {
			unused = append(unused, fmt.Sprintf(`%s: add "context": [%s] to the server whose tools have it`, text, hint.Quote(h.name)))
		}
	}
	return misspelt, unused
}
