package bridge

import (
	"path"
	"strings"
)

// Match reports whether a name matches a pattern of path.Match in which a slash is an ordinary
// character: github__* matches every name with that prefix. The error is path.ErrBadPattern, which
// a match with any name finds, also with "".
func Match(pattern, name string) (bool, error) {
	// A slash is special to path.Match in names and patterns alike; NUL stands in neither.
	return path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00"))
}

// matchAny reports whether a name matches one of some patterns.
func matchAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if ok, _ := Match(p, name); ok {
			return true
		}
	}
	return false
}
