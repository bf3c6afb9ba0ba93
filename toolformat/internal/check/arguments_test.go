package check

import (
	"encoding/json"
	"errors"
	"testing"
)

// TestArguments verifies how the arguments of a model are repaired.
func TestArguments(t *testing.T) {
	schema := `{"type":"object","properties":{
		"n":{"type":"integer"},"x":{"type":"number"},"b":{"type":"boolean"},"s":{"type":"string"},
		"o":{"type":"object","properties":{"n":{"$ref":"#/$defs/count"}},"required":["n"]},
		"l":{"type":"array","items":{"type":"integer"}},
		"ns":{"type":["integer","string"]},"nn":{"type":["integer","null"]},
		"e":{"enum":[1,2,"three"]},"u":{"anyOf":[{"type":"integer"},{"type":"array"}]},
		"any":{}
	},"$defs":{"count":{"type":"integer","minimum":1}}}`
	checker := mustChecker(t, schema)
	for _, c := range []struct{ name, raw, want string }{
		{"bytes are kept", " { \"n\" : 1 , \"any\" : [1.50, 1e2, \"\\u0041\"] }\n", "{ \"n\" : 1 , \"any\" : [1.50, 1e2, \"\\u0041\"] }"},
		{"none", ``, `{}`},
		{"blank", " \n", `{}`},
		{"null", `null`, `{}`},
		{"empty string", `""`, `{}`},
		{"object in a string", `"{\"n\":1}"`, `{"n":1}`},
		{"object in a string in a string", `"\"{\\\"n\\\":1}\""`, `{"n":1}`},
		{"null in a string", `"null"`, `{}`},
		{"integer in a string", `{"n":"12"}`, `{"n":12}`},
		{"whole number in a string", `{"n":"12.0"}`, `{"n":12}`},
		{"number in a string", `{"x":"1.5"}`, `{"x":1.5}`},
		{"boolean in a string", `{"b":"false"}`, `{"b":false}`},
		{"Python's boolean in a string", `{"b":"True"}`, `{"b":true}`},
		{"number where a string will do", `{"ns":"12","s":"12","any":"12"}`, `{"ns":"12","s":"12","any":"12"}`},
		{"null in a string where null will do", `{"nn":"null"}`, `{"nn":null}`},
		{"object in a member", `{"o":"{\"n\":2}"}`, `{"o":{"n":2}}`},
		{"object in a member twice", `{"o":"\"{\\\"n\\\":\\\"2\\\"}\""}`, `{"o":{"n":2}}`},
		{"array in a member", `{"l":"[1, 2]"}`, `{"l":[1,2]}`},
		{"items", `{"l":["1",2.0,3e0]}`, `{"l":[1,2,3]}`},
		{"enum", `{"e":"2"}`, `{"e":2}`},
		{"enum in quotes", `{"e":"\"three\""}`, `{"e":"three"}`},
		{"enum as a whole number", `{"e":2.0}`, `{"e":2}`},
		{"alternatives", `{"u":"5"}`, `{"u":5}`},
		{"alternatives as a whole number", `{"u":5.0}`, `{"u":5}`},
		{"null for what is optional", `{"n":null,"s":"a","o":null}`, `{"s":"a"}`},
		{"null where it will do", `{"nn":null,"any":null}`, `{"nn":null,"any":null}`},
		{"whole numbers", `{"n":12.0,"o":{"n":1e1},"l":[-0.0,100E-2]}`, `{"n":12,"o":{"n":10},"l":[0,1]}`},
		{"whole numbers where any number will do", `{"x":12.0,"any":12.0}`, `{"x":12.0,"any":12.0}`},
		{"big numbers", `{"n":12345678901234567890.0,"x":0.1234567890123456789}`, `{"n":12345678901234567890,"x":0.1234567890123456789}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := checker.Arguments("t", json.RawMessage(c.raw), nil)
			if err != nil || string(got) != c.want {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
	for _, c := range []struct{ name, raw, want string }{
		{"no object", `[1]`, `invalid arguments for tool t: expected object, got array [1]`},
		{"a string", `"Rome"`, `invalid arguments for tool t: expected object, got string "Rome"`},
		{"no JSON", `{n:1}`, `invalid arguments for tool t: not JSON: unexpected 'n' in an object, expected a key in quotes`},
		{"no JSON in a string", `"{n:1}"`, `invalid arguments for tool t: not JSON: unexpected 'n' in an object, expected a key in quotes`},
		{"cut off", `{"n":1`, `invalid arguments for tool t: not JSON: unexpected end of input in an object, expected ',' or '}'`},
		{"null for what is required", `{"o":{"n":null}}`, `invalid arguments for tool t: /o: missing required property "n"`},
		{"no integer in a string", `{"n":"1.5"}`, `invalid arguments for tool t: /n: expected integer, got string "1.5"`},
		{"no number in a string", `{"n":"1,000","x":" "}`, "invalid arguments for tool t:\n- /n: expected integer, got string \"1,000\"\n- /x: expected number, got string \" \""},
		{"put right and still wrong", `{"o":"{\"n\":\"0\"}","b":"maybe"}`, "invalid arguments for tool t:\n- /o/n: expected >= 1, got 0\n- /b: expected boolean, got string \"maybe\""},
		{"exponent", `{"n":1e9999999}`, `invalid arguments for tool t: /n: expected a number of at most 1000 characters and an exponent of at most 400, got 1e9999999`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := checker.Arguments("t", json.RawMessage(c.raw), nil)
			var e *Error
			if got != nil || !errors.As(err, &e) || err.Error() != c.want {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
}

// TestBinderDefaults verifies that missing properties get their defaults, at any depth.
func TestBinderDefaults(t *testing.T) {
	schema := `{"properties":{"unit":{"enum":["celsius","fahrenheit",1],"default":"celsius"},"n":{"$ref":"#/$defs/n"},"o":{"properties":{"a":{"default":[1]},"b":{}}},
		"l":{"items":{"properties":{"x":{"default":null}}}}},"allOf":[{"properties":{"more":{"default":1e300}}}],"$defs":{"n":{"default":{"deep":true},"properties":{"k":{"default":0}}}}}`
	const all = `"unit":"celsius","n":{"deep":true,"k":0}`
	for _, c := range []struct{ schema, arguments, want string }{
		{schema, ``, `{"more":1e300,` + all + `}`},
		{schema, `{"unit":"fahrenheit"}`, `{"unit":"fahrenheit","more":1e300,"n":{"deep":true,"k":0}}`},
		{schema, `{"more":1,"unit":1,"n":1, "o":{"a":1}}`, `{"more":1,"unit":1,"n":1, "o":{"a":1}}`},
		{schema, `{"more":1,"unit":1,"n":{},"o":{},"l":[{},1,{"x":2}]}`, `{"more":1,"unit":1,"n":{"k":0},"o":{"a":[1]},"l":[{"x":null},1,{"x":2}]}`},
		{schema, `{"unit":null,"more":0,"n":0}`, `{"more":0,"n":0,"unit":"celsius"}`},
		{`{"$ref":"#/$defs/a","default":{},"$defs":{"a":{"properties":{"a":{"$ref":"#/$defs/a"}}}}}`, `{"a": {}}`, `{"a": {}}`},
		{`{"properties":{"o":{"$ref":"#/$defs/a%20b"}},"$defs":{"a b":{"properties":{"n":{"default":1}}}}}`, `{"o":{}}`, `{"o":{"n":1}}`},
		{`{"properties":{"n":{"type":"integer","default":"7.0"}},"required":["n"]}`, `{}`, `{"n":7}`},
		{`{"properties":{"n":{"type":"integer","default":"x"}}}`, `{}`, `invalid arguments for tool t: /n: expected integer, got string "x"`},
		{`{"properties":{"n":{"type":"integer","default":"x"}}}`, `{"n":null}`, `invalid arguments for tool t: /n: expected integer, got string "x"`},
		{`{"properties":{"n":{"type":"integer","default":"7.0"}}}`, `{"n":null}`, `{"n":7}`},
		{`{"properties":{"n":{"type":"string","default":null},"o":{"default":1}}}`, `{}`, `{"o":1}`},
	} {
		if got := bind(t, mustBinder(t, c.schema), c.arguments, nil); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.arguments, got, c.want)
		}
	}
}

// TestBinderHidden verifies that hidden properties get the values of the context, and that no
// error tells about them.
func TestBinderHidden(t *testing.T) {
	const schema = `{"type":"object","properties":{"CustomerID":{"type":"integer","minimum":1},"limit":{"type":"integer","default":5},"tag":{"type":"string"}},
		"required":["CustomerID","limit"],"additionalProperties":false,"if":{"properties":{"CustomerID":{"const":666}},"required":["CustomerID"]},"then":{"required":["tag"]}}`
	b := mustBinder(t, schema, "customerid", "CUSTOMERID")
	if want := `{"type":"object","properties":{"limit":{"type":"integer","default":5},"tag":{"type":"string"}},"required":["limit"],"additionalProperties":false}`; string(b.Visible()) != want {
		t.Errorf("visible is\n%s\nwant\n%s", b.Visible(), want)
	}
	for _, c := range []struct{ name, arguments, value, want string }{
		{"filled in", `{"limit":1}`, `42`, `{"limit":1,"CustomerID":42}`},
		{"beside a default", ``, `42`, `{"limit":5,"CustomerID":42}`},
		{"typed by the schema", `{"limit":"2.0"}`, `"42"`, `{"limit":2,"CustomerID":42}`},
		{"whole", `{"limit":2}`, `42.0`, `{"limit":2,"CustomerID":42}`},
		{"sent all the same", `{"customerid":1,"limit":1,"CUSTOMERID":2,"CustomerID":"3"}`, `42`, `{"limit":1,"CustomerID":42}`},
		{"missing", `{"limit":1}`, ``, `Missing context field: customerid`},
		{"missing, and sent", `{"customerid":1}`, ``, `Missing context field: customerid`},
		{"no JSON", `{"limit":1}`, `se`, `Invalid context field: customerid`},
		{"does not fit", `{"limit":1}`, `-4711`, `Invalid context field: customerid`},
		{"null", `{"limit":1}`, `null`, `Invalid context field: customerid`},
		{"refused beside others", `{"limit":1}`, `666`, `Invalid context field: customerid`},
		{"wrong arguments", `{"limit":"x","CustomerID":"y"}`, `42`, `invalid arguments for tool t: /limit: expected integer, got string "x"`},
		{"wrong arguments and a value that does not fit", `{"limit":"x"}`, `-4711`, `invalid arguments for tool t: /limit: expected integer, got string "x"`},
		{"wrong arguments and none", `{"Tag":1}`, ``, `invalid arguments for tool t: unknown property "Tag" (did you mean "tag"?)`},
		{"near what is hidden", `{"CustomerIDs":1}`, `42`, `invalid arguments for tool t: unknown property "CustomerIDs" (known: "tag")`},
		{"no object", `[]`, `42`, `invalid arguments for tool t: expected object, got array []`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := bind(t, b, c.arguments, func(name string) (json.RawMessage, bool) {
				if name != "customerid" {
					t.Errorf("asked for %s", name)
				}
				return json.RawMessage(c.value), c.value != ""
			})
			if got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
	for arguments, want := range map[string]string{`{"customerid":1,"limit": 1}`: `{"limit":1}`, `{"limit":"x"}`: `invalid arguments for tool t: /limit: expected integer, got string "x"`, `7`: `invalid arguments for tool t: expected object, got number 7`} {
		if got := bind(t, b, arguments, nil); got != want {
			t.Errorf("without values: got %s, want %s", got, want)
		}
	}
	b, _, err := NewBinder(json.RawMessage(`{"properties":{},"additionalProperties":{"type":"integer"}}`), []string{"other", "RequestID"}, []string{"q", "requestid"})
	if err != nil {
		t.Fatal(err)
	}
	if got := bind(t, b, `{"requestId": 1, "a": 1}`, func(string) (json.RawMessage, bool) { return json.RawMessage(`"r"`), true }); got != `{"a":1,"requestid":"r"}` {
		t.Errorf("one that only the request names: %s", got)
	}
	const filter = `{"properties":{"customerid":{"type":"integer"}}`
	for name, schema := range map[string]string{
		"an escape":           `{"properties":{"filter":{"$ref":"#/$defs/Filter%3COrder%3E"}},"$defs":{"Filter<Order>":` + filter + `}}}`,
		"an anchor":           `{"properties":{"filter":{"$ref":"#f"}},"$defs":{"f":` + filter + `,"$anchor":"f"}}}`,
		"an inner definition": `{"properties":{"filter":{"$ref":"#/$defs/f","$defs":{"f":` + filter + `}}}}}`,
	} {
		if b, err = NewFiller(json.RawMessage(schema), []string{"customerid"}, nil); err != nil {
			t.Fatal(err)
		}
		if got := bind(t, b, `{"filter":{"customerid":1}}`, func(string) (json.RawMessage, bool) { return json.RawMessage(`42`), true }); got != `{"filter":{"customerid":42}}` {
			t.Errorf("behind %s: %s", name, got)
		}
	}
}

func mustBinder(t *testing.T, schema string, hidden ...string) *Binder {
	t.Helper()
	b, notes, err := NewBinder(json.RawMessage(schema), hidden, nil)
	if err != nil || notes != nil {
		t.Fatalf("%s: %v %v", schema, notes, err)
	}
	return b
}

// bind returns the bound arguments, or the error.
func bind(t *testing.T, b *Binder, arguments string, value func(string) (json.RawMessage, bool)) string {
	t.Helper()
	got, err := b.Bind("t", json.RawMessage(arguments), value)
	if err != nil {
		return err.Error()
	}
	return string(got)
}
