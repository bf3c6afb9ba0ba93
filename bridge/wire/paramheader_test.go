package wire

import (
	"reflect"
	"strings"
	"testing"
)

func TestParamHeaders(t *testing.T) {
	for _, c := range []struct{ name, schema, want, err string }{
		{"none", `{"properties":{"a":{"type":"string"}}}`, "", ""},
		{"no schema", ``, "", ""},
		{"one", `{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}`, "A=a", ""},
		{"of each type", `{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"x-mcp-header":"B","type":"integer"},"c":{"type":"boolean","x-mcp-header":"c"}}}`, "A=a B=b c=c", ""},
		{"deep", `{"properties":{"a":{"type":"object","properties":{"b":{"type":"string","x-mcp-header":"B"}}}}}`, "B=a.b", ""},
		{"a property of that name", `{"properties":{"x-mcp-header":{"type":"string"}}}`, "", ""},
		{"a property of a keyword's name", `{"properties":{"items":{"type":"string","x-mcp-header":"I"}}}`, "I=items", ""},
		{"in values", `{"default":{"x-mcp-header":1},"enum":[{"x-mcp-header":1}],"const":{"x-mcp-header":1},"examples":[{"x-mcp-header":1}]}`, "", ""},

		{"empty", `{"properties":{"a":{"type":"string","x-mcp-header":""}}}`, "", `x-mcp-header of "a": "" is not a valid header name`},
		{"null", `{"properties":{"a":{"type":"string","x-mcp-header":null}}}`, "", `null is not a valid`},
		{"space", `{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}`, "", `"a b" is not`},
		{"new line", `{"properties":{"a":{"type":"string","x-mcp-header":"a\r\nb"}}}`, "", `is not a valid`},
		{"not ASCII", `{"properties":{"a":{"type":"string","x-mcp-header":"é"}}}`, "", `is not a valid`},
		{"number", `{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}`, "A=a", `x-mcp-header of "a": the property's type`},
		{"several types", `{"properties":{"a":{"type":["string","null"],"x-mcp-header":"A"}}}`, "A=a", `the property's type`},
		{"no type", `{"properties":{"a":{"x-mcp-header":"A"}}}`, "A=a", `the property's type`},
		{"twice", `{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"properties":{"c":{"type":"string","x-mcp-header":"a"}}}}}`, "A=a a=b.c", `x-mcp-header of "b.c": another property`},
		{"items", `{"properties":{"a":{"items":{"properties":{"b":{"type":"string","x-mcp-header":"A"}}}}}}`, "", `x-mcp-header of "a.b": only a property`},
		{"a branch", `{"oneOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}`, "", `only a property`},
		{"a definition", `{"$defs":{"a":{"type":"string","x-mcp-header":"A"}}}`, "", `only a property`},
		{"a pattern", `{"patternProperties":{"a":{"type":"string","x-mcp-header":"A"}}}`, "", `only a property`},
		{"the root", `{"type":"object","x-mcp-header":"A"}`, "", `only a property`},
		{"one beside it", `{"properties":{"a":{"type":"number","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"B"}}}`, "A=a B=b", `x-mcp-header of "a"`},
	} {
		found, err := ParamHeaders([]byte(c.schema))
		var got []string
		for _, h := range found {
			name, ok := strings.CutPrefix(h.Name, "Mcp-Param-")
			if !ok {
				t.Errorf("%s: the header is called %s", c.name, h.Name)
			}
			got = append(got, name+"="+strings.Join(h.Path, "."))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v, want %s", c.name, err, c.err)
		}
	}
}

// Paths must not share memory: properties that stand side by side have the same parent.
func TestParamHeaderPaths(t *testing.T) {
	leaf := `{"type":"string","x-mcp-header":"`
	schema := `{"properties":{"a":{"properties":{"b":{"properties":{"c":` + leaf + `C"},"d":` + leaf + `D"}}}}}}}`
	found, err := ParamHeaders([]byte(schema))
	want := []ParamHeader{{"Mcp-Param-C", []string{"a", "b", "c"}}, {"Mcp-Param-D", []string{"a", "b", "d"}}}
	if err != nil || !reflect.DeepEqual(found, want) {
		t.Errorf("%v, %v", found, err)
	}
}

