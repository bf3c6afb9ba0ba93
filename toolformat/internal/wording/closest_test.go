package wording

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestClosest(t *testing.T) {
	keys := []string{"command", "args", "env", "envFile", "cwd", "url", "headers", "timeout", "maxTimeout", "connectTimeout", "include", "exclude"}
	for word, want := range map[string]string{
		"comand":        "command",
		"commnad":       "command", // neighbors swapped
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

// TestNearest verifies that the word behind a prefix is as near as the word in other letter case.
func TestNearest(t *testing.T) {
	long := strings.Repeat("long", 20)
	many := make([]string, 2*maxWords)
	for i := range many {
		many[i] = "tool_" + strconv.Itoa(i)
	}
	for _, c := range []struct {
		word  string
		known []string
		want  string
	}{
		{"search", []string{"github__search", "github__searches", "seach"}, "github__search"},
		{"search", []string{"github__search", "gitlab__search"}, "github__search gitlab__search"},
		{"search", []string{"github__search", "SEARCH"}, "github__search SEARCH"},
		{"search", []string{"my_search", "research"}, "research"},
		{"Search", []string{"github__search"}, ""},
		{"SEARCH", []string{"search", "Search"}, "search Search"},
		{"get_user", []string{"getUser", "get-users", "get_use"}, "getUser"},
		{long, []string{long + "x", strings.ToUpper(long)}, strings.ToUpper(long)},
		{"seach", append(slices.Clone(many), "search"), ""},
		{"search", append(slices.Clone(many), "a__search"), "a__search"},
		{"a", []string{"A", "b"}, "A"},
		{"", []string{"", "x__"}, ""},
	} {
		if got := strings.Join(Nearest(c.word, c.known), " "); got != c.want {
			t.Errorf("%.20q: got %.200q, want %.200q", c.word, got, c.want)
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
