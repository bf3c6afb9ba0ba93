package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"testing"
)

func TestAppendEdits(t *testing.T) {
	raw := func(s string) []byte { return []byte(s) }
	for _, test := range []struct {
		in    string
		edits []Edit
		want  string
	}{
		{``, nil, `{}`},
		{``, []Edit{{Key: Name, Value: nil}, {Key: MetaLogLevel, Value: nil}}, `{}`},
		{``, []Edit{{Key: Name, Value: raw(`"a"`)}, {Key: MetaProgressToken, Value: raw(`1`)}}, `{"name":"a","_meta":{"progressToken":1}}`},
		{`{ }`, []Edit{{Key: Name, Value: raw(`"a"`)}}, `{ "name":"a"}`},
		{`{"name" : "a" , "x":1 }`, []Edit{{Key: Name, Value: raw(`"b"`)}}, `{"name" : "b" , "x":1 }`},
		{`{"name" : "a" , "x":1 }`, []Edit{{Key: Name, Value: nil}}, `{"x":1 }`},
		{`{"x":1 , "name" : "a" }`, []Edit{{Key: Name, Value: nil}}, `{"x":1 }`},
		{`{"x":1,"uri":2,"name":"a"}`, []Edit{{Key: Name, Value: nil}, {Key: URI, Value: nil}}, `{"x":1}`},
		{`{"uri":2,"name":"a"}`, []Edit{{Key: Name, Value: nil}, {Key: URI, Value: nil}}, `{}`},
		{`{"uri":2,"name":"a"}`, []Edit{{Key: Name, Value: nil}, {Key: URI, Value: nil}, {Key: Cursor, Value: raw(`"c"`)}}, `{"cursor":"c"}`},
		{`{"x":1 }`, []Edit{{Key: Cursor, Value: raw(`"c"`)}, {Key: Cursor, Value: raw(`"d"`)}}, `{"x":1 ,"cursor":"d"}`},
		{`{"n\u0061me":"a"}`, []Edit{{Key: Name, Value: raw(`"b"`)}}, `{"n\u0061me":"b"}`},
		{`{"_meta":{"x":1},"a":1}`, []Edit{{Key: MetaProgressToken, Value: raw(`5`)}}, `{"_meta":{"x":1,"progressToken":5},"a":1}`},
		{`{"_meta":{"progressToken":1},"a":1}`, []Edit{{Key: MetaProgressToken, Value: nil}}, `{"_meta":{},"a":1}`},
		{`{"_meta":{"progressToken":1,"io.modelcontextprotocol/logLevel":"x"},"name":1}`,
			[]Edit{{Key: Name, Value: raw(`2`)}, {Key: MetaProgressToken, Value: raw(`7`)}, {Key: MetaLogLevel, Value: nil}}, `{"_meta":{"progressToken":7},"name":2}`},
		{`{"_meta":null}`, []Edit{{Key: MetaProgressToken, Value: nil}}, `{"_meta":null}`},
		{`{"_meta":null}`, []Edit{{Key: MetaProgressToken, Value: raw(`1`)}}, `{"_meta":{"progressToken":1}}`},
		{`{"_meta":{"x":1}}`, []Edit{{Key: Meta, Value: nil}}, `{}`},
		{`{"_meta":{"x":1}}`, []Edit{{Key: Meta, Value: nil}, {Key: MetaProgressToken, Value: raw(`1`)}}, `{"_meta":{"progressToken":1}}`},
		{`{"_meta":{"x":1}}`, []Edit{{Key: Meta, Value: raw(` {"y":2}`)}}, `{"_meta":{"y":2}}`},
		{`{"_meta":{"x":1}}`, []Edit{{Key: Meta, Value: raw(`[1]`)}, {Key: MetaProgressToken, Value: nil}}, `{"_meta":[1]}`},
		{`{"_meta":{"x":1}}`, []Edit{{Key: Meta, Value: raw(`{"progressToken":1}`)}, {Key: MetaProgressToken, Value: nil}}, `{"_meta":{}}`},
		{`{"_meta":{"x":1}}`, []Edit{{Key: Meta, Value: raw(` {"y":2}`)}, {Key: MetaProgressToken, Value: raw(`1`)}}, `{"_meta":{"y":2,"progressToken":1}}`},
		{`{}`, []Edit{{Key: Meta, Value: raw(`{"progressToken":2}`)}, {Key: MetaProgressToken, Value: raw(`1`)}}, `{"_meta":{"progressToken":1}}`},
		{`{"arguments":{"a":1 } ,"x":1}`, []Edit{{Key: Arguments, Add: true, Value: raw(`"b":2,"c":3`)}}, `{"arguments":{"a":1 ,"b":2,"c":3} ,"x":1}`},
		{`{"arguments":{ }}`, []Edit{{Key: Arguments, Add: true, Value: raw(`"b":2`)}, {Key: Arguments, Add: true}, {Key: Arguments, Add: true, Value: raw(`"c":3`)}}, `{"arguments":{ "b":2,"c":3}}`},
		{`{"arguments":null}`, []Edit{{Key: Arguments, Add: true, Value: raw(`"b":2`)}}, `{"arguments":{"b":2}}`},
		{`{}`, []Edit{{Key: Arguments, Add: true, Value: raw(`"b":2`)}, {Key: Name, Value: raw(`"n"`)}}, `{"name":"n","arguments":{"b":2}}`},
		{``, []Edit{{Key: Arguments, Value: raw(` {"a":1}`)}, {Key: Arguments, Add: true, Value: raw(`"b":2`)}}, `{"arguments":{"a":1,"b":2}}`},
		{`{"arguments":{"a":1}}`, []Edit{{Key: Arguments, Add: true, Value: raw(`"b":2`)}, {Key: Arguments, Value: raw(`{}`)}}, `{"arguments":{}}`},
		{`{"progressToken":1,"_meta":{"progressToken":2}}`, []Edit{{Key: ProgressToken, Value: raw(`3`)}}, `{"progressToken":3,"_meta":{"progressToken":2}}`},
	} {
		p, err := SplitParams(raw(test.in))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(p.Append([]byte("{ "), test.edits...)); got != "{ "+test.want {
			t.Errorf("%s with %v: %s, want %s", test.in, test.edits, got[2:], test.want)
		}
	}
}

