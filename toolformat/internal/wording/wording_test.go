package wording

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestCut(t *testing.T) {
	table, err := os.ReadFile("../../../testdata/rules/cut.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		var text, want string
		var most int
		if _, err := fmt.Sscanf(line, "%q %d %q", &text, &most, &want); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if got := Cut(text, most); got != want {
			t.Errorf("Cut(%q, %d) = %q, want %q", text, most, got, want)
		}
	}
}

func TestList(t *testing.T) {
	words := strings.Fields("a b c d e f g h i j k l")
	for n, want := range map[int]string{0: "nothing", 1: "a", 3: "a, b, c", 10: "a, b, c, d, e, f, g, h, i, j", 12: "a, b, c, d, e, f, g, h, i, j and 2 more"} {
		if got := List(words[:n]); got != want {
			t.Errorf("%d words: %s", n, got)
		}
	}
}

func TestShorten(t *testing.T) {
	long := strings.Repeat("ü", 20)
	for _, c := range []struct {
		name  string
		limit int
		want  string
	}{
		{"get_weather", 16, "get_weather"},
		{"a_name_of_20_letters", 16, "a_name__" + Hash("a_name_of_20_letters", 8)},
		{"a_name_of_20_letters", 15, "a_name_of_20_letters"},
		{long, 20, strings.Repeat("ü", 5) + "_" + Hash(long, 8)},
	} {
		if got := Shorten(c.name, c.limit); got != c.want || c.limit >= 16 && len(got) > c.limit {
			t.Errorf("%s within %d: %s", c.name, c.limit, got)
		}
	}
}

func TestNote(t *testing.T) {
	for want, n := range map[string]Note{
		"":                  {},
		"text":              {Rule: "rule", Text: "text"},
		"tool: text":        {Tool: "tool", Text: "text"},
		"/a: text":          {Path: "/a", Text: "text"},
		"tool: /a/~1: text": {Tool: "tool", Path: "/a/~1", Text: "text"},
	} {
		if got := n.String(); got != want {
			t.Errorf("%+v is %q, want %q", n, got, want)
		}
	}
}
