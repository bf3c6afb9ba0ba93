package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// hiddenName and its value, and the value that callers send for it.
const (
	hiddenName  = "customerid"
	hiddenJSON  = `4242`
	hiddenTried = `999`
)

// A hiddenSchemas makes up schemas that name a hidden property somewhere.
type hiddenSchemas struct{ *rand.Rand }

func (r hiddenSchemas) key() string {
	return []string{hiddenName, "CustomerId", "CUSTOMERID", "a", "b", "o", "l"}[r.IntN(7)]
}

// schema returns a schema, which may refer to the definitions a, b and CustomerId, and to a property.
func (r hiddenSchemas) schema(depth int) string {
	if depth == 0 {
		return []string{`{}`, `{"type":"integer"}`, `{"type":["integer","string"]}`, `{"type":"string"}`, `true`, `{"$ref":"#/$defs/a"}`, `{"$ref":"#/$defs/CustomerId"}`, `{"$ref":"#/properties/o"}`}[r.IntN(8)]
	}
	var parts []string
	for range 1 + r.IntN(3) {
		below := func() string { return r.schema(depth - 1) }
		switch r.IntN(15) {
		case 0, 1, 2, 3, 4:
			parts = append(parts, `"properties":`+r.schemas(depth-1))
		case 5:
			parts = append(parts, fmt.Sprintf(`"required":["%s"]`, r.key()))
		case 6:
			parts = append(parts, fmt.Sprintf(`"%s":[%s,%s]`, []string{"allOf", "anyOf", "oneOf"}[r.IntN(3)], below(), below()))
		case 7:
			parts = append(parts, `"$ref":"#/$defs/`+[]string{"a", "b", "CustomerId"}[r.IntN(3)]+`"`)
		case 8:
			parts = append(parts, `"items":`+below())
		case 9:
			parts = append(parts, `"additionalProperties":`+[]string{"false", below()}[r.IntN(2)])
		case 10:
			parts = append(parts, `"if":`+below(), `"then":`+below())
		case 11:
			parts = append(parts, `"not":`+below())
		case 12:
			parts = append(parts, fmt.Sprintf(`"dependentRequired":{"%s":["%s"]},"dependentSchemas":{"%s":%s}`, r.key(), r.key(), r.key(), below()))
		case 13:
			parts = append(parts, fmt.Sprintf(`"default":{"%s":1},"title":"CustomerID","x-key":{"name":"customerid"}`, r.key()))
		case 14:
			parts = append(parts, fmt.Sprintf(`"type":"object","minProperties":%d`, r.IntN(2)))
		}
	}
	return "{" + strings.Join(r.distinct(parts), ",") + "}"
}

// distinct drops members whose keyword came before.
func (r hiddenSchemas) distinct(parts []string) (all []string) {
	seen := map[string]bool{}
	for _, p := range parts {
		if key, _, _ := strings.Cut(p, ":"); !seen[key] {
			seen[key] = true
			all = append(all, p)
		}
	}
	return all
}

func (r hiddenSchemas) schemas(depth int) string {
	var parts []string
	for range r.IntN(5) {
		parts = append(parts, fmt.Sprintf(`"%s":%s`, r.key(), r.schema(depth)))
	}
	return "{" + strings.Join(r.distinct(parts), ",") + "}"
}

// value returns what a caller sends: whatever is hidden has the value 999, also as JSON in a string.
func (r hiddenSchemas) value(depth int) string {
	if depth == 0 {
		return []string{`1`, `"1"`, `"x"`, `null`, `"{\"customerId\":999}"`, `[]`}[r.IntN(6)]
	}
	if r.IntN(5) == 0 {
		return "[" + r.value(depth-1) + "," + r.value(depth-1) + "]"
	}
	var parts []string
	for range r.IntN(6) {
		key := r.key()
		value := r.value(depth - 1)
		if strings.EqualFold(key, hiddenName) {
			value = []string{hiddenTried, `"999"`, `{"a":999}`}[r.IntN(3)]
		}
		parts = append(parts, fmt.Sprintf(`"%s":%s`, key, value))
	}
	return "{" + strings.Join(r.distinct(parts), ",") + "}"
}

