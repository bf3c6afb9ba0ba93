package toolformat

import (
	"strings"
	"testing"
)

// A rewriteCase is a schema before and after passes, and what they note: "path: text", of
// which each is a part but for quotation marks.
type rewriteCase struct {
	name, before, after string
	notes               []string
}

func testRewrites(t *testing.T, cases []rewriteCase, passes ...func(*rewrite)) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := rewriteTwice(t, c.before, passes...)
			if got := string(r.root.Json()); got != c.after {
				t.Errorf("%s\nbecame %s\nwant   %s", c.before, got, c.after)
			}
			plain := strings.NewReplacer(`"`, "").Replace
			for i, n := range r.notes {
				if i >= len(c.notes) || !strings.Contains(plain(n.Path+": "+n.Text), plain(c.notes[i])) {
					t.Errorf("note %d is %s", i, n)
				}
			}
			if len(r.notes) < len(c.notes) {
				t.Errorf("%d notes, want %q", len(r.notes), c.notes)
			}
		})
	}
}

// rewriteTwice runs passes twice, which has to give the same.
func rewriteTwice(t testing.TB, schema string, passes ...func(*rewrite)) *rewrite {
	t.Helper()
	r := rewriteOnce(t, schema, passes)
	again := rewriteOnce(t, schema, passes)
	if string(again.root.Json()) != string(r.root.Json()) || len(again.notes) != len(r.notes) {
		t.Errorf("%s\nbecame %s\nand    %s", schema, r.root.Json(), again.root.Json())
	}
	for i := range again.notes {
		if again.notes[i] != r.notes[i] {
			t.Errorf("note %d is %s, then %s", i, r.notes[i], again.notes[i])
		}
	}
	return r
}

func rewriteOnce(t testing.TB, schema string, passes []func(*rewrite)) *rewrite {
	t.Helper()
	r, err := newRewrite([]byte(schema), nil, "a provider")
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	for _, pass := range passes {
		pass(r)
	}
	return r
}
