package bridge_test

import (
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want, bad     bool
	}{
		{"github__*", "github__create_issue", true, false},
		{"github__*", "github__repos/get", true, false},
		{"github__*", "gitlab__create_issue", false, false},
		{"repos/*", "repos/get/all", true, false},
		{"repos/*", "repos", false, false},
		{"*", "", true, false},
		{"a?c*", "abcd", true, false},
		{`a\**`, "a*b", true, false},
		{`a\*`, "ab", false, false},
		{"?", "/", true, false},
		{"[^a]", "/", true, false},
		{`a\*`, "a*", true, false},
		{"get", "getter", false, false},
		{"", "", true, false},
		{"[", "", false, true},
		{`a\`, "", false, true},
		{"a*[", "b", false, true},
	} {
		if got, err := bridge.Match(c.pattern, c.name); got != c.want || (err != nil) != c.bad {
			t.Errorf("Match(%q, %q) = %t, %v", c.pattern, c.name, got, err)
		}
	}
}
