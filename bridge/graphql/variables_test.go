package graphql

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
)

func TestVariables(t *testing.T) {
	for _, c := range []struct{ typ, value, want string }{ // want: the variables or the error
		{"Int!", `12`, `{"v":12}`},
		{"Int!", `12.0`, `{"v":12}`},
		{"Int", `-1.20e1`, `{"v":-12}`},
		{"Int", `1e3`, `{"v":1000}`},
		{"Int", `"12"`, `{"v":12}`},
		{"Int", `"-7"`, `{"v":-7}`},
		{"Int", `12345678901234567890123.0`, `{"v":12345678901234567890123}`},
		{"Int", `0.0`, `{"v":0}`},
		{"Int", `12.5`, `argument v: expected Int, got a number`},
		{"Int", `1e999999999999999999999`, `argument v: expected Int, got a number`},
		{"Int", `1e-999999999999999999999`, `argument v: expected Int, got a number`},
		{"Int", `"12.0"`, `argument v: expected Int, got a string`},
		{"Int", `" 12"`, `argument v: expected Int, got a string`},
		{"Int", `"012"`, `argument v: expected Int, got a string`},
		{"Int", `"+12"`, `argument v: expected Int, got a string`},
		{"Int", `"twelve"`, `argument v: expected Int, got a string`},
		{"Int", `""`, `argument v: expected Int, got a string`},
		{"Int", `true`, `argument v: expected Int, got a boolean`},
		{"Int", `{}`, `argument v: expected Int, got an object`},
		{"Int", `[1]`, `argument v: expected Int, got an array`},
		{"Int", `null`, `{"v":null}`},
		{"Int!", `null`, `missing argument: v, the query's variable $v: Int!`},
		{"Int! = 5", `null`, `{}`},
		{"Int = 5", `null`, `{"v":null}`},
		{"Int!", ``, `missing argument: v, the query's variable $v: Int!`},
		{"Int! = 5", ``, `{}`},
		{"Int", ``, `{}`},
		{"Float", `1`, `{"v":1}`},
		{"Float", `"1.50e2"`, `{"v":1.50e2}`},
		{"Float", `"NaN"`, `argument v: expected Float, got a string`},
		{"Float", `"1 "`, `argument v: expected Float, got a string`},
		{"String", `"a\"\n"`, `{"v":"a\"\n"}`},
		{"String!", `12.50`, `{"v":"12.50"}`},
		{"String", `false`, `{"v":"false"}`},
		{"String", `{"a":1}`, `argument v: expected String, got an object`},
		{"ID", `12.0`, `{"v":"12"}`},
		{"ID", `12`, `{"v":"12"}`},
		{"ID", `1.5`, `{"v":"1.5"}`},
		{"ID", `"x"`, `{"v":"x"}`},
		{"ID", `true`, `argument v: expected ID, got a boolean`},
		{"Boolean", `"true"`, `{"v":true}`},
		{"Boolean", `false`, `{"v":false}`},
		{"Boolean", `1`, `argument v: expected Boolean, got a number`},
		{"Boolean", `"yes"`, `argument v: expected Boolean, got a string`},
		{"[Int!]", `[1,2.0,"3"]`, `{"v":[1,2,3]}`},
		{"[Int!]", `[]`, `{"v":[]}`},
		{"[Int!]", `7`, `{"v":[7]}`},
		{"[Int!]", `null`, `{"v":null}`},
		{"[Int]", `[null,1]`, `{"v":[null,1]}`},
		{"[Int!]", `[1,null]`, `argument v: item 2: expected Int!, got null`},
		{"[[ID]]", `[[1],2]`, `{"v":[["1"],["2"]]}`},
		{"[[ID]]", `[[1,{}]]`, `argument v: item 1: item 2: expected ID, got an object`},
		{"In", `{"a":12.0,"b":["x"]}`, `{"v":{"a":12.0,"b":["x"]}}`},
		{"BigInt", `"12"`, `{"v":"12"}`},
	} {
		s := Spec{Query: "query($v: " + c.typ + ") {a(v: $v)}"}
		tool, err := s.compile()
		if err != nil {
			t.Fatal(err)
		}
		arguments := `{"x":1}`
		if c.value != "" {
			arguments = `{"x":1,"v":0,"v":` + c.value + `}`
		}
		raw, err := tool.appendVariables(nil, json.RawMessage(arguments))
		got := string(raw)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s of %s: %s\nwant %s", c.value, c.typ, got, c.want)
		}
	}
}

