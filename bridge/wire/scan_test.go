package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestValid(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	mixed := strings.Repeat(`{"a":[`, MaxDepth/2) + strings.Repeat("]}", MaxDepth/2)
	for _, test := range []struct{ in, want string }{
		{`{"a":[1,-0.5e+3,true,false,null,"x",{}, [ ] ]}`, ""},
		{"\n{ \"a\"\r\n:\t1 }\n", ""},
		{`"` + strings.Repeat("0123456789", 20) + `"`, ""},
		{`"\ud800 \u00E9 é 漢字 😀 \"\\\/\b\f\n\r\t"`, ""},
		{nested(MaxDepth), ""},
		{mixed, ""},
		{nested(MaxDepth + 1), faultDepth},
		{strings.Repeat(`{"a":`, MaxDepth+1), faultDepth},
		{"", faultValue}, {" ", faultValue}, {"\uFEFF{}", faultValue}, {"nul", faultValue}, {"[1,]", faultValue},
		{"{} {}", faultTrailing}, {"{}]", faultTrailing}, {"1x", faultTrailing}, {"truee", faultTrailing},
		{"\x00{}", faultValue + " instead of NUL"}, {"{\x00\"\x00}\x00", faultKey + " instead of NUL (is it UTF-16?) at byte 1"},
		{"\xff\xfe{\x00}\x00", faultValue + " instead of the byte order mark of UTF-16"}, {"\xfe\xff\x00{", "of UTF-16 (UTF-8 is needed) at byte 0"}, {"\xff", faultValue + " at byte 0"},
		{"{}\x00", faultTrailing + " at byte 2"}, {"-\x00", faultNumber + " at byte 1"},
		{`{"a" 1}`, faultColon}, {`{1:1}`, faultKey}, {`{"a":1,}`, faultKey}, {`{`, faultKey},
		{`[1 2]`, faultNext}, {`[1}`, faultNext}, {`{"a":1]`, faultNext}, {`[[]`, faultNext}, {`[}`, faultValue},
		{"01", faultTrailing}, {"[-01]", faultNext}, {"-", faultNumber}, {"1.", faultNumber}, {"1e", faultNumber}, {"1e+", faultNumber}, {"[-a]", faultNumber},
		{`"abc`, faultString}, {`"abcdefghijklmnop`, faultString}, {`"abc\`, faultEscape}, {`"\x"`, faultEscape},
		{`"\u12g4"`, faultEscape}, {`"\u12`, faultEscape}, {"\"a\nb\"", faultControl}, {"\"\x00\"", faultControl}, {"\"\x1f\"", faultControl},
		{"\"\x7f\"", ""}, {"\"abcdefgh\xff\"", faultUTF8}, {"\"\xed\xa0\x80\"", faultUTF8}, {"\"\xc0\x80\"", faultUTF8}, {"\"\xe2\x82\"", faultUTF8},
	} {
		err := Valid([]byte(test.in))
		var e *Error
		switch {
		case err == nil && test.want == "":
		case !errors.As(err, &e) || e.Code != ParseError || test.want == "" || !strings.Contains(e.Message, test.want):
			t.Errorf("Valid(%.40q): %v, want %q", test.in, err, test.want)
		}
	}
}

// TestPlain compares plain and stops with special, for each byte at each place of some blocks.
func TestPlain(t *testing.T) {
	for size := range 200 {
		for from := range min(size, 20) + 1 {
			b := bytes.Repeat([]byte("x"), size)
			for i := from; i < size; i += 1 + i%5 {
				for c := range 256 {
					b[i] = byte(c)
					stop := size
					if special(uint64(c)|uint64(0x78787878787878)<<8) != 0 {
						stop = i
					}
					if at := i % 64; size-i+at >= 64 {
						if bits := stops((*[64]byte)(b[i-at:])); bits != 1<<at && stop == i || bits != 0 && stop == size {
							t.Fatalf("stops of %d bytes with %#x at %d: %#x", size, c, i, bits)
						}
					}
					if end := plain(b, from); end < max(from, stop-31) || end > stop {
						t.Fatalf("plain of %d bytes from %d with %#x at %d: %d", size, from, c, i, end)
					}
				}
				b[i] = 'x'
			}
		}
	}
}

func TestValidBlanksLineBreaks(t *testing.T) {
	raw := []byte("\r\n{\n\"a\\n\" :\r[1,\n2\n]\n,\n\"b\":\n{\r}\n}\r\n")
	want := `  { "a\n" : [1, 2 ] , "b": { } }  `
	if err := Valid(raw); err != nil || string(raw) != want {
		t.Errorf("%q, %v, want %q", raw, err, want)
	}
}

// depth is the deepest nesting of valid JSON.
func depth(raw []byte) int {
	d := json.NewDecoder(bytes.NewReader(raw))
	deepest, now := 0, 0
	for {
		token, err := d.Token()
		if err != nil {
			return deepest
		}
		switch token {
		case json.Delim('['), json.Delim('{'):
			now++
			deepest = max(deepest, now)
		case json.Delim(']'), json.Delim('}'):
			now--
		}
	}
}