// What the client sends is what the server wants, and nothing else is.
func TestParamHeaderValue(t *testing.T) {
	h := ParamHeader{"Mcp-Param-A", []string{"a"}}
	for _, c := range []struct {
		argument string
		want     string
		ok       bool
	}{
		{`"us-west1"`, "us-west1", true},
		{`""`, "", true},
		{`"a\u0062"`, "ab", true},
		{`"Hello, 世界"`, "=?base64?SGVsbG8sIOS4lueVjA==?=", true},
		{`" padded "`, "=?base64?IHBhZGRlZCA=?=", true},
		{`"a\nb"`, "=?base64?YQpi?=", true},
		{`"=?base64?literal?="`, "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=", true},
		{`"42"`, "42", true},
		{`true`, "true", true},
		{`false`, "false", true},
		{`-7`, "-7", true},
		{`42.0`, "42", true},
		{`4.2e1`, "42", true},
		{`9007199254740991`, "9007199254740991", true},
		{`-9007199254740991`, "-9007199254740991", true},
		{`9007199254740992`, "", false},
		{`-9007199254740993`, "", false},
		{`1e400`, "", false},
		{`1.5`, "", false},
		{`null`, "", false},
		{`{"a":1}`, "", false},
		{`["a"]`, "", false},
	} {
		arguments := []byte(`{"b":0,"a":` + c.argument + `}`)
		got, ok := h.Value(arguments)
		if got != c.want || ok != c.ok {
			t.Errorf("%s: %q, %v", c.argument, got, ok)
		}
		if err := h.Check(arguments, []string{got}); (err == nil) != c.ok {
			t.Errorf("%s: the server's verdict is %v", c.argument, err)
		}
		if err := h.Check(arguments, nil); (err == nil) != (c.argument == "null") {
			t.Errorf("%s without the header: %v", c.argument, err)
		}
	}
	if got, ok := h.Value([]byte(`{}`)); ok {
		t.Errorf("a missing argument: %q", got)
	}
	if got, ok := h.Value(nil); ok {
		t.Errorf("no arguments: %q", got)
	}
}

func TestParamHeaderCheck(t *testing.T) {
	h := ParamHeader{"Mcp-Param-A", []string{"a", "b"}}
	for _, c := range []struct {
		arguments string
		lines     []string
		want      string // "" means that they agree
	}{
		{`{"a":{"b":"x"}}`, []string{"x"}, ""},
		{`{"a":{"b":"x"}}`, []string{"=?base64?eA==?="}, ""},
		{`{"a":{"b":42}}`, []string{"42.0"}, ""},
		{`{"a":{"b":4.20e1}}`, []string{"42"}, ""},
		{`{"a":{"b":null}}`, nil, ""},
		{`{"a":{}}`, nil, ""},
		{``, nil, ""},

		{`{"a":{"b":"x"}}`, nil, `the header Mcp-Param-A is missing: it must repeat the argument "a.b"`},
		{`{"a":{"b":"x"}}`, []string{"y"}, `the header Mcp-Param-A is "y", but the argument "a.b" is "\"x\""`},
		{`{"a":{"b":"x"}}`, []string{"X"}, `is "X", but`},
		{`{"a":{"b":"x"}}`, []string{"x", "x"}, `is "x, x", but`},
		{`{"a":{"b":"世"}}`, []string{"世"}, `but the argument`},
		{`{"a":{"b":"x"}}`, []string{"=?base64?!?="}, `but the argument`},
		{`{"a":{"b":"x"}}`, []string{"=?BASE64?eA==?="}, `but the argument`},
		{`{"a":{"b":"42"}}`, []string{"42.0"}, `but the argument`},
		{`{"a":{"b":42}}`, []string{"43"}, `but the argument`},
		{`{"a":{"b":42}}`, []string{"0x2A"}, `but the argument`},
		{`{"a":{"b":42}}`, []string{""}, `but the argument`},
		{`{"a":{"b":9007199254740993}}`, []string{"9007199254740992"}, `but the argument`},
		{`{"a":{"b":9007199254740993}}`, []string{"9007199254740993"}, `but the argument`},
		{`{"a":{"b":true}}`, []string{"True"}, `but the argument`},
		{`{"a":{"b":{"c":1}}}`, []string{`{"c":1}`}, `but the argument`},
		{`{"a":{"b":null}}`, []string{"null"}, `repeats the argument "a.b", which is missing`},
		{`{}`, []string{"x"}, `which is missing`},
		{``, []string{"x"}, `which is missing`},
		{`{"a":{"b":"x","b":"y"}}`, []string{"y"}, `occurs twice`},
		{`{"a":{"b":"x","\u0062":"y"}}`, []string{"y"}, `occurs twice`},
		{`{"a":{},"a":{"b":"y"}}`, []string{"y"}, `occurs twice`},
	} {
		err := h.Check([]byte(c.arguments), c.lines)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %q: %v, want %s", c.arguments, c.lines, err, c.want)
		}
	}
}
