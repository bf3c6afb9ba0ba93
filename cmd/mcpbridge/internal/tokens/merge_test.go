package tokens

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
		text, err := os.ReadFile(path)
		if err != nil {
			return nil // there may be none
		}
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

func TestMergeExpired(t *testing.T) {
	now := time.Now()
	file := func(ended ...time.Duration) []byte { // hours ago; none for 0
		c := contents{Tokens: []Token{}}
		for _, hours := range ended {
			token := Token{Name: "ann", SHA256: fmt.Sprintf("%064d", hours)}
			if hours != 0 {
				ended := now.Add(-hours * time.Hour)
				token.Expires = &ended
			}
			c.Tokens = append(c.Tokens, token)
		}
		text, err := c.text()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for _, c := range []struct{ a, b, want []time.Duration }{
		{[]time.Duration{0, 1, 25}, []time.Duration{0, 1, 25}, []time.Duration{0, 1}},
		{[]time.Duration{0}, []time.Duration{1, 25}, []time.Duration{0}}, // others have dropped them
		{[]time.Duration{30, 25}, []time.Duration{25, 30}, []time.Duration{25}},
		{nil, []time.Duration{30, 25}, []time.Duration{25}},
		{[]time.Duration{26}, []time.Duration{30, 25}, []time.Duration{25}},
		{[]time.Duration{25}, []time.Duration{0}, []time.Duration{0}},
		{nil, nil, nil},
	} {
		for _, files := range [][2][]byte{{file(c.a...), file(c.b...)}, {file(c.b...), file(c.a...)}} {
			merged, err := Merge(files[0], files[1])
			again, _ := Merge(merged, files[1])
			all, _ := parse(merged)
			var hashes []string
			for _, token := range all.Tokens {
				hashes = append(hashes, strings.TrimLeft(token.SHA256, "0"))
			}
			var want []string
			for _, hours := range c.want {
				want = append(want, strings.TrimLeft(fmt.Sprint(int(hours)), "0"))
			}
			slices.Sort(hashes)
			slices.Sort(want)
			if err != nil || !slices.Equal(hashes, want) || string(again) != string(merged) {
				t.Errorf("%v and %v: %v, %v; again %s", c.a, c.b, hashes, err, again)
			}
		}
	}
}
