package tree

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

func parse(t testing.TB, data string) *Node {
	t.Helper()
	n, err := Parse([]byte(data))
	if err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return n
}

// TestParseKeeps verifies that JSON is written as it was read, without white space between tokens.
func TestParseKeeps(t *testing.T) {
	for in, want := range map[string]string{
		`{"b":1.0e2,"a":[null,true,false,-0]}`:      `{"b":1.0e2,"a":[null,true,false,-0]}`,
		" { \"x\" : \"\\u0041\\/ü\" ,\n\"y\":[ ] }": `{"x":"\u0041\/ü","y":[]}`,
		`9223372036854775807123456789`:              `9223372036854775807123456789`,
		`{"\u0061":1,"<&>":2}`:                      `{"a":1,"<&>":2}`,
		`""`:                                        `""`,
	} {
		if got := string(parse(t, in).JSON()); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
	n := parse(t, ` {"a": [1, 22] }`)
	if item := n.Find("a", "1"); n.Start != 1 || n.End != 16 || item.Start != 11 || item.End != 13 {
		t.Errorf("%+v, item %+v", n, item)
	}
}

func TestParseRefuses(t *testing.T) {
	long := `{"k0":0`
	for i := 1; i < 40; i++ {
		long += fmt.Sprintf(`,"k%d":0`, i)
	}
	for in, want := range map[string]string{
		``:                       "0: unexpected end of input, expected a JSON value",
		`{`:                      "1: unexpected end of input in an object, expected a key in quotes",
		`{"a"`:                   "4: unexpected end of input after a key, expected ':'",
		`{"a":1 "b"}`:            `7: unexpected '"' in an object, expected ',' or '}'`,
		`{"a":1,}`:               "7: unexpected '}' in an object, expected a key in quotes",
		`{a:1}`:                  "1: unexpected 'a' in an object, expected a key in quotes",
		`[1 2]`:                  "3: unexpected '2' in an array, expected ',' or ']'",
		`[1,]`:                   "3: unexpected ']', expected a JSON value",
		`"a`:                     "2: unexpected end of input in a string",
		`"\x"`:                   `0: "\"\\x\"" is not a string`,
		"\"\xff\"":               `0: "\"\xff\"" is not a string`,
		"\"\n\"":                 `0: "\"\n\"" is not a string`,
		`tru`:                    `0: "tru" is not a JSON value`,
		`01`:                     `0: "01" is not a JSON value`,
		`1.`:                     `0: "1." is not a JSON value`,
		`NaN`:                    "0: unexpected 'N', expected a JSON value",
		`1 2`:                    "2: unexpected '2' after the value",
		`{"a":1,"\u0061":2}`:     `7: duplicate key "a" in an object`,
		long + `,"k7":0}`:        fmt.Sprintf(`%d: duplicate key "k7" in an object`, len(long)+1),
		strings.Repeat("[", 600): "501: nested deeper than 500 levels",
	} {
		_, err := Parse([]byte(in))
		var syntax *SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%.40s: %v", in, err)
		} else if got := fmt.Sprintf("%d: %s", syntax.Offset, syntax.Message); got != want || err.Error() != syntax.Message {
			t.Errorf("%.40s: got %s, want %s", in, got, want)
		}
	}
}

