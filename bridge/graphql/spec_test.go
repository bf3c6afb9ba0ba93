package graphql

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

func TestSpecErrors(t *testing.T) {
	b := openAPI(t, "", `{"url":"http://localhost"}`)
	for _, c := range []struct{ query, operation, sel, want string }{
		{"", "", "", "graphql: query is empty"},
		{" \n\t", "", "", "graphql: query is empty"},
		{"# only this", "", "", "the document has no operation"},
		{"fragment F on A { a }", "", "", "the document has no operation"},
		{"query {", "", "", "line 1, column 8: expected a name, got the end"},
		{"query {\r\n  a\n  é }", "", "", `line 3, column 3: unexpected character 'é'`},
		{"query { }", "", "", "expected a name, got }"},
		{"query ($a Int) {a}", "", "", "line 1, column 11: expected :, got Int"},
		{"query ($a: Int!!) {a}", "", "", "expected $, got !"},
		{"query ($a: [Int Int]) {a}", "", "", "expected ], got Int"},
		{"query () {a}", "", "", "expected $, got )"},
		{"query ($a: Int = $b) {a}", "", "", "must not contain variables"},
		{"query ($a: Int, $a: Int) {a}", "", "", "$a is declared twice"},
		{`{a(s: "x)}`, "", "", "line 1, column 7: unterminated string"},
		{"{a(s: \"x\n\")}", "", "", "line 1, column 7: unterminated string; a string of several lines"},
		{`{a(s: """x"")}`, "", "", "unterminated block string"},
		{`{a(s: "\x")}`, "", "", "line 1, column 8: unknown escape"},
		{`{a(s: "\u12")}`, "", "", "unknown escape"},
		{`{a(s: "\u{D800}")}`, "", "", "unknown escape"},
		{`{a(s: "\u{110000}")}`, "", "", "unknown escape"},
		{`{a(s: "\u{}")}`, "", "", "unknown escape"},
		{`{a(s: "\uD83D")}`, "", "", "unknown escape"},
		{`{a(s: "\uD83DuDE00")}`, "", "", "unknown escape"},
		{`{a(s: "\uDE00\uD83D")}`, "", "", "unknown escape"},
		{"{a(n: 01)}", "", "", "is not a number"},
		{"{a(n: 1.)}", "", "", "is not a number"},
		{"{a(n: 1x)}", "", "", "is not a number"},
		{"{a(n: -)}", "", "", "is not a number"},
		{"{a} }", "", "", "expected query, mutation, fragment or {, got }"},
		{"type A { a: Int }", "", "", "expected query, mutation, fragment or {, got type"},
		{"fragment on on A {a}", "", "", "must not be named on"},
		{"fragment F in A {a}", "", "", "expected on, got in"},
		{"{..F}", "", "", "unexpected character"},
		{"{a} {b}", "", "", "must be the only one"},
		{"query A {a} {b}", "", "", "must be the only one"},
		{"query A {a} query A {b}", "", "", "duplicate operation A"},
		{"{...F} fragment F on A {a} fragment F on A {b}", "", "", "duplicate fragment F"},
		{"query A {a} query B {b}", "", "", "operationName is empty and the query has several operations: expected one of A, B"},
		{"query A {a} query B {b}", "C", "", `the query has no operation "C"; it has A, B`},
		{"{a}", "C", "", "the operation has no name"},
		{"subscription S {a}", "", "", "a subscription does not have a single answer"},
		{"query A {a} subscription S {a}", "S", "", "a subscription"},
		{"query ($idd: Int) {a(id: $id)}", "", "", "does not declare the variable $id (did you mean $idd?)"},
		{"{...F} fragment F on A {a(x: $x)}", "", "", "does not declare the variable $x"},
		{"{...F}", "", "", "unknown fragment F"},
		{strings.Repeat("{a", 300), "", "", "nested more than 200 deep"},
		{"{a(x: " + strings.Repeat("[", 1000) + ")}", "", "", "nested more than 200 deep"},
		{"query ($a: " + strings.Repeat("[", 1000) + ") {a}", "", "", "nested more than 200 deep"},
		{strings.Repeat(" ", maxDocument) + "{a}", "", "", "at most 1048576 are read"},
		{"{a}", "", "a", "is not a JSON Pointer"},
		{"{a}", "", "/~2", "is not a JSON Pointer"},
	} {
		raw, err := json.Marshal(Spec{Query: c.query, OperationName: c.operation, Select: c.sel})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := b.Tool(toolformat.Tool{Name: "t"}, raw); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s: %v\nwant %s", c.query, err, c.want)
		}
	}
	for spec, want := range map[string]string{`{}`: "query", `{"query":"{a}","selct":"/a"}`: "select", `{"query":5}`: "query"} {
		if _, _, err := b.Tool(toolformat.Tool{Name: "t"}, json.RawMessage(spec)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

// everything contains every construct of an executable document.
const everything = "\ufeff# a comment with { and \"\n" + `
"""A description with \""" in it and }"""
query Q("of a variable" $a: [[Int!]!]! = [[1], [-2]] @d(x: 1), $b: In = {a: "}", b: [E, true, null, 1.5e-3]}, $c: ID) @d(x: $c) {
  alias: field(a: $a, b: {x: [$b, "\u00e9\u{1F600}\u{000041}\uD83D\uDE00\"$no"], y: """ $no } \""" """}) @include(if: true) { ...F ... on T @d { x } ... { on } ... @skip(if: false) { query } }
  fragment mutation, type
}
mutation M($x: Int) { m(x: $x) }
fragment F on T @d { y(c: $c) ...F }
`

func TestParse(t *testing.T) {
	doc, err := parse(everything)
	if err != nil {
		t.Fatal(err)
	}
	op, err := doc.choose("Q")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range op.variables {
		got = append(got, v.name+" "+v.typ.String())
		if v.hasDefault != (v.name != "c") || v.required() {
			t.Errorf("%+v", v)
		}
	}
	if want := []string{"a [[Int!]!]!", "b In", "c ID"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if unused, err := doc.resolve(op); err != nil || len(unused) > 0 {
		t.Errorf("%v %v", err, unused)
	}
}

func TestOperationName(t *testing.T) {
	d := sourcetest.NewAPI(t, nil)
	tool := newTool(t, openAPI(t, d.URL, `{"url":"URL"}`), Spec{Query: "query A($x: Int!) {a(x: $x)} mutation B($y: Int!) {b(y: $y)}", OperationName: "B"})
	if _, err := tool.Call(t.Context(), json.RawMessage(`{"x":1,"y":2}`)); err != nil {
		t.Fatal(err)
	}
	if got := d.Last(t).Body; !strings.HasSuffix(got, `,"operationName":"B","variables":{"y":2}}`) {
		t.Error(got)
	}
}

func TestNotes(t *testing.T) {
	b := openAPI(t, "", `{"url":"http://localhost"}`)
	for _, c := range []struct{ query, schema, want string }{
		{"query($a: Int!, $b: [Int]) {x(a: $a, b: $b)}", `{"properties":{"a":{"type":"integer"},"b":{"type":"array"}},"required":["a"]}`, ``},
		{"query($slip: ID!) {x(a: $slip)}", `{"properties":{"slid":{}}}`,
			"t: /graphql: the variable $slip: ID! is not a property (did you mean slid?); every call fails without it\n" +
				"t: /input_schema/properties/slid: slid is not a variable of the operation and is never sent (did you mean $slip?)\n"},
		{"query($a: Int = 1) {x(a: $a)}", ``, "t: /graphql: the variable $a: Int is not a property; it is omitted from every request\n"},
		{"query($a: Int!) {x(a: $a)}", `{"properties":{"a":{}}}`, "t: /input_schema/properties/a: a is not required, but the variable $a: Int! is: a call without it fails\n"},
		{"query($a: Int!) {x(a: $a)}", `{"properties":{"a":{"default":1}}}`, ``},
		{"query($limit: Int!) {x(a: $limit)}", `{"properties":{"limit":{"type":"string"}},"required":["limit"]}`,
			"t: /input_schema/properties/limit: limit is of type string, but the variable is $limit: Int!: a call fails unless its value can be converted\n"},
		{"query($a: String) {x(a: $a)}", `{"properties":{"a":{"type":"array"}}}`, "t: /input_schema/properties/a: a is of type array, but the variable is $a: String: a call fails unless its value can be converted\n"},
		{"query($a: In, $b: [ID]) {x(a: $a, b: $b)}", `{"properties":{"a":{"type":"object"},"b":{"type":"integer"}}}`, ``},
		{"query($a: Int) {x}", `{"properties":{"a":{}}}`, "t: /graphql: the operation declares the variable $a and does not use it: a server may refuse the query\n"},
		{"{x}", `{"properties":{"a/b":{}}}`, "t: /input_schema/properties/a~1b: a/b is not a variable of the operation and is never sent\n"},
	} {
		raw, err := json.Marshal(Spec{Query: c.query})
		if err != nil {
			t.Fatal(err)
		}
		_, notes, err := b.Tool(toolformat.Tool{Name: "t", InputSchema: json.RawMessage(c.schema)}, raw)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for _, n := range notes {
			got.WriteString(n.Tool + ": " + n.Path + ": " + n.Text + "\n")
		}
		if got.String() != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.query, &got, c.want)
		}
	}
}

// TestCorpus: every GraphQL tool of Acorn's examples loads and sends its query.
// $MCPBRIDGE_CORPUS has them below acorn/.
func TestCorpus(t *testing.T) {
	want := map[string]struct {
		arguments, variables string
		notes                int // the arguments of the last two come from the program and are not properties
	}{
		"character_by_name":       {`{"name":"Rick"}`, `{"name":"Rick"}`, 0},
		"episode_by_id":           {`{"episodeid":"S01E01"}`, `{"episodeid":"S01E01"}`, 0},
		"ordered_products":        {`{"customerid":5.0}`, `{"customerid":5}`, 0},
		"spending_by_week":        {`{"customerid":5}`, `{"customerid":5}`, 0},
		"orders":                  {`{"limit":"3","customerid":"5"}`, `{"customerid":5,"limit":3}`, 0},
		"InternalSaveChatMessage": {`{"role":"user","content":"c","customerid":5,"uuid":"u"}`, `{"role":"user","content":"c","customerid":5}`, 5},
		"InternalGetChatMessages": {`{"customerid":5,"limit":50}`, `{"customerid":5,"limit":50}`, 2},
	}
	d := sourcetest.NewAPI(t, nil)
	b := openAPI(t, d.URL, `{"type":"graphql","url":"URL"}`)
	found := 0
	for _, e := range sourcetest.AcornTools(t) {
		var spec Spec
		if json.Unmarshal(e.API, &spec) != nil || spec.Query == "" {
			continue // another kind
		}
		found++
		c, known := want[e.Function.Name]
		tool, notes, err := b.Tool(toolformat.Tool{Name: e.Function.Name, InputSchema: e.Function.Parameters}, e.API)
		if err != nil || !known || len(notes) != c.notes {
			t.Errorf("%s: %v %v", e.Function.Name, err, notes)
			continue
		}
		if _, err := tool.Call(t.Context(), json.RawMessage(c.arguments)); err != nil {
			t.Error(err)
			continue
		}
		var sent struct {
			Query     string
			Variables json.RawMessage
		}
		if err := json.Unmarshal([]byte(d.Last(t).Body), &sent); err != nil || sent.Query != spec.Query || string(sent.Variables) != c.variables {
			t.Errorf("%s: %v %s", e.Function.Name, err, d.Last(t).Body)
		}
	}
	if found != len(want) {
		t.Errorf("%d GraphQL tools, want %d", found, len(want))
	}
}

// A document of the largest size is parsed in time that grows with its size.
func TestLargeDocument(t *testing.T) {
	var operations, variables strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&operations, "query q%d {a} ", i)
		fmt.Fprintf(&variables, "$v%d: Int ", i)
	}
	for _, src := range []string{operations.String(), "query (" + variables.String() + ") {a}"} {
		if _, err := parse(src); err != nil {
			t.Errorf("%.40s: %v", src, err)
		}
		begin, end := src[:len(src)/2], src[len(src)/2:]
		if _, err := parse(begin + " query q1 {a} " + end); err == nil {
			t.Errorf("%.40s: the second q1 is taken", src)
		}
	}
}
