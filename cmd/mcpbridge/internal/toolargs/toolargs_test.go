package toolargs

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

const schema = `{
	"type": "object", "required": ["query"],
	"$defs": {"order": {"enum": ["date", "rank"], "description": "the order"}, "List<a/b>": {"type": "string"}},
	"properties": {
		"query": {"type": "string", "description": "what to\nlook for"},
		"limit": {"type": "integer", "default": 10},
		"score": {"type": "number"},
		"deep": {"type": "boolean"},
		"tags": {"type": "array", "items": {"type": "string"}},
		"sizes": {"type": "array", "items": {"type": "integer"}},
		"order": {"$ref": "#/$defs/order"},
		"behind": {"$ref": "#/$defs/List%3Ca~1b%3E"},
		"filter": {"type": "object"},
		"page": {"type": ["integer", "null"]},
		"either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
		"level": {"anyOf": [{"enum": ["low", "high"]}, {"type": "null"}]},
		"json": {"type": "string"},
		"any": {},
		"perhaps": {"anyOf": [{}, {"type": "null"}]},
		"old": {"type": ["any", "null"]},
		"short": {"type": "string", "anyOf": [{"maxLength": 3}, {"pattern": "^a"}]},
		"with space": {"type": "string"}
	}}`

func taken(name string) bool { return name == "json" }

func TestArguments(t *testing.T) {
	for _, c := range []struct{ line, base, want string }{
		{"--query a --limit 5", `{}`, `{"query":"a","limit":5}`},
		{"--query=true --deep --tags a --tags [b", `{}`, `{"query":"true","deep":true,"tags":["a","[b"]}`},
		{"--deep false --limit -5 --score 1.50", `{}`, `{"limit":-5,"score":1.50,"deep":false}`},
		{"--limit 12345678912345567890", `{"limit":1,"other":2}`, `{"limit":12345678912345567890,"other":2}`},
		{"--limit 1 --limit 2", `{}`, `{"limit":2}`},
		{`--sizes 1 --sizes 2 --filter {"a":1}`, `{}`, `{"sizes":[1,2],"filter":{"a":1}}`},
		{`--sizes [1,2]`, `{}`, `{"sizes":[1,2]}`},
		{"--order rank --page null --either 7 --level high", `{}`, `{"order":"rank","page":null,"either":7,"level":"high"}`},
		{"--either seven --page 2", `{}`, `{"page":2,"either":"seven"}`},
		{"--arg.json x --arg.limit 3", `{}`, `{"limit":3,"json":"x"}`},
		{"--behind 7", `{}`, `{"behind":"7"}`},
		{`--any text`, `{}`, `{"any":"text"}`},
		{`--any [1]`, `{}`, `{"any":[1]}`},
		{`--perhaps text`, `{}`, `{"perhaps":"text"}`},
		{`--perhaps 7 --old text --short 7`, `{}`, `{"perhaps":7,"old":"text","short":"7"}`},
	} {
		f := New(json.RawMessage(schema), taken)
		if err := f.Parse(strings.Fields(c.line), nil); err != nil {
			t.Errorf("%s: %v", c.line, err)
		} else if got, err := f.Arguments(json.RawMessage(c.base)); string(got) != c.want || err != nil {
			t.Errorf("%s: got %s, %v, want %s", c.line, got, err, c.want)
		}
	}
}

func TestFaults(t *testing.T) {
	for line, want := range map[string]string{
		"--lmit 5":          `unknown flag --lmit (did you mean --limit?)`,
		"--contxt":          `unknown flag --contxt (did you mean --context?)`,
		"--nothing":         `unknown flag --nothing (the tool has --query, `,
		"--limit five":      `--limit: expected a whole number, got "five"`,
		"--limit 1.5":       `--limit: expected a whole number, got "1.5"`,
		"--score x":         `--score: expected a number, got "x"`,
		"--deep=perhaps":    `--deep: expected true or false, got "perhaps"`,
		"--deep perhaps":    `unexpected argument "perhaps"`,
		"--order dat":       `--order: expected one of date, rank, got "dat" (did you mean date?)`,
		"--filter a":        `--filter: expected an object as JSON`,
		"--filter {":        `--filter: expected an object as JSON`,
		"--sizes x":         `--sizes: expected a whole number, got "x"`,
		"--page x":          `--page: expected null or integer, got "x"`,
		"--limit":           `flag needs an argument: --limit`,
		"--with\u00a0":      `unknown flag`,
		"--query deep true": `unexpected argument "true"`,
	} {
		err := New(json.RawMessage(schema), taken).Parse(strings.Split(line, " "), []string{"json", "context"})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", line, err, want)
		}
	}
	f := New(json.RawMessage(schema), taken) // a shell's word may have spaces
	if err := f.Parse([]string{"--with space=a b"}, nil); err != nil {
		t.Error(err)
	} else if got, err := f.Arguments(json.RawMessage("{}")); string(got) != `{"with space":"a b"}` || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if err := New(nil, taken).Parse([]string{"--a"}, nil); err == nil || !strings.Contains(err.Error(), "there are no arguments") {
		t.Errorf("got %v", err)
	}
}

