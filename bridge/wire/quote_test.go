package wire

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// FuzzAppendQuoted: it says what Valid says of JSON on one line, and appends what
// AppendString appends.
func FuzzAppendQuoted(f *testing.F) {
	for _, seed := range []string{
		``, ` `, `7`, `"a"`, `"`, `null`, ` [] `, `{}`, `[1,"a",{"b":[true,null,-1.5e3]}]`, `{"a" : "b" , "c" : [ ]}`,
		`{"a":"\"\\\/\b\u00e9"}`, `["\"","\\","\\\""]`, `["\x"]`, `["\u12"]`, `["é漢😀"]`, "[\"\xff\"]", "[\"\x01\"]", "[\n1]", "[1,\t2]", "[1]\r",
		"{\"a\":[]} \r\n\t ", "[1]\nx", "[1\n]", "\n[1]", "[\n", "7\n", "\"a\"\n",
		`["a]`, `["a",]`, `{"a"}`, `{"a":1,}`, `{"a":1]`, `[1]x`, `[1][2]`, `{1:2}`,
		strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth), strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1),
	} {
		f.Add([]byte(seed))
	}
	for n := range 20 { // each place in a word
		x := strings.Repeat("x", n)
		f.Add([]byte(`["` + x + `"]`))
		f.Add([]byte(`{"` + x + `":"` + x + `é\"` + x + `",` + strings.Repeat(" ", n) + `"` + x + `\\":` + strings.Repeat("1", n+1) + `}`))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		got, begin, end, ok := AppendQuoted([]byte("x"), raw)
		if !bytes.Equal(raw, before) {
			t.Fatalf("%q has become %q", before, raw)
		}
		want := []byte("x")
		body := raw
		if c := bytes.TrimLeft(raw, " "); len(c) > 0 && (c[0] == '{' || c[0] == '[') {
			body = bytes.TrimRight(raw, " \t\r\n")
		}
		oneLine := !bytes.ContainsAny(body, "\n\r\t") && Valid(bytes.Clone(raw)) == nil
		if oneLine {
			want = AppendString(want, raw)
		}
		if ok && string(raw[begin:end]) != string(body) {
			t.Fatalf("%q: the value is %q, want %q", raw, raw[begin:end], body)
		}
		if ok != oneLine || !bytes.Equal(got, want) {
			t.Fatalf("%q: %q, %v, want %q, %v", raw, got, ok, want, oneLine)
		}
		roomy, _, _, ok := AppendQuoted(append(make([]byte, 0, 2*len(raw)+64), 'x'), raw)
		if ok != oneLine || !bytes.Equal(roomy, want) {
			t.Fatalf("%q with room: %q, %v, want %q, %v", raw, roomy, ok, want, oneLine)
		}
	})
}

// FuzzAppendQuotedPath: it appends what AppendString appends of what Lookup finds, and only of JSON.
func FuzzAppendQuotedPath(f *testing.F) {
	deep := strings.Repeat(`{"a":`, MaxDepth-1)
	for _, seed := range []string{
		``, `1`, `[]`, `{}`, `{"a":{}}`, `{"a":[1,"x\"é"]}`, ` { "a" : { "b" : [ ] , "c" : 1 } , "d" : "e" } `, `{"b":{"a":{"b":1}},"a":{"b":{"c":"d"}}}`,
		`{"a":{"b":{}},"a":{"b":[]}}`, `{"a":{"b":{},"b":{}}}`, `{"\u0061":{"\u0062":["x"]}}`, `{"a":{"b":"c"}}`, `{"a":null}`, `{"a":[]}x`, `{"a":{"b":[]}`,
		`{"a":{"b":[]},}`, `{"a":{"b":[]} "c":1}`, `{"a" {"b":[]}}`, `{a:{}}`, `{"a":{"b":[1,]}}`, `{"a":{"b":{}},"c":tru}`, "{\"a\":\n{\"b\":[]}}",
		deep + `[]` + strings.Repeat("}", MaxDepth-1), deep + `[[]]` + strings.Repeat("}", MaxDepth-1), `{"a":{"b":` + deep + `{}` + strings.Repeat("}", MaxDepth+1),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		oneLine := !bytes.ContainsAny(raw, "\n\r\t") && Valid(bytes.Clone(raw)) == nil
		for _, path := range [][]string{{"a"}, {"a", "b"}, slices.Repeat([]string{"a"}, MaxDepth-1)} {
			dst, begin, end, ok := AppendQuoted([]byte("x"), raw, path...)
			if !bytes.Equal(raw, before) {
				t.Fatalf("%q has become %q", before, raw)
			}
			var want []byte
			if oneLine {
				want = Lookup(bytes.TrimLeft(raw, " "), path...)
			}
			isContainer := len(want) > 0 && (want[0] == '{' || want[0] == '[')
			switch {
			case !ok:
				if string(dst) != "x" {
					t.Fatalf("%q at %q: refused, and appended %q", raw, path, dst)
				}
				if isContainer && isSingle(raw, path) {
					t.Fatalf("%q at %q: refused", raw, path)
				}
			case !isContainer || string(raw[begin:end]) != strings.TrimRight(string(want), " ") || string(dst) != string(AppendString([]byte("x"), raw[begin:end])):
				t.Fatalf("%q at %q: %q of %q, want %q", raw, path, dst, raw[begin:end], want)
			}
		}
	})
}

// isSingle reports whether no key of a path occurs twice on the way.
func isSingle(object []byte, path []string) bool {
	for _, name := range path {
		n := 0
		for key := range Members(object) {
			if key == name {
				n++
			}
		}
		if n != 1 {
			return false
		}
		object = Lookup(object, name)
	}
	return true
}
