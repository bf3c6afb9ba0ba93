package tree

import (
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestPointer(t *testing.T) {
	table, err := os.ReadFile("../../../testdata/rules/pointer.txt")
	if err != nil {
		t.Fatal(err)
	}
	text, cases, _ := strings.Cut(string(table), "\n")
	document, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(cases) {
		quoted, err := strconv.QuotedPrefix(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		pointer, _ := strconv.Unquote(quoted)
		want := strings.TrimSpace(line[len(quoted):])
		if fragment, ok := strings.CutPrefix(pointer, "#"); ok {
			if pointer, err = url.PathUnescape(fragment); err != nil {
				t.Fatal(err)
			}
		}
		got, found := "-", document
		if pointer != "" {
			found = document.Find(ParsePointer(pointer)...)
		}
		if found != nil {
			got = string(found.JSON())
		}
		if got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}
