package rewrite

import (
	"strings"
	"testing"
)

// A passCase is a schema and what some passes make of it.
type passCase struct {
	name, in, want string
	notes          string // a line a note: its path and its text
}

// testPasses runs each case through passes.
func testPasses(t *testing.T, cases []passCase, passes ...func(*Schema)) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := afterPasses(t, c.in, passes...)
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			if got := string(r.Root.JSON()); got != c.want {
				t.Errorf("became\n%s\nexpected\n%s", got, c.want)
			}
			if got := noteLines(r); got != strings.TrimSpace(c.notes) {
				t.Errorf("notes\n%s\nexpected\n%s", got, strings.TrimSpace(c.notes))
			}
		})
	}
}

func afterPasses(t testing.TB, schema string, passes ...func(*Schema)) *Schema {
	t.Helper()
	r, err := New([]byte(schema), nil, "X")
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range passes {
		if run(r); r.Err != nil {
			break
		}
	}
	return r
}

func noteLines(r *Schema) string {
	var lines []string
	for _, n := range r.Notes {
		lines = append(lines, n.String())
	}
	return strings.Join(lines, "\n")
}
