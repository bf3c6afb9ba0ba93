package rewrite

import (
	"strings"
	"testing"
)

// A rewriteCase is a schema before and after passes, and a part of each note, "path: text" without
// quotation marks.
type rewriteCase struct {
	name, before, after string
	notes               []string
}

func testRewrites(t *testing.T, cases []rewriteCase, passes ...func(*Schema)) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := rewriteTwice(t, c.before, passes...)
			if got := string(r.Root.JSON()); got != c.after {
				t.Errorf("%s\nbecame %s\nwant   %s", c.before, got, c.after)
			}
			plain := strings.NewReplacer(`"`, "").Replace
			for i, n := range r.Notes {
				if i >= len(c.notes) || !strings.Contains(plain(n.Path+": "+n.Text), plain(c.notes[i])) {
					t.Errorf("note %d is %s, expected %q in it", i, n, c.notes[min(i, len(c.notes)-1)])
				}
			}
			if len(r.Notes) < len(c.notes) {
				t.Errorf("%d notes, want %q", len(r.Notes), c.notes)
			}
		})
	}
}

// rewriteTwice runs passes twice and verifies that the results are equal.
func rewriteTwice(t testing.TB, schema string, passes ...func(*Schema)) *Schema {
	t.Helper()
	r := rewriteOnce(t, schema, passes)
	again := rewriteOnce(t, schema, passes)
	if string(again.Root.JSON()) != string(r.Root.JSON()) || len(again.Notes) != len(r.Notes) {
		t.Errorf("%s\nbecame %s\nand    %s", schema, r.Root.JSON(), again.Root.JSON())
	}
	for i := range again.Notes {
		if again.Notes[i] != r.Notes[i] {
			t.Errorf("note %d is %s, then %s", i, r.Notes[i], again.Notes[i])
		}
	}
	return r
}

func rewriteOnce(t testing.TB, schema string, passes []func(*Schema)) *Schema {
	t.Helper()
	r, err := New([]byte(schema), nil, "a provider")
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	for _, pass := range passes {
		pass(r)
	}
	return r
}
