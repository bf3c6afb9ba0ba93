package tokens

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Files of tokens that are merged, in whatever order, are equal: they have what was made at either, and nothing that
// was removed from one since they were merged before.
func TestMerge(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	read := func(path string) []byte {
		text, _ := os.ReadFile(path) // there may be none
		return text
	}
	merge := func(want ...string) {
		t.Helper()
		one, err := Merge(read(a), read(b))
		if err != nil {
			t.Fatal(err)
		}
		other, _ := Merge(read(b), read(a))
		again, _ := Merge(one, read(b))
		if string(one) != string(other) || string(one) != string(again) {
			t.Errorf("%s\n%s\n%s", one, other, again)
		}
		all, _ := parse(one)
		for i, token := range all.Tokens {
			if i >= len(want) || token.Name != want[i] {
				t.Errorf("token %d is of %s, want those of %v", i, token.Name, want)
			}
		}
		if len(all.Tokens) != len(want) {
			t.Errorf("%d tokens, want those of %v", len(all.Tokens), want)
		}
		for _, path := range []string{a, b} {
			if err := os.WriteFile(path, one, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	made := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	create := func(path, name string) {
		t.Helper()
		made = made.Add(time.Second)
		if _, err := Create(path, Token{Name: name, Created: made}); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(path, name string) {
		t.Helper()
		if err := Remove(path, name); err != nil {
			t.Fatal(err)
		}
	}
	create(a, "ann")
	create(a, "eve")
	remove(a, "eve") // nobody else has known of it
	if all, _ := parse(read(a)); all.Removed != nil {
		t.Errorf("a file of its own keeps %v", all.Removed)
	}
	merge("ann")
	create(a, "bob")
	create(b, "max")
	merge("ann", "bob", "max")
	remove(a, "ann")
	remove(b, "max")
	create(b, "zoe")
	merge("bob", "zoe")
	create(a, "ann") // another one
	merge("bob", "zoe", "ann")
	all, _ := parse(read(a))
	for i := range 2 * maxRemoved {
		all.Removed = append(all.Removed, removed{all.Removed[0].SHA256, made.AddDate(1, 0, i)})
	}
	text, _ := all.text()
	if merged, err := Merge(text, read(b)); err != nil || strings.Count(string(merged), `"at"`) != maxRemoved {
		t.Errorf("%s, %v", merged, err)
	}
}
