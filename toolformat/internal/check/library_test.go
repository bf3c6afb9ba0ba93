package check

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// TestLibraryMessages pins the English messages of jsonschema/v5 that failure.go and explain.go
// read. A release that rewords one fails here, and the constant or the row of amounts that reads
// it has to follow.
func TestLibraryMessages(t *testing.T) {
	for _, c := range []struct{ schema, instance, want string }{
		{`{"anyOf":[false,false]}`, `1`, "anyOf: anyOf failed"},
		{`{"oneOf":[false,false]}`, `1`, "oneOf: oneOf failed"},
		{`{"oneOf":[true,true]}`, `1`, "oneOf: valid against schemas at indexes 0 and 1"},
		{`{"properties":{"a":false}}`, `{"a":1}`, "properties/a: not allowed"},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, "dependentRequired/a/0: property 'b' is required, if 'a' property exists"},
		{`{"$schema":"http://json-schema.org/draft-07/schema","dependencies":{"a":["b"]}}`, `{"a":1}`, "dependencies/a/0: property 'b' is required, if 'a' property exists"},
		{`{"type":["string","null"]}`, `1`, "type: expected string or null, but got number"},
		{`{"enum":["a","b"]}`, `1`, `enum: value must be one of "a", "b"`},
		{`{"contains":{"type":"null"}}`, `[1]`, "minContains: valid must be >= 1, but got 0"},
		{`{"contains":true,"minContains":2}`, `[1]`, "minContains: valid must be >= 2, but got 1"},
		{`{"contains":true,"maxContains":1}`, `[1,2]`, "maxContains: valid must be <= 1, but got 2"},
		{`{"minLength":2}`, `"a"`, "minLength: length must be >= 2, but got 1"},
		{`{"maxLength":1}`, `"ab"`, "maxLength: length must be <= 1, but got 2"},
		{`{"minItems":2}`, `[1]`, "minItems: minimum 2 items required, but found 1 items"},
		{`{"maxItems":1}`, `[1,2]`, "maxItems: maximum 1 items required, but found 2 items"},
		{`{"$schema":"http://json-schema.org/draft-07/schema","items":[true],"additionalItems":false}`, `[1,2]`, "additionalItems: only 1 items are allowed, but found 2 items"},
		{`{"minProperties":2}`, `{"a":1}`, "minProperties: minimum 2 properties allowed, but found 1 properties"},
		{`{"maxProperties":1}`, `{"a":1,"b":2}`, "maxProperties: maximum 1 properties allowed, but found 2 properties"},
		{`{"uniqueItems":true}`, `[1,2,1]`, "uniqueItems: items at index 0 and 2 are equal"},
	} {
		var value any
		if err := json.Unmarshal([]byte(c.instance), &value); err != nil {
			t.Fatal(err)
		}
		invalid, _ := jsonschema.MustCompileString("mem:///"+t.Name(), c.schema).Validate(value).(*jsonschema.ValidationError)
		if got := libraryMessages(invalid); !slices.Contains(got, c.want) {
			t.Errorf("%s of %s: jsonschema/v5 says %q, and this package reads %q", c.schema, c.instance, got, c.want)
		}
	}
}

// libraryMessages lists an error and its causes, each with the place of its keyword.
func libraryMessages(e *jsonschema.ValidationError) []string {
	if e == nil {
		return nil
	}
	_, keyword, _ := strings.Cut(e.AbsoluteKeywordLocation, "#/")
	all := []string{fmt.Sprintf("%s: %s", keyword, e.Message)}
	for _, cause := range e.Causes {
		all = append(all, libraryMessages(cause)...)
	}
	return all
}

// TestAmounts verifies that every row of amounts reads its message and rewords it.
func TestAmounts(t *testing.T) {
	for keyword, row := range amounts {
		f := &failure{keyword: keyword, message: fmt.Sprintf(row.read, 3, 7)}
		if got, want := f.amount(), fmt.Sprintf(row.write, 3, 7); got != want || got == f.message {
			t.Errorf("%s: %q became %q, want %q", keyword, f.message, got, want)
		}
	}
}