// TestHiddenLaw verifies that no caller sees or sets a hidden property, wherever a schema and the
// arguments have it.
func TestHiddenLaw(t *testing.T) {
	bound := 0
	for seed := range uint64(500) {
		r := hiddenSchemas{rand.New(rand.NewPCG(seed, 13))}
		schema := strings.TrimSuffix(r.schema(3), "}")
		if schema != "{" {
			schema += ","
		}
		if !strings.Contains(schema, `"type":"object"`) {
			schema += `"type":"object",`
		}
		schema += fmt.Sprintf(`"$defs":{"a":%s,"b":%s,"CustomerId":{"type":["integer","object"]}}}`, r.schema(2), r.schema(1))
		root, err := tree.Parse([]byte(schema))
		if err != nil {
			continue // a keyword of the root came twice
		}
		b, _, err := NewBinder(root.JSON(), []string{hiddenName}, nil)
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, schema, err)
		}
		visible, err := tree.Parse(b.Visible())
		if err != nil || vocabulary.AnyValue(visible, isHiddenName) {
			t.Fatalf("seed %d: %s\nis shown as\n%s", seed, schema, b.Visible())
		}
		for range 4 {
			if arguments := r.value(3); arguments[0] == '{' && bindHidden(t, b, arguments) {
				bound++
			}
		}
	}
	if bound < 200 {
		t.Errorf("only %d calls were valid", bound)
	}
}

// isHiddenName reports whether a value is the hidden name or has it as a key.
func isHiddenName(n *tree.Node) bool {
	for _, m := range n.Members {
		if strings.EqualFold(m.Key, hiddenName) {
			return true
		}
	}
	return n.Is(tree.Text) && strings.EqualFold(n.Text(), hiddenName)
}

// bindHidden binds arguments and checks who has set what; it reports whether they were valid.
func bindHidden(t *testing.T, b *Binder, raw string) bool {
	t.Helper()
	got, err := b.Bind("t", json.RawMessage(raw), func(string) (json.RawMessage, bool) { return json.RawMessage(hiddenJSON), true })
	if err != nil {
		var fault *ContextError
		text := strings.ToLower(err.Error())
		isTold := strings.Contains(text, hiddenName) && !strings.Contains(raw, `\"`) // else it repeats the string that was sent
		if strings.Contains(text, hiddenJSON) || !errors.As(err, &fault) && isTold {
			t.Fatalf("%s by %s: %v", raw, b.Visible(), err)
		}
		return false
	}
	n, err := tree.Parse(got)
	if err != nil {
		t.Fatal(err)
	}
	vocabulary.AnyValue(n, func(n *tree.Node) bool {
		for _, m := range n.Members {
			if strings.EqualFold(m.Key, hiddenName) && string(m.Value.JSON()) != hiddenJSON {
				t.Fatalf("%s became %s", raw, got)
			}
		}
		return false
	})
	return true
}

