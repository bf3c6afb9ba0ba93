package bridge_test

import (
	"path"
	"strings"
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
		{"*hub*is*", "github__create_issue", true, false},
		{"*issue*issue", "github__create_issue", false, false},
		{"a*b*c", "abbc", true, false},
		{"a*b*c", "acb", false, false},
		{"a*a", "a", false, false},
		{"**", "a", true, false},
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

// FuzzMatch compares Match with path.Match for patterns and names without a slash.
func FuzzMatch(f *testing.F) {
	f.Add("*a*b*", "xaxbx")
	f.Add("a*[b]", "aab")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if strings.Contains(pattern+name, "/") {
			return
		}
		got, err := bridge.Match(pattern, name)
		if want, fault := path.Match(pattern, name); got != want || err != fault {
			t.Errorf("Match(%q, %q) = %t, %v, want %t, %v", pattern, name, got, err, want, fault)
		}
	})
}