// No error shows a value, which may be a hidden one.
func TestVariablesSecret(t *testing.T) {
	s := Spec{Query: "query($v: Int!, $w: [[Int]]) {a(v: $v, w: $w)}"}
	tool, err := s.compile()
	if err != nil {
		t.Fatal(err)
	}
	for _, arguments := range []string{`{"v":"s3cret"}`, `{"v":{"s3cret":1}}`, `{"v":1,"w":[["s3cret"]]}`} {
		if _, err := tool.appendVariables(nil, json.RawMessage(arguments)); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", arguments, err)
		}
	}
}

// hostile lists arguments that try to become a part of the query or of the request.
var hostile = []string{
	`"`, `""`, `"""`, `\"`, `\"""`, `\`, `\\`, `'`, "`", `"}`, `"})`, `") { id } }`, `") { id } admin: user(id: "1`, `"){__typename}#`, `"}, {a: "`, `}`, `{`, `{}`, `}}`, `)`, `(`, `]`, `[`, `[]`,
	`$id`, `$admin`, `${id}`, `{{id}}`, `{id}`, `{x}`, `$(id)`, `%s`, `%22`, `&quot;`, `\u0022`, `\u{22}`, `\x22`, `"+"`, `#`, `# comment`, `a # b`, "a\n# b", `...`, `...F`, `... on Admin { secret }`, `@skip(if: true)`, `@include(if: false)`,
	`query { admin }`, `mutation { deleteAll }`, `subscription { a }`, `{ __schema { types { name } } }`, `fragment F on A { b }`, `query Q { a } mutation M { b }`, `null`, `true`, `false`, `0`, `-1`, `1e400`, `NaN`, `undefined`,
	`","operationName":"M`, `"},"operationName":"M","x":{"y":"`, `"}}`, `"},"query":"mutation{x}`, `","variables":{"x":1},"a":"`, `}{"query":"x"}`, `"]`, `[{"query":"{a}"}]`, `</script>`, `<>&`, `' OR 1=1 --`, `; DROP TABLE x`, `:`, `!`, `=`, `|`, `&`, `,`, `,,,`,
	"\n", "\r", "\r\n", "\r\nX-Injected: 1", "a\r\n\r\nPOST / HTTP/1.1\r\n\r\n", "\x00", "a\x00b", "\x1b[2J", "\x7f", "\t", "\v", "\u0085", "\u2028", "\u2029", "\ufeff", "\u202e", "\ufffd", "\u200b", "é", "\u0430dmin", "＂", "＄id", "\U0001f600", "\U0010ffff",
	"", " ", strings.Repeat(`"`, 1000), strings.Repeat("{", 10000), strings.Repeat(`\`, 999), strings.Repeat("a", 100000), `https://evil.example/`, `../../etc/passwd`, `?query={admin}`, `&query={admin}`, `Bearer x`,
}

// A hostile argument is the value of its variable and nothing else, in every place: the query has
// the same bytes, and the request the same members, as with a harmless argument.
func TestHostile(t *testing.T) {
	d := sourcetest.NewAPI(t, nil)
	b := openAPI(t, d.URL, `{"url":"URL/graphql?key=k","auth":"secret"}`)
	const query = "query Q($x: String, $list: [String!], $in: In, $id: ID) {\n  a(x: $x, s: \"$x {x} \\\" é\", list: $list, in: $in, id: $id) { b } # $x {x}\n}"
	tool := newTool(t, b, Spec{Query: query})
	places := map[string]string{
		"string":  `{"x":%s}`,
		"list":    `{"list":["a",%s]}`,
		"object":  `{"in":{"a":[%s]}}`,
		"key":     `{"in":{%s:1}}`,
		"id":      `{"id":%s}`,
		"unknown": `{%s:1}`,
	}
	cases := 0
	for place, format := range places {
		for _, text := range hostile {
			cases++
			quoted, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			arguments := fmt.Sprintf(format, quoted)
			_, err = tool.Call(t.Context(), json.RawMessage(arguments))
			came := d.Requests()
			if err != nil || len(came) != 1 {
				t.Fatalf("%s %.80q: %v after %d requests", place, text, err, len(came))
			}
			want := map[string]any{}
			if err := json.Unmarshal([]byte(arguments), &want); err != nil {
				t.Fatal(err)
			}
			if place == "unknown" {
				clear(want)
			}
			if err := stays(came[0], query, want); err != nil {
				t.Errorf("%s %.80q: %v", place, text, err)
			}
		}
	}
	if cases < 500 {
		t.Errorf("%d cases", cases)
	}
}

// stays checks that a request has this query and these variables.
func stays(r sourcetest.Request, query string, variables map[string]any) error {
	head := `{"query":` + quote(query) + `,"operationName":"Q","variables":`
	var sent struct {
		Query, OperationName string
		Variables            map[string]any
	}
	dec := json.NewDecoder(strings.NewReader(r.Body))
	dec.DisallowUnknownFields()
	switch err := dec.Decode(&sent); {
	case err != nil || dec.More():
		return fmt.Errorf("the body is %.300s (%v)", r.Body, err)
	case sent.Query != query || !strings.HasPrefix(r.Body, head):
		return fmt.Errorf("the query is %q", sent.Query)
	case fmt.Sprint(sent.Variables) != fmt.Sprint(variables):
		return fmt.Errorf("the variables are %.300v", sent.Variables)
	case r.Method != "POST" || r.URI != "/graphql?key=k" || r.Header.Get("Authorization") != "secret" || r.Header.Get("X-Injected") != "":
		return fmt.Errorf("%s %s %v", r.Method, r.URI, r.Header)
	}
	return nil
}

// quote returns a JSON string without HTML escapes.
func quote(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // cannot fail: a string
	return strings.TrimSuffix(b.String(), "\n")
}

// FuzzInteger: an integer has the value of the number that it was converted from.
func FuzzInteger(f *testing.F) {
	for _, s := range []string{"1", "-1.0", "10e-1", "1e39", "0.1e1", "-0.0", "1e41", "12.5", "00", "1e", "100000e-5", "1E+2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 100 {
			return
		}
		got, ok := integer(s)
		if !native.IsNumber(s) {
			if ok {
				t.Errorf("%q became %s", s, got)
			}
			return
		}
		if _, digits, found := strings.Cut(strings.ToLower(s), "e"); found && len(strings.TrimLeft(digits, "+-0")) > 3 {
			return // more than the check below supports
		}
		value, valid := new(big.Rat).SetString(s)
		if !valid {
			t.Fatalf("%q is no number", s)
		}
		if ok {
			if whole, valid := new(big.Int).SetString(got, 10); !valid || value.Cmp(new(big.Rat).SetInt(whole)) != 0 {
				t.Errorf("%q became %s", s, got)
			}
			return
		}
		if value.IsInt() && len(value.Num().String()) <= maxDigits-1 {
			t.Errorf("%q is an integer", s)
		}
	})
}

