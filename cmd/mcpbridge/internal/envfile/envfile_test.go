package envfile

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	const file = "\ufeff# comment\r\n" + `
A=1
export B = two words  # why
	export	C="a \"b\" \\ \n$" # why
D='as\nit is # here'
E=
F=#nothing
G=a#b=c
exported=yes
H.x-y="é"
A=last
`
	want := map[string]string{
		"A": "last", "B": "two words", "C": "a \"b\" \\ \n$", "D": `as\nit is # here`, "E": "", "F": "", "G": "a#b=c",
		"exported": "yes", "H.x-y": "é",
	}
	if got, _, err := parse([]byte(file)); err != nil || !maps.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
	for in, want := range map[string]string{
		"A=1\nsecret":        "2: expected KEY=VALUE",
		"=secret":            "1: expected KEY=VALUE",
		"A secret=1":         "1: expected KEY=VALUE",
		"A=\"secret":         "1: A: the quote is not closed on its line",
		`A="secret\"`:        "1: A: the quote is not closed on its line",
		"A='secret":          "1: A: the quote is not closed on its line",
		"A='x' secret":       "1: A: unexpected text after the closing quote",
		"\nA=secret\x00\nB":  "2: A: has a NUL character",
		"\xff\xfeA\x00=\x00": "1: not UTF-8: save the file as UTF-8",
		"\xfe\xff\x00A\x00=": "1: not UTF-8: save the file as UTF-8",
	} {
		_, line, err := parse([]byte(in))
		if got := fmt.Sprintf("%d: %v", line, err); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big.env")
	if err := os.WriteFile(big, make([]byte, maxSize+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		dir:                          ": not a regular file",
		big:                          ": larger than 1 MiB",
		filepath.Join(dir, "absent"): "",
	} {
		_, err := Load(path)
		if err == nil || !strings.HasPrefix(err.Error(), path+":") || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), path) != 1 {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestSet(t *testing.T) {
	for _, c := range []struct{ text, name, value, want string }{
		{"", "A", "x", "A=x\n"},
		{"# c\nB=1", "A", "a b#c", "# c\nB=1\nA='a b#c'\n"},
		{"A=1\r\nB=2\r\n", "A", "2", "A=2\r\nB=2\r\n"},
		{"A=1\nA=2 # c\n", "A", "2", "A=1\nA=2 # c\n"},
		{" export  A = 1\t# why \r\n", "A", "2", " export  A=2\t# why\r\n"},
		{"A='a # b'# c\n", "A", "x", "A=x # c\n"},
		{"A=#c\n", "A", "x", "A=x #c\n"},
		{"A=a#b\n", "A", "x y", "A='x y'\n"},
		{"A=1\nexport A=2\nB=\n", "A", "it's \\ a $HOME\n\"line\"\t", "A=1\nexport A=\"it's \\\\ a \\$HOME\\n\\\"line\\\"\\t\"\nB=\n"},
	} {
		got, err := Set([]byte(c.text), c.name, c.value)
		if err != nil || string(got) != c.want {
			t.Errorf("%q: got %q, %v, want %q", c.text, got, err, c.want)
		}
	}
	for _, c := range []struct{ text, name, value, want string }{
		{"A=1\nx y", "A", "x", "line 2: expected KEY=VALUE"},
		{"", "A", "\x00", "cannot be written"},
		{"", "A B", "", "cannot be written"},
		{"", "A\nB", "", "cannot be written"},
		{"", "A", strings.Repeat("x", maxSize), `"A" would make it larger than 1 MiB`},
	} {
		if got, err := Set([]byte(c.text), c.name, c.value); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %q, %v, want %q", c.text, got, err, c.want)
		}
	}
}

func FuzzSet(f *testing.F) {
	f.Add("A=1\n# c\nexport B='2'", "B", "it's\n$\"\\")
	f.Add("A=1", "\rB", "")
	f.Fuzz(func(t *testing.T, text, name, value string) {
		before, _, _ := parse([]byte(text))
		got, err := Set([]byte(text), name, value)
		if err != nil {
			return
		}
		after, _, err := parse(got)
		before[name] = value
		if err != nil || !maps.Equal(before, after) {
			t.Errorf("got %q, %v", got, err)
		}
	})
}