func TestParseAll(t *testing.T) {
	var got []string
	for n, err := range ParseAll([]byte(" {} \n[1]2 {\"a\"} 3")) {
		if err != nil {
			got = append(got, err.Message)
		} else {
			got = append(got, string(n.JSON()))
		}
	}
	if want := []string{"{}", "[1]", "2", "unexpected '}' after a key, expected ':'"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	for n := range ParseAll([]byte("1 2 3")) {
		if n.Raw == "2" {
			break
		}
	}
}

// TestReadNil verifies that the methods that read a node work on nil.
func TestReadNil(t *testing.T) {
	var n *Node
	if n.Is(Null) || n.Get("a") != nil || n.Has("a") || n.HasAny("a") || n.Text() != "" || n.IsBool(false) || n.List() != nil || n.Texts() != nil || n.Find("a") != nil || n.Slot("a") != nil || n.Clone() != nil {
		t.Error("nil is a value")
	}
	if !n.Equal(nil) || n.Equal(NewArray()) || NewArray().Equal(n) {
		t.Error("nil equals only nil")
	}
}

func TestReading(t *testing.T) {
	n := parse(t, `{"t":"a\nb","y":true,"f":false,"z":null,"l":["a",1,"b"],"o":{"a":{}}}`)
	if n.Get("t").Text() != "a\nb" || !n.Get("y").IsBool(true) || !n.Get("f").IsBool(false) || n.Get("z").IsBool(false) || n.Get("t").IsBool(false) {
		t.Error("scalars")
	}
	if !n.Has("f") || n.Has("z") || n.Has("none") || !n.HasAny("none", "z") || n.HasAny("none") || n.HasAny() {
		t.Error("members")
	}
	if !slices.Equal(n.Get("l").Texts(), []string{"a", "b"}) || len(n.Get("l").List()) != 3 || n.Get("t").Texts() != nil {
		t.Error("lists")
	}
	if values, levels := n.Size(); values != 11 || levels != 3 {
		t.Errorf("%d values, %d levels", values, levels)
	}
	for kind, want := range []string{"null", "a boolean", "a number", "a string", "an array", "an object"} {
		if got := Kind(kind).String(); got != want {
			t.Errorf("kind %d is %s", kind, got)
		}
	}
}

func TestEditing(t *testing.T) {
	n := parse(t, `{"a":1,"b":2,"c":3}`)
	before := n.Clone()
	n.Set("b", NewText("x"))
	n.Set("d", NewArray(NewBool(true), NewBool(false)))
	n.Rename("c", "e")
	n.Rename("none", "f")
	if removed := n.Remove("a"); removed.Raw != "1" || n.Remove("a") != nil {
		t.Errorf("removed %v", removed)
	}
	*n.Find("d").Slot("0") = NewObject(NewMember("k", NewText("<v>")))
	if got := string(n.JSON()); got != `{"b":"x","e":3,"d":[{"k":"<v>"},false]}` {
		t.Error(got)
	}
	if got := string(before.JSON()); got != `{"a":1,"b":2,"c":3}` {
		t.Errorf("the copy became %s", got)
	}
}

func TestEqual(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":[2]}`, `{"b":[2.0],"a":1e0}`, true},
		{`"\u0041"`, `"A"`, true},
		{`100`, `1e2`, true},
		{`-0`, `0`, true},
		{`0.1`, `1e-1`, true},
		{`9007199254740993`, `9007199254740992`, false},
		{`1e999999999`, `1e999999999`, true}, // the same spelling
		{`1e999999999`, `10e999999998`, false},
		{`[1,2]`, `[2,1]`, false},
		{`[1]`, `[1,1]`, false},
		{`{"a":1}`, `{"a":1,"b":1}`, false},
		{`{"a":1}`, `{"b":1}`, false},
		{`1`, `"1"`, false},
		{`true`, `false`, false},
		{`null`, `null`, true},
		{`{}`, `[]`, false},
	} {
		a, b := parse(t, c.a), parse(t, c.b)
		if a.Equal(b) != c.want || b.Equal(a) != c.want {
			t.Errorf("%s and %s", c.a, c.b)
		}
	}
}

func TestNumbers(t *testing.T) {
	for raw, want := range map[string]struct{ integer, bounded bool }{
		"12": {true, true}, "12.0": {true, true}, "1.5e1": {true, true}, "1.5": {false, true}, "1e-1": {false, true}, "0e0": {true, true},
		"1e400": {true, true}, "1e401": {false, false}, "1E-401": {false, false}, "1e99999999999999999999": {false, false},
		strings.Repeat("1", 1000): {true, true}, strings.Repeat("1", 1001): {true, false},
	} {
		if got := IsInteger(raw); got != want.integer {
			t.Errorf("%.20s is an integer: %v", raw, got)
		}
		if err := BoundNumber(raw); (err == nil) != want.bounded {
			t.Errorf("%.20s: %v", raw, err)
		}
	}
}

