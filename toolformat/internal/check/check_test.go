package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// TestCheck verifies what a model reads, to the letter.
func TestCheck(t *testing.T) {
	weather := `{"type":"object","properties":{"city":{"type":"string","minLength":2},"unit":{"enum":["celsius","fahrenheit"]},"days":{"type":"integer","minimum":1,"maximum":7}},"required":["city"],"additionalProperties":false}`
	for _, c := range []struct{ name, schema, instance, want string }{
		{"valid", weather, `{"city":"Rome","unit":"celsius","days":3}`, ""},
		{"missing", weather, `{}`, `missing required property "city"`},
		{"misspelled", weather, `{"citty":"Rome","city":"Rome"}`, `unknown property "citty" (known: "unit", "days")`},
		{"misspelled and missing", weather, `{"citty":"Rome"}`, "missing required property \"city\"\nunknown property \"citty\" (did you mean \"city\"?)"},
		{"enum", weather, `{"city":"Rome","unit":"kelvin"}`, `/unit: expected one of "celsius", "fahrenheit", got "kelvin"`},
		{"enum near", weather, `{"city":"Rome","unit":"Celsius"}`, `/unit: expected one of "celsius", "fahrenheit", got "Celsius" (did you mean "celsius"?)`},
		{"all at once, in the order of the input", weather, `{"days":0,"unit":1,"city":"R"}`,
			"/days: expected >= 1, got 0\n/unit: expected one of \"celsius\", \"fahrenheit\", got 1\n/city: expected a length >= 2, got 1"},
		{"type", weather, `{"city":"Rome","days":"12"}`, `/days: expected integer, got string "12"`},
		{"fraction", weather, `{"city":"Rome","days":1.5}`, `/days: expected integer, got number 1.5`},
		{"whole number", weather, `{"city":"Rome","days":3.0}`, ""},
		{"null", weather, `{"city":null}`, `/city: expected string, got null`},
		{"object", weather, `{"city":{"name":"Rome"}}`, `/city: expected string, got object {"name":"Rome"}`},
		{"root", weather, `[1]`, `expected object, got array [1]`},
		{"no JSON", weather, `{city:1}`, `not JSON: unexpected 'c' in an object, expected a key in quotes`},
		{"twice", weather, `{"city":"a","city":"b"}`, `not JSON: duplicate key "city" in an object`},
		{"long value", `{"type":"integer"}`, `"` + strings.Repeat("x", 100) + `"`, `expected integer, got string "` + strings.Repeat("x", 59) + `…`},
		{"const", `{"const":{"a":1}}`, `2`, `expected {"a":1}, got 2`},
		{"types", `{"type":["string","null"]}`, `true`, `expected string or null, got boolean true`},
		{"escaped path", `{"properties":{"a/b~c d%":{"type":"null"}}}`, `{"a/b~c d%":1}`, `/a~1b~0c d%: expected null, got number 1`},
		{"pattern", `{"pattern":"^a+$"}`, `"b"`, `expected a string that matches ^a+$, got "b"`},
		{"maximum", `{"exclusiveMaximum":5,"multipleOf":2}`, `7`, "expected < 5, got 7\nexpected a multiple of 2, got 7"},
		{"draft-04", `{"$schema":"http://json-schema.org/draft-04/schema#","minimum":5,"exclusiveMinimum":true}`, `5`, `expected > 5, got 5`},
		{"big numbers", `{"const":12345678901234567890}`, `12345678901234567891`, `expected 12345678901234567890, got 12345678901234567891`},
		{"items", `{"items":{"type":"string"},"maxItems":1,"uniqueItems":true}`, `[1,1]`,
			"expected <= 1 items, got 2\nexpected no two items alike, got equal ones at 0 and 1\n/0: expected string, got number 1\n/1: expected string, got number 1"},
		{"contains", `{"contains":{"const":1}}`, `[2]`, `expected >= 1 items, got 0 of {"const":1}`},
		{"not", `{"not":{"type":"string"}}`, `"a"`, `expected anything that does not match {"type":"string"}, got "a"`},
		{"false", `{"properties":{"a":false}}`, `{"a":1}`, `/a: not allowed here`},
		{"unevaluated", `{"properties":{"a":{}},"unevaluatedProperties":false}`, `{"b":1}`, `/b: unknown property`},
		{"names", `{"propertyNames":{"maxLength":1}}`, `{"ab":1}`, `the name of property "ab": expected a length <= 1, got 2`},
		{"dependent", `{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `missing property "b", which is required beside "a"`},
		{"if", `{"if":{"required":["a"]},"then":{"required":["b"]}}`, `{"a":1}`, `missing required property "b"`},
		{"reference", `{"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"null"}}}`, `{"a":1}`, `/a: expected null, got number 1`},
		{"any type", `{"anyOf":[{"type":"string"},{"type":"null"}]}`, `5`, `expected string or null, got number 5`},
		{"any type or value", `{"anyOf":[{"enum":["a","b"]},{"type":"integer"}]}`, `"c"`, `expected one of "a", "b", or integer, got string "c"`},
		{"nullable object", `{"anyOf":[{"type":"object","required":["a"]},{"type":"null"}]}`, `{}`, `missing required property "a"`},
		{"any of two properties", `{"anyOf":[{"required":["email"]},{"required":["phone","name"]}]}`, `{}`,
			`missing required property "email", or else "phone" and "name"`},
		{"discriminator", shapes, `{"shape":{"kind":"oval"}}`, `/shape/kind: expected one of "circle", "box", got "oval"`},
		{"discriminated", shapes, `{"shape":{"kind":"box","side":"2"}}`, `/shape/side: expected number, got string "2" (for the nearest of 2 alternatives)`},
		{"two of one", `{"oneOf":[{"type":"integer"},{"minimum":1}]}`, `2`, `expected one alternative of oneOf to match, got 0 and 1`},
		{"unknown of many", `{"properties":{` + manyProperties(200) + `},"additionalProperties":false}`, `{"zzzzz":1}`,
			`unknown property "zzzzz" (known: ` + strings.TrimSuffix(quotedNames(44), ", ") + `, … (200 in all))`},
		{"format is an annotation", `{"format":"date"}`, `"soon"`, ""},
		{"format in draft-07 too", `{"$schema":"http://json-schema.org/draft-07/schema#","format":"date","contentEncoding":"base64"}`, `"?"`, ""},
		{"exponent", `{"type":"integer","minimum":1,"enum":[1]}`, `1e9999999`, `expected a number of at most 1000 characters and an exponent of at most 400, got 1e9999999`},
	} {
		t.Run(c.name, func(t *testing.T) {
			checker := mustChecker(t, c.schema)
			for range 5 { // whatever the order of maps
				got := ""
				if err := checker.Check(json.RawMessage(c.instance)); err != nil {
					got = err.Error()
				}
				if got != c.want {
					t.Fatalf("got\n%s\nwant\n%s", got, c.want)
				}
			}
		})
	}
}

const shapes = `{"properties":{"shape":{"oneOf":[
	{"properties":{"kind":{"const":"circle"},"radius":{"type":"number"}},"required":["kind","radius"]},
	{"properties":{"kind":{"const":"box"},"side":{"type":"number"}},"required":["kind","side"]}]}}}`

func manyProperties(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"p%d":{},`, i)
	}
	return strings.TrimSuffix(b.String(), ",")
}

func quotedNames(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"p%d", `, i)
	}
	return b.String()
}