// TestAlike verifies which schemas have the same hidden values set in all calls.
func TestAlike(t *testing.T) {
	for schema, want := range map[string]bool{
		`{"type":"object","properties":{"tenant":{"type":"integer"},"q":{"type":"object","properties":{"a":{}}}},"required":["tenant"],"additionalProperties":false}`: true,
		`{"required":["tenant"]}`: true,
		`{"properties":{"q":{}}}`: false, // has none
		`{"properties":{"q":{"properties":{"tenant":{}}},"tenant":{}}}`:                 false,
		`{"properties":{"q":{"$ref":"#"},"tenant":{}}}`:                                 false,
		`{"properties":{"tenant":{}},"additionalProperties":{"required":["tenant"]}}`:   false,
		`{"properties":{"tenant":{}},"anyOf":[{"required":["tenant"]},{}]}`:             false,
		`{"properties":{"tenant":{}},"dependentSchemas":{"q":{"required":["tenant"]}}}`: false,
	} {
		b, err := NewFiller([]byte(schema), []string{"tenant"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if b.Alike() != want {
			t.Errorf("%s: %t", schema, !want)
		}
	}
}

// TestHiddenPlaces verifies where hidden values are set.
// TestHiddenWork verifies that many values, and a schema of many patterns, take no more than their
// share of time.
func TestHiddenWork(t *testing.T) {
	const n = 20_000
	root := &tree.Node{Kind: tree.Array}
	f := &hiddenFiller{}
	var failures []*failure
	for i := range n {
		object := &tree.Node{Kind: tree.Object, Members: []tree.Member{tree.NewMember("id", &tree.Node{Kind: tree.Array})}}
		root.Items = append(root.Items, object)
		f.values = append(f.values, hiddenValue{slot{object, "id"}, "id", i > 0})
		failures = append(failures, &failure{tokens: []string{strconv.Itoa(i)}})
	}
	began := time.Now()
	if !f.undo(failures, root) || len(f.values) != 1 || len(root.Items[1].Members) != 0 {
		t.Errorf("%d values are left", len(f.values))
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("%d failures took %s", n, took)
	}

	var patterns, arguments []string
	for i := range n {
		patterns = append(patterns, fmt.Sprintf(`"^x%d":{}`, i))
		arguments = append(arguments, fmt.Sprintf(`"a%d":1`, i))
	}
	b, err := NewFiller([]byte(`{"properties":{"id":{}},"patternProperties":{`+strings.Join(patterns, ",")+`}}`), []string{"id"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	id := func(string) (json.RawMessage, bool) { return json.RawMessage(`1`), true }
	var refused *ContextError
	if _, err := b.Bind("t", []byte(`{`+strings.Join(arguments, ",")+`}`), id); !errors.As(err, &refused) {
		t.Errorf("too many patterns: %v", err)
	}
	if got, err := b.Bind("t", []byte(`{"a":1}`), id); err != nil || string(got) != `{"a":1,"id":1}` {
		t.Errorf("%s, %v", got, err)
	}
}

func TestHiddenPlaces(t *testing.T) {
	const id = `"customerid":{"type":"integer"}`
	for _, c := range []struct{ name, schema, arguments, want string }{
		{"in allOf", `{"allOf":[{"properties":{` + id + `}}]}`, `{"customerid":999}`, `{"customerid":4242}`},
		{"in a reference", `{"$ref":"#/$defs/A","$defs":{"A":{"properties":{` + id + `},"required":["customerid"]}}}`, `{}`, `{"customerid":4242}`},
		{"in an argument", `{"properties":{"o":{"properties":{` + id + `}}}}`, `{"o":{"x":1,"CustomerID":999}}`, `{"o":{"x":1,"customerid":4242}}`},
		{"in an argument that is not there", `{"properties":{"o":{"properties":{` + id + `}}}}`, `{}`, `{}`},
		{"in items", `{"properties":{"l":{"items":{"properties":{` + id + `}}}}}`, `{"l":[{},{"customerid":999},1]}`, `{"l":[{"customerid":4242},{"customerid":4242},1]}`},
		{"in JSON in a string", `{"properties":{"o":{"type":"object","properties":{"x":{}}}}}`, `{"o":"{\"customerid\":999,\"x\":1}"}`, `{"o":{"x":1}}`},
		{"in the alternative that applies", `{"properties":{"l":{"items":{"oneOf":[{"properties":{"a":{},` + id + `},"required":["a"],"additionalProperties":false},{"properties":{"b":{}},"additionalProperties":false}]}}}}`,
			`{"l":[{"a":1},{"b":1}]}`, `{"l":[{"a":1,"customerid":4242},{"b":1}]}`},
		{"in a map", `{"additionalProperties":{"properties":{` + id + `}}}`, `{"x":{}}`, `{"x":{"customerid":4242}}`},
		{"required only", `{"properties":{"o":{"required":["customerid"]}}}`, `{"o":{}}`, `{"o":{"customerid":"4242"}}`},
		{"in the name of an argument", `{"properties":{"filter[customerid]":{"type":"integer"},"x":{}}}`, `{"filter[CustomerID]":999,"a.customerid":999,"customerid[eq]":999,"x][customerid":999,"x":1}`, `{"x":1,"filter[customerid]":4242}`},
		{"in the name of an argument that cannot get it", `{"properties":{"customerid[eq]":{},"x":{}}}`, `{"customerid[eq]":999,"x":1}`, `{"x":1}`},
		{"nowhere", `{"properties":{"q":{}}}`, `{"q": {"customerid":999,"x": 1}}`, `{"q":{"x":1}}`},
		{"nowhere, and not sent", `{"properties":{"q":{}}}`, `{"q": 1}`, `{"q": 1}`},
	} {
		b, _, err := NewBinder(json.RawMessage(c.schema), []string{"CustomerID"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := bind(t, b, c.arguments, func(string) (json.RawMessage, bool) { return json.RawMessage(`"4242"`), true }); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}