// TestPointers verifies RFC 6901 with the table that every reader of JSON Pointers has to pass.
func TestPointers(t *testing.T) {
	data, err := os.ReadFile("../../../testdata/pointer/pointers.json")
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		Document json.RawMessage
		Cases    []struct {
			Pointer, Fragment string
			Keys              []string
			Value             json.RawMessage
		}
	}
	if err := json.Unmarshal(data, &table); err != nil {
		t.Fatal(err)
	}
	document := parse(t, string(table.Document))
	var index Index
	for _, c := range table.Cases {
		if got := ParsePointer(c.Pointer); !slices.Equal(got, c.Keys) {
			t.Errorf("%s: keys %q", c.Pointer, got)
		}
		var at *Path
		for _, key := range c.Keys {
			at = at.At(key)
		}
		if at.String() != c.Pointer || at.Fragment() != c.Fragment || !slices.Equal(at.Keys(nil), c.Keys) {
			t.Errorf("%s: path %s, fragment %s, keys %q", c.Pointer, at, at.Fragment(), at.Keys(nil))
		}
		want := (*Node)(nil)
		if c.Value != nil {
			want = parse(t, string(c.Value))
		}
		if got := document.Find(c.Keys...); !got.Equal(want) {
			t.Errorf("%s leads to %v", c.Pointer, got)
		}
		if got := index.Find(document, c.Keys...); !got.Equal(want) {
			t.Errorf("%s leads to %v by the index", c.Pointer, got)
		}
	}
	if ParsePointer("") != nil && len(ParsePointer("")) > 0 || (*Path)(nil).String() != "" || (*Path)(nil).Fragment() != "#" {
		t.Error("the document")
	}
	if got := At("a").At("b").At("c").Keys(At("x")); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("keys from a place that is not above: %q", got)
	}
}

// TestIndex verifies that an Index finds the members of a large object.
func TestIndex(t *testing.T) {
	n := NewObject()
	for i := range 100 {
		n.Members = append(n.Members, NewMember(fmt.Sprint("k", i), NewArray(NewObject(NewMember("i", NewText(fmt.Sprint(i)))))))
	}
	var index Index
	for i := range 100 {
		for range 2 {
			if got := index.Find(n, fmt.Sprint("k", i), "0", "i").Text(); got != fmt.Sprint(i) {
				t.Fatalf("%d: %s", i, got)
			}
		}
	}
	if index.Find(n, "none") != nil || index.Find(nil, "k1") != nil || index.Find(n) != n {
		t.Error("no such member")
	}
}

func TestShort(t *testing.T) {
	if got := parse(t, ` [ 1 , 2 ] `).Short(); got != `[1,2]` {
		t.Error(got)
	}
	if got := NewText(strings.Repeat("ü", 40)).Short(); got != `"`+strings.Repeat("ü", 29)+"…" {
		t.Error(got)
	}
}

// FuzzParse verifies that encoding/json reads the same value.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.50,"\u00fc\n"],"b":{"c":null}}`, `[[[]]]`, `"\ud800"`, "1e5", "{}x"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := Parse(data)
		if err != nil {
			return
		}
		if !json.Valid(data) {
			t.Fatalf("%q is not JSON", data)
		}
		var compact, again any
		if json.Unmarshal(data, &compact) != nil || json.Unmarshal(n.JSON(), &again) != nil {
			return // a number that no float holds
		}
		if fmt.Sprint(compact) != fmt.Sprint(again) {
			t.Fatalf("%s became %s", data, n.JSON())
		}
		if back, err := Parse(n.JSON()); err != nil || !back.Equal(n) || !n.Clone().Equal(n) {
			t.Fatalf("%s became %s: %v", data, n.JSON(), err)
		}
	})
}