func mustChecker(t testing.TB, schema string) *Checker {
	t.Helper()
	checker, notes, err := NewChecker(json.RawMessage(schema))
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	if notes != nil {
		t.Fatalf("%s: %v", schema, notes)
	}
	return checker
}

// TestCheckIsBounded verifies that an error has at most 20 faults or 2,000 bytes, and counts the
// rest.
func TestCheckIsBounded(t *testing.T) {
	checker := mustChecker(t, `{"items":{"type":"string"}}`)
	err := checker.Check(json.RawMessage("[" + strings.Repeat("1,", 99_000) + "1]"))
	var e *Error
	if !errors.As(err, &e) || len(e.Faults) != 20 || e.More != 98_981 || !strings.HasSuffix(err.Error(), "\nand 98981 more") {
		t.Errorf("%v", err)
	}
	if e.Faults[3] != (wording.Note{Path: "/3", Rule: "type", Text: "expected string, got number 1"}) {
		t.Errorf("%+v", e.Faults[3])
	}
	long := strings.Repeat("x", 5000)
	err = mustChecker(t, `{"additionalProperties":{"type":"string"},"propertyNames":{"maxLength":1}}`).Check(json.RawMessage(`{"` + long + `":{"` + long + `":1},"b` + long + `":1}`))
	if err == nil || len(err.Error()) > 2500 {
		t.Errorf("%d bytes: %v", len(err.Error()), err)
	}
}