func TestUsage(t *testing.T) {
	got := New(json.RawMessage(schema), taken).Usage()
	for _, want := range []string{"--query string ", "what to look for (required)", "--limit integer ", "(default 10)", "--tags string ", "(may be repeated)",
		"--order date|rank ", "--arg.json string", "--filter JSON", "--deep "} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	for _, bad := range []string{"--json", "--arg.limit"} {
		if strings.Contains(got, bad) {
			t.Errorf("%q is in\n%s", bad, got)
		}
	}
}

func TestComplete(t *testing.T) {
	f := New(json.RawMessage(schema), taken)
	texts := func(words []Word) (all []string) {
		for _, w := range words {
			all = append(all, w.Text)
		}
		return all
	}
	if got := texts(f.Complete("")); len(got) != 17 || got[0] != "--query" || !slices.Contains(got, "--arg.json") {
		t.Errorf("flags: %q", got)
	}
	for flag, want := range map[string][]string{"--order": {"date", "rank"}, "--deep": {"true", "false"}, "--limit": nil, "--none": nil} {
		if got := texts(f.Complete(flag)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", flag, got, want)
		}
	}
	if f.TakesValue("--deep") || !f.TakesValue("--limit") || f.TakesValue("--none") {
		t.Error("the wrong flags take values")
	}
}

// Schemas are those of strangers.
func FuzzFlags(f *testing.F) {
	f.Add(schema, "--query", "a")
	f.Add(`{"properties":{"a":{"$ref":"#/properties/a"},"a":{"type":7}}}`, "--a", "1")
	f.Add(`{"properties":{"arg.a":{},"a":{},"":{}}}`, "--arg.a", "[")
	f.Add(`{"properties":{"a":{},"arg.a":{},"arg.arg.a":{}}}`, "--arg.a", "[")
	f.Fuzz(func(t *testing.T, schema, flag, word string) {
		if !json.Valid([]byte(schema)) {
			return
		}
		flags := New(json.RawMessage(schema), taken)
		flags.Usage()
		flags.Complete("")
		flags.Complete(flag)
		if flags.Parse([]string{flag, word}, nil) != nil {
			return
		}
		got, err := flags.Arguments(json.RawMessage(`{"a":1}`))
		if err != nil || !json.Valid(got) {
			t.Errorf("got %s, %v", got, err)
		}
	})
}

// What a schema says is known, also beside a keyword of another form, as "required" in a property had until draft 3.
func TestOddKeywords(t *testing.T) {
	f := New(json.RawMessage(`{"required":true,"properties":{
		"zip":{"type":"string","required":true,"description":"five digits"},
		"n":{"type":"integer","required":false,"enum":{}},"any":true,"some":{"type":"any"},"one":{"type":[{"type":"null"},"string"]}}}`), taken)
	if usage := f.Usage(); !strings.Contains(usage, "--zip string") || !strings.Contains(usage, "five digits (required)") || strings.Count(usage, "required") != 1 {
		t.Errorf("%s", usage)
	}
	if err := f.Parse([]string{"--zip", "12345", "--n", "7", "--any", "8", "--some", "x", "--one", "9"}, nil); err != nil {
		t.Fatal(err)
	}
	if got, err := f.Arguments(json.RawMessage(`{}`)); string(got) != `{"zip":"12345","n":7,"any":8,"some":"x","one":"9"}` || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}

// A property may have the name of the flag with [Prefix] of another one, in either order.
func TestPrefixedNames(t *testing.T) {
	for _, properties := range []string{`"a":{},"arg.a":{}`, `"arg.a":{},"a":{}`} {
		f := New(json.RawMessage(`{"properties":{`+properties+`}}`), taken)
		if err := f.Parse([]string{"--a", "1", "--arg.a", "2"}, nil); err != nil {
			t.Fatal(err)
		}
		if got, err := f.Arguments(json.RawMessage(`{}`)); !strings.Contains(string(got), `"a":1`) || !strings.Contains(string(got), `"arg.a":2`) || err != nil {
			t.Errorf("%s: %s, %v", properties, got, err)
		}
	}
}