// FuzzParse: no document makes the parser panic or hang; one that it accepts consists of the tokens
// that the scanner alone finds, and its types are parsed again as they are printed.
func FuzzParse(f *testing.F) {
	for _, s := range []string{everything, "", "{a}", "query ($a: [Int!]! = [1]) {a(x: $a)}", `{a(s: """\""" """)}`, `{a(s: "\u{0}")}`, "{a(n: -1.5e+3)}", "#", "\ufeff{...F}", "{{{{", "query($"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		doc, err := parse(src)
		if err != nil {
			return
		}
		s := scanner{src: src}
		end := 0
		for {
			tok := s.next()
			if s.fault != nil {
				t.Fatalf("%v", s.fault)
			}
			if tok.kind == tokenEnd {
				break
			}
			if tok.at < end || tok.text == "" || src[tok.at:tok.at+len(tok.text)] != tok.text {
				t.Fatalf("token %+v", tok)
			}
			end = tok.at + len(tok.text)
		}
		if s.at != len(src) {
			t.Fatalf("the scanner ends at %d of %d", s.at, len(src))
		}
		for _, op := range doc.operations {
			for _, v := range op.variables {
				again, err := parse("query ($v: " + v.typ.String() + ") {a}")
				if err != nil || again.operations[0].variables[0].typ.String() != v.typ.String() {
					t.Fatalf("%s: %v", &v.typ, err)
				}
			}
			_, _ = doc.resolve(op)
			_, _ = doc.choose(op.name)
		}
	})
}
