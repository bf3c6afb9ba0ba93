package raw

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestGet(t *testing.T) {
	for _, c := range []struct{ object, key, want string }{
		{`{"a":1,"b":"x"}`, "b", `"x"`},
		{` { "a" : [1,{"b":2}] , "b" : {"c":"}"} } `, "b", `{"c":"}"}`},
		{`{"a":"\"b\":1","b":-1.5e3}`, "b", `-1.5e3`},
		{`{"a":"\\","b":null}`, "b", "null"},
		{`{"a":1}`, "b", ""},
		{`{"a"`, "a", ""},
		{`{"a":`, "a", ""},
		{`{"a":"unended`, "b", ""},
		{`["a"]`, "a", ""},
		{``, "a", ""},
	} {
		if got := string(Get([]byte(c.object), c.key)); got != c.want {
			t.Errorf("Get(%s, %q) = %q, want %q", c.object, c.key, got, c.want)
		}
	}
}

func FuzzGet(f *testing.F) {
	f.Add([]byte(`{"a":1,"id":"\\\"","b":[{}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got := Get(text, "id") // must not panic
		var want map[string]json.RawMessage
		escaped := bytes.Contains(text, []byte(`\u`)) // which a key may be written with
		if json.Unmarshal(text, &want) == nil && want["id"] != nil && got == nil && !escaped {
			t.Errorf("Get(%q) finds nothing, want %s", text, want["id"])
		}
	})
}
