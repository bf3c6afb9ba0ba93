package check

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

func BenchmarkCheck(b *testing.B) {
	checker := mustChecker(b, shapes)
	b.ReportAllocs()
	for b.Loop() {
		if err := checker.Check(json.RawMessage(`{"shape":{"kind":"box","side":2}}`)); err != nil {
			b.Fatal(err)
		}
	}
}

// fuzzSchemas have one trap each.
var fuzzSchemas = []string{
	`true`, `{}`, shapes,
	`{"$schema":"http://json-schema.org/draft-04/schema#","id":"http://e.com/a","minimum":1,"exclusiveMinimum":true,"items":[{}],"additionalItems":false}`,
	`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/a","definitions":{"a":{"$id":"#b","dependencies":{"a":["b"],"c":{"$ref":"#b"}}}}}`,
	`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"properties":{"c":{"$recursiveRef":"#"}},"unevaluatedItems":false}`,
	`{"$dynamicAnchor":"n","$id":"urn:x:y","properties":{"c":{"$dynamicRef":"#n"}},"$defs":{"n":{"$id":"z","$dynamicAnchor":"n"}}}`,
	`{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"anyOf":[{"$ref":"#/allOf/0"},{"$ref":"#"}]}}}`,
	`{"oneOf":[{"pattern":"(?=a)"},{"not":{"$ref":"#/oneOf/0"}}],"if":{"$ref":"file:///etc/passwd"},"then":false,"unevaluatedProperties":false}`,
	`{"patternProperties":{"^a":{"contains":{"const":1e9999999},"maxContains":0},"(?!x)":false},"propertyNames":{"maxLength":1e300}}`,
	`{"type":["STRING","integer"],"enum":[1.0,"1",null],"required":true,"nullable":true,"components":{"a":{"type":"x"}},"properties":{"a":{"$ref":"#/components/a"},"%41/~":{}}}`,
	`{"type":"object","properties":{"a":{"pattern":"^a$","minLength":1},"b":{"anyOf":[{"$ref":"#/$defs/x"},{"$ref":"#/$defs/y"},{"type":"null"}]}},"$defs":{"x":{"minimum":1e400,"default":1e9999999}},"required":["a"]}`,
	`{"prefixItems":[{"multipleOf":0.1}],"items":{"uniqueItems":true},"dependentRequired":{"a":["b"]},"minContains":-1,"contains":{}}`,
}

var fuzzInstances = []string{
	`null`, `1e9999999`, `"(?=a)"`, `[1,1.0,[0.1,0.2]]`, `{"a":1,"b":{"a":[1]},"%41/~":"{}"}`, `{"c":{"c":{"c":1}}}`, `{"shape":{"kind":"box","side":"1.0"}}`, `"{\"a\":null}"`,
}

// FuzzChecker verifies that a schema that is taken compiles, that no schema and no value makes a check
// panic or hang, and that errors are short and always the same.
func FuzzChecker(f *testing.F) {
	for i, schema := range fuzzSchemas {
		for j := range fuzzInstances {
			if (i+j)%3 == 0 {
				f.Add([]byte(schema), []byte(fuzzInstances[j]))
			}
		}
	}
	f.Fuzz(func(t *testing.T, schema, instance []byte) {
		violations := CheckSchema(schema, nil)
		checker, notes, err := NewChecker(schema)
		if err != nil {
			if violations == nil && !tooManySchemas(err) {
				t.Fatalf("a valid schema cannot be used: %v", err)
			}
			return
		}
		if checker.engines.Get().(*engine) == nil {
			t.Fatal("the schema does not compile, and NewChecker took it")
		}
		got := checker.Check(instance)
		if got != nil && len(got.Error()) > 3000 {
			t.Fatalf("%d bytes: %v", len(got.Error()), got)
		}
		again, notesAgain, err := NewChecker(schema)
		if err != nil || len(notes) != len(notesAgain) {
			t.Fatalf("%v %v %v", notes, notesAgain, err)
		}
		for i := range notes {
			if notes[i] != notesAgain[i] {
				t.Fatalf("%v\n%v", notes[i], notesAgain[i])
			}
		}
		if second := again.Check(instance); got == nil != (second == nil) || got != nil && got.Error() != second.Error() {
			t.Fatalf("%v\nand the second time\n%v", got, second)
		}
	})
}