func TestSplitParams(t *testing.T) {
	p, err := SplitParams([]byte(" {\"name\":\"\\u0061\\ud83d\\ude00\\ud800\",\n\"uri\":7, \"_meta\":{\"progressToken\":\"t\"}} "))
	if err != nil {
		t.Fatal(err)
	}
	name, ok := p.Text(Name)
	_, number := p.Text(URI)
	_, absent := p.Text(Cursor)
	token, _ := p.Text(MetaProgressToken)
	if name != "a😀\uFFFD" || !ok || number || absent || token != "t" || p.Get(Cursor) != nil || string(p.Get(URI)) != "7" {
		t.Errorf("%q %v %v %v %q", name, ok, number, absent, token)
	}
	for in, code := range map[string]int{"": 0, "null": 0, " ": 0, "nul": ParseError, "[]": InvalidRequest, "[": ParseError,
		`{"name":1,"NAME":2}`: InvalidRequest, "{} {}": ParseError} {
		p, err := SplitParams([]byte(in))
		got := 0
		if e, ok := err.(*Error); ok {
			got = e.Code
		}
		if got != code || p.Raw != nil {
			t.Errorf("SplitParams(%q): %v", in, err)
		}
	}
}

// FuzzAppend checks that without edits params stay as they are, and that with edits they decode to what is expected.
func FuzzAppend(f *testing.F) {
	for i, seed := range []string{
		`{}`, `{"name":"a","arguments":{}}`, ` { "uri" : 1 , "x" : [ ] , "_meta" : { "progressToken" : 1 } } `, `{"_meta":3,"cursor":0}`,
		`{"_meta":{"a":1,"io.modelcontextprotocol/clientInfo":{},"b":2,"progressToken":1},"name":"x","n":1}`, `null`,
	} {
		f.Add([]byte(seed), []byte{byte(i), byte(Name), byte(0x80 | MetaProgressToken), byte(URI), byte(0x40 | Arguments), byte(0xc0 | Arguments)})
	}
	f.Fuzz(func(t *testing.T, raw, plan []byte) {
		p, err := SplitParams(raw)
		if err != nil {
			return
		}
		if got := p.Append(nil); string(got) != string(p.Raw) && (p.Raw != nil || string(got) != "{}") {
			t.Fatalf("%q became %q", p.Raw, got)
		}
		var edits []Edit
		for i, b := range plan[:min(len(plan), 8)] {
			e := Edit{Key: Key(b&0x3f) % numKeys}
			e.Add = b&0x40 != 0 && e.Key < MetaProgressToken && e.Key != Meta
			switch {
			case b&0x80 == 0:
			case e.Add:
				e.Value = []byte(fmt.Sprintf(`"x":%d,"y%d":[]`, i, i))
			default:
				e.Value = [][]byte{[]byte(`7`), []byte(`{"progressToken":"t","x":1}`), []byte(`[]`), []byte(`{ }`)}[i%4]
			}
			edits = append(edits, e)
		}
		got := p.Append(nil, edits...)
		if err := Valid(got); err != nil {
			t.Fatalf("%q with %v: %q: %v", p.Raw, edits, got, err)
		}
		if got, want := decode(t, got), expected(t, p.Raw, edits); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q with %v: %v, want %v", p.Raw, edits, got, want)
		}
		after, err := SplitParams(got)
		if err != nil {
			t.Fatal(err)
		}
		for k := range MetaProgressToken {
			if k == Meta {
				continue
			}
			if edited, has := p.Edited(k, edits), after.Get(k); string(edited) != string(has) {
				t.Fatalf("%q with %v: %s is %q, and %q once it is encoded", p.Raw, edits, k, edited, has)
			}
		}
	})
}

func decode(t *testing.T, raw []byte) map[string]any {
	m := map[string]any{}
	if raw != nil {
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Skip(err) // numbers out of range
		}
	}
	return m
}

func expected(t *testing.T, raw []byte, edits []Edit) map[string]any {
	want := decode(t, raw)
	last := map[Key][]byte{}
	for _, e := range edits {
		if !e.Add {
			last[e.Key] = e.Value
			continue
		}
		object, ok := want[names[e.Key]].(map[string]any)
		if before, edited := last[e.Key]; edited {
			if object, ok = nil, len(before) > 0; ok {
				ok = json.Unmarshal(before, &object) == nil
			}
		}
		if !ok || object == nil {
			object = map[string]any{}
		}
		maps.Copy(object, decode(t, []byte("{"+string(e.Value)+"}")))
		last[e.Key], _ = json.Marshal(object)
	}
	set := func(m map[string]any, k Key, value []byte) {
		delete(m, names[k])
		if value != nil {
			var v any
			json.Unmarshal(value, &v)
			m[names[k]] = v
		}
	}
	for k, value := range last {
		if k < MetaProgressToken {
			set(want, k, value)
		}
	}
	for k, value := range last {
		if k < MetaProgressToken {
			continue
		}
		meta, ok := want["_meta"].(map[string]any)
		if !ok {
			if value == nil {
				continue
			}
			meta = map[string]any{}
			want["_meta"] = meta
		}
		set(meta, k, value)
	}
	return want
}