// TestPrepare verifies which keywords are not checked, and that the others are.
func TestPrepare(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret.json")
	if err := os.WriteFile(secret, []byte(`{"type":"TOPSECRET"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range prepareCases(secret) {
		t.Run(c.name, func(t *testing.T) {
			checker, notes, err := NewChecker(json.RawMessage(c.schema))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, n := range notes {
				got = append(got, n.String())
				if n.Rule != ruleUnchecked {
					t.Errorf("rule %q", n.Rule)
				}
			}
			if strings.Join(got, "\n") != strings.Join(c.notes, "\n") {
				t.Errorf("notes\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.notes, "\n"))
			}
			if err := checker.Check(json.RawMessage(c.valid)); err != nil {
				t.Errorf("%s: %v", c.valid, err)
			}
			err = checker.Check(json.RawMessage(c.invalid))
			if err == nil {
				t.Errorf("%s is accepted", c.invalid)
			} else if strings.Contains(err.Error(), "TOPSECRET") {
				t.Error("the file was read")
			}
		})
	}
}

type prepareCase struct {
	name, schema string
	notes        []string
	valid        string
	invalid      string
}

func prepareCases(secret string) []prepareCase {
	return []prepareCase{
		{"a file", `{"properties":{"a":{"$ref":"file://` + secret + `"},"b":{"type":"null"}}}`,
			[]string{`/properties/a/$ref: $ref "file://` + secret + `" is not checked: its target is not in the schema, and nothing is loaded`},
			`{"a":1}`, `{"b":1}`},
		{"the network", `{"$ref":"http://127.0.0.1:1/x","type":"object"}`,
			[]string{`/$ref: $ref "http://127.0.0.1:1/x" is not checked: its target is not in the schema, and nothing is loaded`}, `{}`, `1`},
		{"undefined", `{"$ref":"#/$defs/none","type":"object"}`,
			[]string{`/$ref: $ref "#/$defs/none" is not checked: its target is not in the schema, and nothing is loaded`}, `{}`, `1`},
		{"look-ahead", `{"type":"string","pattern":"^(?=a)","maxLength":3}`,
			[]string{"/pattern: pattern \"^(?=a)\" is not checked: not supported by Go's regular expressions: invalid or unsupported Perl syntax: (?="}, `"b"`, `"long"`},
		{"look-ahead below not", `{"not":{"pattern":"(?=a)"},"maxLength":3}`,
			[]string{"/not/pattern: pattern \"(?=a)\" is not checked: not supported by Go's regular expressions: invalid or unsupported Perl syntax: (?=",
				"/not: not is not checked: it depends on a keyword below that is not checked"}, `"b"`, `"long"`},
		{"look-ahead in oneOf", `{"oneOf":[{"pattern":"(?=a)"},{"maxLength":3},{"type":"string"}],"minLength":2}`,
			[]string{"/oneOf/0/pattern: pattern \"(?=a)\" is not checked: not supported by Go's regular expressions: invalid or unsupported Perl syntax: (?=",
				"/oneOf: oneOf is checked as anyOf: it depends on a keyword below that is not checked"}, `"aaa"`, `"a"`},
		{"look-ahead behind a reference", `{"if":{"$ref":"#/$defs/p"},"then":false,"$defs":{"p":{"pattern":"(?=a)"}},"minLength":2}`,
			[]string{"/$defs/p/pattern: pattern \"(?=a)\" is not checked: not supported by Go's regular expressions: invalid or unsupported Perl syntax: (?=",
				"/if: if is not checked: it depends on a keyword below that is not checked",
				"/then: then false is not checked: it depends on a keyword below that is not checked"}, `"aa"`, `"a"`},
		{"look-ahead of names", `{"patternProperties":{"(?=a)":{},"^b":{"type":"null"}},"additionalProperties":false}`,
			[]string{"/patternProperties/(?=a): pattern \"(?=a)\" is not checked: not supported by Go's regular expressions: invalid or unsupported Perl syntax: (?=",
				"/additionalProperties: additionalProperties false is not checked: it depends on patternProperties"}, `{"a":1}`, `{"b":1}`},
		{"exponents", `{"minimum":1e9999999,"maximum":5,"enum":[1,1e9999999,9],"default":1e9999999}`,
			[]string{"/minimum: minimum 1e9999999 is not checked: a number in it is too long or has too large an exponent",
				"/enum: enum is not checked: a number in it is too long or has too large an exponent"}, `2`, `6`},
		{"itself", `{"$ref":"#","type":"object"}`, []string{`/$ref: $ref "#" is not checked: it leads back to itself`}, `{}`, `1`},
		{"a circle", `{"allOf":[{"$ref":"#/$defs/a"}],"type":"object","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"anyOf":[{"$ref":"#/$defs/a"}]}}}`,
			[]string{`/$defs/b/anyOf/0/$ref: $ref "#/$defs/a" is not checked: it leads back to itself`}, `{}`, `1`},
		{"violations", `{"type":"Strin","minimum":"5","properties":{"b":[],"c":{"required":[1],"type":"null"}}}`,
			[]string{`/type: type "Strin" is not checked: expected one of "array", "boolean", "integer", "null", "number", "object", "string", or array, got string "Strin"`,
				`/minimum: minimum "5" is not checked: expected number, got string "5"`,
				`/properties/b: [] is not checked: expected object or boolean, got array []`,
				`/properties/c/required: required is not checked: expected string, got number 1`}, `{"b":1}`, `{"c":1}`},
		{"no schema in oneOf", `{"oneOf":["x",{"type":"null"}],"maxLength":1}`,
			[]string{`/oneOf/0: "x" is not checked: expected object or boolean, got string "x"`, `/oneOf: oneOf is checked as anyOf: it depends on a keyword below that is not checked`}, `null`, `"ab"`},
		{"unknown draft", `{"$schema":"https://example.com/s","type":"null"}`, []string{`/$schema: unknown draft "https://example.com/s", read as 2020-12`}, `null`, `1`},
		{"huge counts", `{"maxLength":18446744073709551615,"minItems":1e300,"maxProperties":1e300}`, nil, `{"a":1}`, `[]`},
		{"keys of the library's own", `{"regexProperties":"x","$vocabulary":{"x:y":true},"$id":"%zz","$anchor":"a b","type":"null"}`, nil, `null`, `1`},
		{"identifiers", `{"$id":"https://e.com/a","$ref":"b#c","$defs":{"b":{"$id":"b","$defs":{"c":{"$anchor":"c","type":"null"}}}}}`, nil, `null`, `1`},
		{"one identifier twice", `{"$defs":{"a":{"$id":"x","type":"null"},"b":{"$id":"x"}},"$ref":"x"}`, nil, `null`, `1`},
		{"outside of schemas", `{"components":{"x y":{"properties":{"n":{"$ref":"#/components/x y"},"v":{"type":"null"}}}},"$ref":"#/components/x%20y"}`, nil, `{"n":{"v":null}}`, `{"n":{"n":{"v":1}}}`},
		{"dynamic", `{"$dynamicAnchor":"n","properties":{"c":{"$dynamicRef":"#n"}},"required":["v"]}`, nil, `{"v":1,"c":{"v":1}}`, `{"v":1,"c":{}}`},
		{"beside a reference in draft-07", `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"$ref":"#/definitions/n","minimum":5}},"definitions":{"n":{"type":"integer"}}}`, nil, `{"a":1}`, `{"a":"x"}`},
		{"defs in draft-07", `{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/$defs/n","$defs":{"n":{"type":"integer"}}}`, nil, `1`, `"x"`},
	}
}

// TestCheckerOldForms verifies that forms that are repaired for providers are checked as repaired.
func TestCheckerOldForms(t *testing.T) {
	for _, c := range []struct{ name, schema, valid, invalid string }{
		{"boolean bound", `{"minimum":5,"exclusiveMinimum":true}`, `6`, `5`},
		{"tuple", `{"items":[{"type":"null"}],"additionalItems":false}`, `[null]`, `[null,1]`},
		{"required property", `{"type":"object","properties":{"a":{"type":"string","required":true}}}`, `{"a":"x"}`, `{}`},
		{"upper case", `{"type":"STRING"}`, `"x"`, `1`},
		{"nullable", `{"properties":{"a":{"type":"string","nullable":true}}}`, `{"a":null}`, `{"a":1}`},
		{"tuple in a draft without", `{"$schema":"https://json-schema.org/draft/2020-12/schema","items":[{"type":"null"}]}`, `[null]`, `[1]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			checker := mustChecker(t, c.schema)
			if err := checker.Check(json.RawMessage(c.valid)); err != nil {
				t.Errorf("%s: %v", c.valid, err)
			}
			if checker.Check(json.RawMessage(c.invalid)) == nil {
				t.Errorf("%s is accepted", c.invalid)
			}
		})
	}
}

// TestTooLarge verifies that what would take too long is refused at once.
func TestTooLarge(t *testing.T) {
	deep := func(open, inner, shut string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(shut, n)
	}
	const tooMuch = "too large, or nested too deeply, to be checked against the schema"
	for _, c := range []struct{ name, schema, instance, want string }{
		{"each level twice", `{"$defs":{"n":{"allOf":[{"properties":{"c":{"$ref":"#/$defs/n"}}},{"properties":{"c":{"$ref":"#/$defs/n"}}}]}},"$ref":"#/$defs/n"}`,
			deep(`{"c":`, "1", "}", 60), tooMuch},
		{"each reference twice", doubling(60), `{}`, tooMuch},
		{"a string against each reference twice", doubling(60), `"x"`, tooMuch},
		{"a slow pattern", `{"pattern":"^(a?){900}a{900}$"}`, `"` + strings.Repeat("a", 600_000) + `"`, tooMuch},
		{"many values", `{}`, "[" + strings.Repeat("1,", 100_000) + "1]", "too large to be checked: more than 100000 values"},
		{"deep", `{}`, deep("[", "", "]", 100_000), "not JSON: nested deeper than 500 levels"},
		{"a long number", `{"type":"integer"}`, strings.Repeat("1", 2000),
			`expected a number of at most 1000 characters and an exponent of at most 400, got ` + strings.Repeat("1", 60) + "…"},
		{"100,000 values", `{"items":{"type":"integer"}}`, "[" + strings.Repeat("1,", 99_000) + "1]", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			if err := mustChecker(t, c.schema).Check(json.RawMessage(c.instance)); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got %s", got)
			}
		})
	}
	for _, c := range []struct{ name, schema, want string }{
		{"deep", deep(`{"not":`, "true", "}", 101), "the schema is too large: nested deeper than 100 levels"},
		{"many values", `{"enum":[` + strings.Repeat("1,", 100_000) + "1]}", "the schema is too large: more than 100000 values"},
		{"many schemas", `{"properties":{` + manyProperties(5001) + `}}`, "the schema is too large: more than 5000 schemas in it"},
		{"no schema", `[]`, "expected object or boolean, got array []"},
		{"no JSON", `{`, "unexpected end of input in an object, expected a key in quotes"},
	} {
		t.Run("schema "+c.name, func(t *testing.T) {
			if _, _, err := NewChecker(json.RawMessage(c.schema)); err == nil || err.Error() != c.want {
				t.Errorf("%v", err)
			}
		})
	}
}

func doubling(n int) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{"type":"null"}}}`, n)
	return b.String()
}

// TestCheckerConcurrently uses one checker from many goroutines, for the race detector.
func TestCheckerConcurrently(t *testing.T) {
	lazy := NewLazy(json.RawMessage(shapes))
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			checker, err := lazy()
			if err != nil {
				t.Error(err)
				return
			}
			for range 50 {
				instance, want := `{"shape":{"kind":"box","side":2}}`, "<nil>"
				if i%2 == 0 {
					instance, want = `{"shape":{"kind":"oval"}}`, `/shape/kind: expected one of "circle", "box", got "oval"`
				}
				if got := fmt.Sprint(checker.Check(json.RawMessage(instance))); got != want {
					t.Errorf("got %s", got)
				}
			}
		})
	}
	wg.Wait()
}

func TestCheckSchema(t *testing.T) {
	for _, c := range []struct {
		name, schema string
		want         []string
	}{
		{"true", `true`, nil},
		{"empty", `{}`, nil},
		{"unknown keywords", `{"x-order":["a"],"nullable":true,"example":1}`, nil},
		{"old forms", `{"type":"OBJECT","properties":{"a":{"type":["STRING","null"],"required":true},"b":{"minimum":1,"exclusiveMinimum":true},"c":{"items":[{"type":"STRING"}],"additionalItems":false}}}`, nil},
		{"a pattern that is not Go's", `{"pattern":"(?=a)","patternProperties":{"(?!b)":{}},"format":"odd"}`, nil},
		{"type", `{"properties":{"a":{"type":"text"}}}`, []string{`/s/properties/a/type: expected one of "array", "boolean", "integer", "null", "number", "object", "string", or array, got string "text"`}},
		{"no schema", `[]`, []string{`/s: expected object or boolean, got array []`}},
		{"no JSON", `{`, []string{`/s: not JSON: unexpected end of input in an object, expected a key in quotes`}},
		{"several", `{"required":["a","a"],"minLength":-1,"properties":{"a":1},"anyOf":[]}`,
			[]string{`/s/required: expected no two items alike, got equal ones at 0 and 1`, `/s/minLength: must be >= 0 but found -1`, `/s/properties/a: expected object or boolean, got number 1`, `/s/anyOf: expected >= 1 items, got 0`}},
		{"below old items", `{"items":[{"minLength":"1"}],"additionalItems":{"minLength":"2"},"patternProperties":{"^a/":{"type":1}}}`,
			[]string{`/s/items/0/minLength: expected integer, got string "1"`, `/s/additionalItems/minLength: expected integer, got string "2"`, `/s/patternProperties/^a~1/type: expected one of "array", "boolean", "integer", "null", "number", "object", "string", or array, got number 1`}},
		{"old forms in a draft that says it is another", `{"$schema":"https://json-schema.org/draft/2020-12/schema","items":[{}],"properties":{"a":{"required":true}}}`,
			[]string{`/s/items: expected object or boolean, got array [{}]`, `/s/properties/a/required: expected array, got boolean true`}},
		{"draft-07", `{"$schema":"http://json-schema.org/draft-07/schema","items":[{}],"exclusiveMinimum":true}`, []string{`/s/exclusiveMinimum: expected number, got boolean true`}},
		{"draft-04", `{"$schema":"http://json-schema.org/draft-04/schema#","minimum":1,"exclusiveMinimum":true,"required":[]}`, []string{`/s/required: expected >= 1 items, got 0`}},
		{"exponents", `{"minimum":1e9999999,"default":-1e9999999,"minLength":1e9999999,"maxLength":1e-9999999}`, []string{`/s/maxLength: expected integer, got number 1e-9999999`}},
		{"deep", strings.Repeat(`{"not":`, 101) + "{}" + strings.Repeat("}", 101), []string{"/s: nested deeper than 100 levels"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, n := range CheckSchema(json.RawMessage(c.schema), tree.At("s")) {
				got = append(got, n.String())
			}
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}