func FuzzValid(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-0.5e+3,true,false,null,"x",{}, [ ] ]}`, `"\ud800\u00e9 é 漢字 😀 \"\\\/\b\f\n\r\t"`, "[\n{\"a\"\r:\n0}]\n",
		`"0123456789 0123456789 0123456789 0123456789 0123456789"`, `[[[[[[[[1]]]]]]],{"":{"":{}}}]`, "\"aaaaaaa\x7f\xc3\xa9\"", "1e5", "-0",
		strings.Repeat("[", 513) + strings.Repeat("]", 513), strings.Repeat("[", 512) + strings.Repeat("]", 512),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		want := json.Valid(raw) && utf8.Valid(raw) && depth(raw) <= MaxDepth
		if err := Valid(raw); (err == nil) != want {
			t.Fatalf("Valid(%q): %v, want %v", before, err, want)
		}
		if !want {
			return
		}
		if bytes.ContainsAny(raw, "\n\r") {
			t.Fatalf("line breaks left in %q", raw)
		}
		for i := range raw {
			if raw[i] != before[i] && (raw[i] != ' ' || before[i] != '\n' && before[i] != '\r') {
				t.Fatalf("%q became %q", before, raw)
			}
		}
		checkIteration(t, raw)
	})
}

// checkIteration compares the iterators with what encoding/json finds.
func checkIteration(t *testing.T, raw []byte) {
	t.Helper()
	var elements []json.RawMessage
	json.Unmarshal(raw, &elements)
	n := 0
	for e := range Elements(raw) {
		if n >= len(elements) || !bytes.Equal(e, elements[n]) {
			t.Fatalf("element %d of %q: %q", n, raw, e)
		}
		n++
	}
	if n != len(elements) {
		t.Fatalf("%d elements of %q, want %d", n, raw, len(elements))
	}
	want := members(raw)
	n = 0
	for key, value := range Members(raw) {
		if n >= len(want) || key != want[n].key || string(value) != string(want[n].value) {
			t.Fatalf("member %d of %q: %q %q", n, raw, key, value)
		}
		n++
	}
	if n != len(want) {
		t.Fatalf("%d members of %q, want %d", n, raw, len(want))
	}
	var s string
	if got, ok := Text(bytes.TrimSpace(raw)); ok && json.Unmarshal(raw, &s) == nil && got != s {
		t.Fatalf("text of %q: %q, want %q", raw, got, s)
	}
}

type pair struct {
	key   string
	value json.RawMessage
}

// members are the members of an object by encoding/json; nil when raw is not an object.
func members(raw []byte) (all []pair) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return nil
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil
		}
		p := pair{key: key.(string)}
		if d.Decode(&p.value) != nil {
			return nil
		}
		all = append(all, p)
	}
	return all
}

func FuzzIterateAnything(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":2}]`))
	f.Add([]byte(`[1,"\u12`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		for range Elements(raw) {
		}
		for range Members(raw) {
		}
		Lookup(raw, "a", "b")
		for key := range Members(raw) {
			if Lookup(raw, key) == nil {
				t.Fatalf("%q: no member %q", raw, key)
			}
		}
		if !bytes.Equal(raw, before) {
			t.Fatalf("%q became %q", before, raw)
		}
	})
}

// Another value than an object counts as an empty one, where a member is added or removed.
func TestMembersOfOthers(t *testing.T) {
	for _, raw := range []string{"", "[]", "[ 1 ]", "5", "null", `"{}"`} {
		if got := string(SetMember([]byte(raw), "a", []byte("1"))); got != `{"a":1}` {
			t.Errorf("%s with a member is %s", raw, got)
		}
		if got := string(CutMember([]byte(raw), "a")); got != "{}" {
			t.Errorf("%s without a member is %s", raw, got)
		}
	}
	if got := string(SetMember([]byte(" { } "), "a", []byte("1"))); got != ` {"a":1 } ` {
		t.Errorf("an object with a blank is %q", got)
	}
}

func TestLookup(t *testing.T) {
	object := []byte(`{"a":1, "b" : {"c" : [1, 2] , "\u0063":"last"},"d":null}`)
	for _, test := range []struct {
		path []string
		want string
	}{
		{nil, string(object)},
		{[]string{"a"}, "1"},
		{[]string{"b", "c"}, `"last"`},
		{[]string{"d"}, "null"},
		{[]string{"d", "e"}, ""},
		{[]string{"a", "c"}, ""},
		{[]string{"x", "c"}, ""},
	} {
		if got := string(Lookup(object, test.path...)); got != test.want {
			t.Errorf("%q: %q, want %q", test.path, got, test.want)
		}
	}
	for _, test := range []struct{ name, member string }{
		{"task", `"\u0074ask"`},
		{"task", `"tas\u006B"`},
		{"a/b", `"a\/b"`},
		{`a"b`, `"a\"b"`},
		{`a\b`, `"a\\b"`},
		{"a\tb", `"a\tb"`},
	} {
		if got := string(Lookup([]byte("{"+test.member+":1}"), test.name)); got != "1" {
			t.Errorf("%q is not found as %s", test.name, test.member)
		}
	}
}
