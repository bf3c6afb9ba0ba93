package native

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

func TestPointer(t *testing.T) {
	const text = `{"a":{"b":[1,{"c/d~":"x"},null]},"":0}`
	for _, c := range []struct{ pointer, part, err string }{
		{"", text, ""},
		{"/", `0`, ""},
		{"/a/b/0", `1`, ""},
		{"/a/b/1/c~1d~0", `"x"`, ""},
		{"/a/b/2", `null`, ""},
		{"/a/b/01", `[1,{"c/d~":"x"},null]`, `the answer has no "01" at "/a/b"`},
		{"/a/b/-", `[1,{"c/d~":"x"},null]`, `the answer has no "-" at "/a/b"`},
		{"/a/b/3", `[1,{"c/d~":"x"},null]`, `the answer has no "3" at "/a/b"`},
		{"/a/b/2/x", `null`, `the answer has no "x" at "/a/b/2"`},
		{"/x/y", text, `the answer has no "x" at "/"`},
		{"/a/b/0/x", `1`, `the answer has no "x" at "/a/b/0"`},
		{"a", "", "is not a JSON Pointer"},
		{"/a~", "", "is not a JSON Pointer"},
		{"/a~2", "", "is not a JSON Pointer"},
		{"/a~~01", "", "is not a JSON Pointer"},
	} {
		p, err := ParsePointer(c.pointer)
		part := []byte(nil)
		if err == nil {
			part, err = p.Select("the answer", []byte(text))
		}
		if string(part) != c.part || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %s, %v", c.pointer, part, err)
		}
	}
}

// TestPointerRule holds the rule that toolformat keeps too.
func TestPointerRule(t *testing.T) {
	table, err := os.ReadFile("../../../testdata/rules/pointer.txt")
	if err != nil {
		t.Fatal(err)
	}
	document, cases, _ := strings.Cut(string(table), "\n")
	for line := range strings.Lines(cases) {
		quoted, err := strconv.QuotedPrefix(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		pointer, _ := strconv.Unquote(quoted)
		want := strings.TrimSpace(line[len(quoted):])
		p, err := ParsePointer(pointer)
		if strings.HasPrefix(pointer, "#") {
			p, _ = ParseReference(pointer)
			err = nil
		}
		if err != nil {
			t.Fatal(err)
		}
		got := "-"
		if part, err := p.Select("the document", []byte(document)); err == nil {
			got = string(part)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// FuzzPointer: what a pointer selects is a part of the value, and valid.
func FuzzPointer(f *testing.F) {
	f.Add("/a/0/b", `{"a":[{"b":1}]}`)
	f.Add("/~0~1", `{"~/":" "}`)
	f.Fuzz(func(t *testing.T, pointer, text string) {
		value := bytes.TrimSpace([]byte(text))
		p, err := ParsePointer(pointer)
		if err != nil || wire.Valid(value) != nil {
			return
		}
		if part, _ := p.Select("it", value); wire.Valid(bytes.Clone(part)) != nil || !bytes.Contains(value, part) {
			t.Fatalf("%s of %s: %s", pointer, value, part)
		}
	})
}

func TestSuggest(t *testing.T) {
	known := map[string]int{"limit": 1, "limits": 1, "customerId": 1, strings.Repeat("x", 50): 1}
	for name, want := range map[string]string{
		"limt": "limit", "limitz": "limit} or {limits", "CUSTOMERID": "customerId", "custmerid": "customerId", "offset": "", "": "",
		strings.Repeat("x", 51): strings.Repeat("x", 40) + "…",
	} {
		if want != "" {
			want = " (did you mean {" + want + "}?)"
		}
		if got := Suggest("{%s}", name, known); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestReference(t *testing.T) {
	for ref, want := range map[string]string{
		"#": "[]", "#/": "[]", "#/$defs/a%20b": "[$defs a b]", "#/a~1b/~0": "[a/b ~]", "#/paths/~1a~1%7Bid%7D/get": "[paths /a/{id} get]", "#/100%": "[100%]",
		"": "none", "#a": "none", "other.json#/a": "none", "https://example.com/#/a": "none",
	} {
		p, ok := ParseReference(ref)
		got := fmt.Sprint([]string(p))
		if !ok {
			got = "none"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", ref, got, want)
		}
	}
}