func tooManySchemas(err error) bool { return bytes.Contains([]byte(err.Error()), []byte("too large")) }

// FuzzIsPlain verifies that the meta-schema of each draft takes a plain schema.
func FuzzIsPlain(f *testing.F) {
	for _, schema := range fuzzSchemas {
		f.Add([]byte(schema))
	}
	f.Add([]byte(`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"%","$comment":"","title":"","description":"","format":"","pattern":"(","type":"integer","properties":{"a":{"const":1}},
		"$defs":{"a":{"default":null}},"definitions":{},"items":{"uniqueItems":true},"additionalProperties":{"minimum":-1e9999999,"maximum":0.5},
		"anyOf":[{}],"oneOf":[{"enum":["a","b"]}],"allOf":[{"required":["a"]}],"minLength":0,"maxLength":99999999999999999999,"minItems":1,"maxItems":2}`))
	f.Add([]byte(`{"properties":{"":{"$schema":""},"a":{"$schema":"://json-schema.org/draft-07/schema"}}}`))
	f.Add([]byte(`{"$comment":"","title":"","type":"object","properties":{"a":{"$schema":"http://json-schema.org/draft-04/schema#","type":"string","enum":["a"],"format":"date"},
		"$id":{"type":"array","items":{"type":"integer","default":1e9999999}},"$ref":{}},"required":["a"],"additionalProperties":false}`))
	f.Fuzz(func(t *testing.T, schema []byte) {
		n, err := tree.Parse(schema)
		if err != nil || !isPlain(n) || rewrite.CheckSize(n) != nil {
			return
		}
		for draft, url := range vocabulary.Drafts {
			if all := libraryViolations(n, draft); len(all) > 0 {
				t.Errorf("%s violates %s: %s", schema, url, all[0].note(nil).Text)
			}
		}
	})
}

// FuzzArguments verifies that accepted arguments are a valid object, and are accepted again
// without a change.
func FuzzArguments(f *testing.F) {
	for _, schema := range fuzzSchemas {
		for _, instance := range fuzzInstances {
			f.Add([]byte(schema), []byte(instance))
		}
	}
	f.Fuzz(func(t *testing.T, schema, raw []byte) {
		checker, _, err := NewChecker(schema)
		if err != nil {
			return
		}
		got, err := checker.Arguments("t", raw, nil)
		if err != nil {
			return
		}
		n, err := tree.Parse(got)
		if err != nil || !n.Is(tree.Object) {
			t.Fatalf("%s: %v", got, err)
		}
		if err := checker.Check(got); err != nil {
			t.Fatalf("%s is not valid: %v", got, err)
		}
		if again, err := checker.Arguments("t", got, nil); err != nil || !bytes.Equal(again, got) {
			t.Fatalf("%s became %s the second time: %v", got, again, err)
		}
		binder, _, err := NewBinder(schema, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		bound, err := binder.Bind("t", raw, nil)
		if err != nil {
			if binder.defaults == nil { // else one of them is wrong
				t.Fatalf("%s cannot be bound: %v", got, err)
			}
			return
		}
		if n, err := tree.Parse(bound); err != nil || !n.Is(tree.Object) || binder.defaults == nil && !bytes.Equal(bound, got) {
			t.Fatalf("%s became %s when it was bound", got, bound)
		}
	})
}

func BenchmarkBind(b *testing.B) {
	binder, _, err := NewBinder(json.RawMessage(`{"type":"object","properties":{"limit":{"type":"integer"},"name":{"type":"string"},"customerid":{"type":"integer"}},"required":["limit","customerid"]}`), []string{"customerid"}, nil)
	if err != nil {
		b.Fatal(err)
	}
	value := func(string) (json.RawMessage, bool) { return json.RawMessage("42"), true }
	b.ReportAllocs()
	for b.Loop() {
		if _, err := binder.Bind("t", json.RawMessage(`{"limit":5}`), value); err != nil {
			b.Fatal(err)
		}
	}
}
