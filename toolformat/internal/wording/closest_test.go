package wording

import "testing"

func TestClosest(t *testing.T) {
	keys := []string{"command", "args", "env", "envFile", "cwd", "url", "headers", "timeout", "maxTimeout", "connectTimeout", "include", "exclude"}
	for word, want := range map[string]string{
		"comand":        "command",
		"commnad":       "command", // neighbours swapped
		"Command":       "command",
		"ENVFILE":       "envFile",
		"arg":           "args",
		"urls":          "url",
		"ulr":           "url",
		"conectTimeuot": "connectTimeout",
		"timeouts":      "timeout",
		"nclude":        "include",
		"xclude":        "exclude",
		"clude":         "", // either
		"zz":            "",
		"":              "",
		"x":             "",
		"whatever":      "",
		"überall":       "",
	} {
		if got := Closest(word, keys); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"ab", "ba", 1},
		{"kitten", "sitting", 3}, {"ca", "abc", 3}, {"müde", "mude", 1},
	} {
		if got := editDistance([]rune(c.a), []rune(c.b)); got != c.want {
			t.Errorf("%s %s: got %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
