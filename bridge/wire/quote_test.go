package wire

import (
	"bytes"
	"strings"
	"testing"
)

// FuzzAppendQuoted: it says what Valid says of JSON on one line, and appends what
// AppendString appends.
func FuzzAppendQuoted(f *testing.F) {
	for _, seed := range []string{
		``, ` `, `7`, `"a"`, `"`, `null`, ` [] `, `{}`, `[1,"a",{"b":[true,null,-1.5e3]}]`, `{"a" : "b" , "c" : [ ]}`,
		`{"a":"\"\\\/\b\u00e9"}`, `["\"","\\","\\\""]`, `["\x"]`, `["\u12"]`, `["é漢😀"]`, "[\"\xff\"]", "[\"\x01\"]", "[\n1]", "[1,\t2]", "[1]\r",
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
		got, ok := AppendQuoted([]byte("x"), raw)
		if !bytes.Equal(raw, before) {
			t.Fatalf("%q has become %q", before, raw)
		}
		want := []byte("x")
		oneLine := !bytes.ContainsAny(raw, "\n\r\t") && Valid(bytes.Clone(raw)) == nil
		if oneLine {
			want = AppendString(want, raw)
		}
		if ok != oneLine || !bytes.Equal(got, want) {
			t.Fatalf("%q: %q, %v, want %q, %v", raw, got, ok, want, oneLine)
		}
		roomy, ok := AppendQuoted(append(make([]byte, 0, 2*len(raw)+64), 'x'), raw)
		if ok != oneLine || !bytes.Equal(roomy, want) {
			t.Fatalf("%q with room: %q, %v, want %q, %v", raw, roomy, ok, want, oneLine)
		}
	})
}
