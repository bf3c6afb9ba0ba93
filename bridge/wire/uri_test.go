package wire

import "testing"

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		uri, root string
		want      bool
	}{
		{"file:///a", "file:///a", true},
		{"file:///a/b", "file:///a", true},
		{"file:///a/b", "file:///a/", true},
		{"file:///a/b/c", "file:///a", true},
		{"file:///a/", "file:///a", true},
		{"file:///ab", "file:///a", false},
		{"file:///a?b", "file:///a", false},
		{"file:///a", "file:///a/", false},
		{"file:///a", "file:///a/b", false},
		{"file:///A/b", "file:///a", false},
		{"file:///", "file:///", true},
		{"file:///a", "file:///", true},
		{"", "", true},
		{"a", "", false},
		{"", "a", false},
	} {
		if got := Within(c.uri, c.root); got != c.want {
			t.Errorf("%q within %q: %v", c.uri, c.root, got)
		}
	}
}
