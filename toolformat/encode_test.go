package toolformat

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

const weatherSchema = `{"type":"object","properties":{"location":{"type":"string"},"n":{"type":"integer","maximum":9223372036854775807}},"required":["location"]}`

// TestEncode verifies how each format writes one tool.
func TestEncode(t *testing.T) {
	tool := Tool{Name: "weather", Description: "Says \"sun\" <always>.", InputSchema: json.RawMessage(weatherSchema), OutputSchema: json.RawMessage(`{"type":"object"}`)}
	const about = `"description":"Says \"sun\" <always>."`
	for format, want := range map[Format]string{
		FormatInternal:        `[{"name":"weather",` + about + `,"input_schema":` + weatherSchema + `,"output_schema":{"type":"object"}}]`,
		FormatMCP:             `[{"name":"weather",` + about + `,"inputSchema":` + weatherSchema + `,"outputSchema":{"type":"object"}}]`,
		FormatAnthropic:       `[{"name":"weather",` + about + `,"input_schema":` + weatherSchema + `}]`,
		FormatOpenAI:          `[{"type":"function","function":{"name":"weather",` + about + `,"parameters":` + weatherSchema + `}}]`,
		FormatOpenAIResponses: `[{"type":"function","name":"weather",` + about + `,"parameters":` + weatherSchema + `,"strict":false,"output_schema":{"type":"object"}}]`,
		FormatOllama:          `[{"type":"function","function":{"name":"weather",` + about + `,"parameters":` + weatherSchema + `}}]`,
		FormatGemini:          `[{"functionDeclarations":[{"name":"weather",` + about + `,"parametersJsonSchema":` + weatherSchema + `,"responseJsonSchema":{"type":"object"}}]}]`,
		FormatAcorn:           `[{"type":"client","function":{"name":"weather",` + about + `,"parameters":` + weatherSchema + `},"context":[]}]`,
	} {
		set, err := Encode([]Tool{tool}, format, Options{})
		if err != nil || len(set.Tools) != 1 {
			t.Errorf("%s: %v %+v", format, err, set)
			continue
		}
		if got := string(set.JSON()); got != want && format != FormatOllama { // Ollama describes the maximum
			t.Errorf("%s:\n got %s\nwant %s", format, got, want)
		}
		notes := slices.DeleteFunc(slices.Clone(set.Tools[0].Notes), func(n Note) bool { return n.Rule == "keyword" })
		leftOut := internalMembers[3:]
		if f, _ := lookup(format); f.output != nil {
			leftOut = nil
		}
		if got := notePaths(notes); !slices.Equal(got, prefixed(leftOut)) {
			t.Errorf("%s: notes %v", format, notes)
		}
	}
}

func notePaths(notes []Note) []string {
	var all []string
	for _, n := range notes {
		all = append(all, n.Path)
	}
	return all
}

func prefixed(keys []string) []string {
	var all []string
	for _, key := range keys {
		all = append(all, "/"+key)
	}
	return all
}

// TestEncodeSameFormat verifies that other members of a definition keep their places.
func TestEncodeSameFormat(t *testing.T) {
	for _, c := range []struct {
		format   Format
		in, want string
	}{
		{FormatMCP, `{ "title": "T", "name":"a", "annotations": {"x": 1.0}, "inputSchema":{"type":"object"}, "_meta":null}`, ``},
		{FormatAnthropic, `{"cache_control":{"type":"ephemeral"},"name":"a","input_schema":{"type":"object","properties":{}},"type":"custom"}`, ``},
		{FormatOpenAI, `{"function":{"strict":true,"name":"a","parameters":{"type":"object","properties":{}}},"type":"function","x":1}`, ``},
		{FormatOpenAI, `{"name":"a","parameters":{"type":"object","properties":{}}}`, `{"type":"function","function":{"name":"a","parameters":{"type":"object","properties":{}}}}`},
		{FormatOpenAIResponses, `{"type":"function","name":"a","strict":true,"parameters":{"type":"object","properties":{}},"defer_loading":true}`, ``},
		{FormatOpenAIResponses, `{"type":"function","name":"a","strict":null,"parameters":{"type":"object","properties":{}}}`, `{"type":"function","name":"a","strict":false,"parameters":{"type":"object","properties":{}}}`},
		{FormatOllama, `{"type":"function","function":{"name":"a","parameters":{"type":"object","properties":{}}},"items":[]}`, ``},
		{FormatGemini, `{"behavior":"BLOCKING","name":"a","description":"d","parameters":{"type":"object","properties":{}}}`, `{"behavior":"BLOCKING","name":"a","description":"d","parametersJsonSchema":{"type":"object","properties":{}}}`},
		{FormatAcorn, `{"type":"api","function":{"name":"a b","description":"","parameters":{"type":"object","properties":{"id":{}}}},"context":["ID"],"api":{"query":"q"}}`, ``},
		{FormatAcorn, `{"type":"api","function":{"name":"InternalSaveChatMessage","parameters":{"type":"object","properties":{}}},"context":["ID"],"api":{"query":"q"}}`, ``},
		{FormatAcorn, `{"name":"a","parameters":{"type":"object","properties":{}}}`, `{"type":"client","function":{"name":"a","parameters":{"type":"object","properties":{}}},"context":[]}`},
	} {
		reading, err := Read([]byte(c.in), c.format)
		if err != nil || len(reading.Tools) != 1 {
			t.Errorf("%s: %v %+v", c.in, err, reading)
			continue
		}
		if c.want == "" {
			c.want = string(compact([]byte(c.in)))
		}
		set, err := Encode(reading.Tools, c.format, Options{})
		if err != nil || len(set.Tools) != 1 || len(set.Tools[0].Notes) > 0 {
			t.Errorf("%s: %v %+v", c.in, err, set)
		} else if got := string(set.Tools[0].JSON); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}

// TestEncodeLeftOut verifies that members without a place in the format are noted.
func TestEncodeLeftOut(t *testing.T) {
	const everything = `{"name":"a","title":"T","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"annotations":{},"icons":[],"_meta":{"a/b":1},"execution":{},"x/y":1}`
	for _, c := range []struct {
		in   string
		to   Format
		want []string
	}{
		{everything, FormatAnthropic, []string{"/title", "/annotations", "/icons", "/_meta", "/execution", "/x~1y", "/output_schema"}},
		{everything, FormatInternal, []string{"/title", "/annotations", "/icons", "/_meta", "/execution", "/x~1y"}},
		{`{"name":"a","input_schema":{"type":"object"},"output_schema":{},"title":"T"}`, FormatInternal, []string{"/title"}},
		{`{"type":"function","function":{"name":"a","description":"d","parameters":{"type":"object"},"strict":false}}`, FormatAnthropic, nil},
		{`{"type":"function","function":{"name":"a","description":"d","parameters":{"type":"object"},"strict":true,"x":1},"y":1}`, FormatAnthropic, []string{"/y", "/strict", "/x"}},
		{`{"type":"custom","name":"a","description":"d","input_schema":{"type":"object"},"cache_control":null}`, FormatMCP, nil},
		{`{"type":"api","function":{"name":"a","parameters":{"type":"object"}},"context":[],"api":{"path":"/"}}`, FormatMCP, []string{"/api"}},
	} {
		set := encodeOne(t, c.in, c.to)
		if set == nil {
			continue
		}
		var got []string
		for _, n := range set.Tools[0].Notes {
			if n.Rule == ruleLeftOut {
				got = append(got, n.Path)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s to %s: left out %v, want %v", c.in, c.to, got, c.want)
		}
	}
	set := encodeOne(t, everything, FormatOpenAI)
	if got, want := set.Tools[0].Notes[0].String(), `a: /title: "title" left out: openai has no place for it`; got != want {
		t.Errorf("got %s", got)
	}
	if back := encodeOne(t, everything, FormatMCP); string(back.Tools[0].JSON) != everything {
		t.Errorf("got %s", back.Tools[0].JSON)
	}
}

// encodeOne converts one definition that both formats can carry.
func encodeOne(t *testing.T, in string, to Format) *Set {
	t.Helper()
	reading, err := Read([]byte(in), "")
	if err != nil || len(reading.Tools) != 1 {
		t.Fatalf("%s: %v %+v", in, err, reading)
	}
	set, err := Encode(reading.Tools, to, Options{})
	if err != nil || len(set.Tools) != 1 {
		t.Fatalf("%s: %v %+v", in, err, set)
	}
	return set
}

// TestEncodeRepairs verifies that what a format requires is added.
func TestEncodeRepairs(t *testing.T) {
	for _, c := range []struct {
		in   Tool
		to   Format
		want string
		rule string
	}{
		{Tool{Name: "a"}, FormatInternal, `{"name":"a","description":"Tool: a","input_schema":{"type":"object","properties":{}}}`, "description no-schema"},
		{Tool{Name: "a"}, FormatMCP, `{"name":"a","inputSchema":{"type":"object","properties":{}}}`, "no-schema"},
		{Tool{Name: "a", Description: " ", InputSchema: []byte("null")}, FormatGemini, `{"name":"a","description":"Tool: a","parametersJsonSchema":{"type":"object","properties":{}}}`, "description no-schema"},
		{Tool{Name: "get-it", Description: "d", InputSchema: []byte(`{"title":"T"}`)}, FormatInternal,
			`{"name":"get_it_` + wording.Hash("get-it", 8) + `","description":"d","input_schema":{"title":"T","type":"object","properties":{}}}`, "name root root"},
		{Tool{Name: "a", Description: "d", InputSchema: []byte(`{"type":"object","properties":{}}`), OutputSchema: []byte(`{"type":7}`)}, FormatGemini,
			`{"name":"a","description":"d","parametersJsonSchema":{"type":"object","properties":{}}}`, "output"},
	} {
		set, err := Encode([]Tool{c.in}, c.to, Options{})
		if err != nil || len(set.Tools) != 1 {
			t.Errorf("%+v: %v %+v", c.in, err, set)
			continue
		}
		var rules []string
		for _, n := range set.Tools[0].Notes {
			rules = append(rules, n.Rule)
		}
		one := &Set{Format: c.to, Tools: set.Tools}
		want, got := parse(t, c.want), parse(t, string(one.Tools[0].JSON))
		if !got.Equal(want) || strings.Join(rules, " ") != c.rule {
			t.Errorf("%s to %s:\n got %s %v\nwant %s %s", c.in.Name, c.to, got.JSON(), set.Tools[0].Notes, c.want, c.rule)
		}
	}
}

func parse(t *testing.T, data string) *tree.Node {
	t.Helper()
	n, err := tree.Parse([]byte(data))
	if err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return n
}

// TestEncodeFaults verifies that a tool that a format cannot express is left out, and the others
// stay.
func TestEncodeFaults(t *testing.T) {
	tools := []Tool{
		{Name: "a", InputSchema: []byte(`{"type":"object"}`)},
		{Name: "", InputSchema: []byte(`{"type":"object"}`)},
		{Name: "b", InputSchema: []byte(`{"type":"object","properties":{"x":{"type":7},"y":{"type":"strin"}}}`)},
		{Name: "a"},
		{Name: "c", InputSchema: []byte(`{"type":`)},
		{Name: "d", InputSchema: []byte(`"object"`)},
		{Name: "e", InputSchema: []byte(strings.Repeat(`{"not":`, rewrite.MaxDepth) + "{}" + strings.Repeat(`}`, rewrite.MaxDepth))},
		{Name: "f"},
	}
	want := []string{
		"/name: the tool has no name",
		"b: /input_schema/properties/x/type: ", // two of them
		`a: /name: duplicate name: tools 1 and 4 of the set are both called "a", and the first is kept`,
		"c: /input_schema: not JSON: unexpected end of input, expected a JSON value",
		`d: /input_schema: expected a JSON Schema, an object, got a string`,
		"e: /input_schema: nested deeper than 100 levels",
	}
	for _, format := range []Format{FormatInternal, FormatAnthropic, FormatOpenAI, FormatOpenAIResponses, FormatOllama, FormatGemini} {
		set, err := Encode(tools, format, Options{})
		if err != nil || len(set.Tools) != 2 || set.Tools[0].Name != "a" || set.Tools[1].Name != "f" || len(set.Faults) != len(want) {
			t.Errorf("%s: %v %+v", format, err, set)
			continue
		}
		for i, f := range set.Faults {
			if f.Index != i+1 || !strings.HasPrefix(joinNotes(f.Notes), want[i]) {
				t.Errorf("%s: fault %d: %+v, want %s", format, i, f, want[i])
			}
		}
		if len(set.Faults[1].Notes) != 2 {
			t.Errorf("%s: %v", format, set.Faults[1].Notes)
		}
	}
	reading, err := Read([]byte(`[{"type":"api","function":{"name":"internalgetchatmessages"},"context":[],"api":{}},{"name":"x"}]`), "")
	if err != nil || len(reading.Tools) != 2 {
		t.Fatalf("%v %+v", err, reading)
	}
	set, err := Encode(reading.Tools, FormatOpenAI, Options{})
	if err != nil || len(set.Tools) != 1 || len(set.Faults) != 1 {
		t.Errorf("%v %+v", err, set)
	}
}

// TestEncodeDuplicateOfFault verifies that a tool is kept if the one before it with the same name
// is left out.
func TestEncodeDuplicateOfFault(t *testing.T) {
	set, err := Encode([]Tool{{Name: "a", InputSchema: []byte("[]")}, {Name: "a"}}, FormatOpenAI, Options{})
	if err != nil || len(set.Tools) != 1 || len(set.Faults) != 1 || set.Faults[0].Index != 0 {
		t.Errorf("%v %+v", err, set)
	}
}

func TestEncodeOptions(t *testing.T) {
	tools := []Tool{{Name: "a", InputSchema: []byte(`{"type":"object","properties":{}}`)}}
	for format, want := range map[Format]string{FormatOpenAI: `"strict":true}}`, FormatOpenAIResponses: `"strict":true}`} {
		set, err := Encode(tools, format, Options{Strict: true})
		if err != nil || len(set.Tools) != 1 || !strings.HasSuffix(string(set.Tools[0].JSON), want) {
			t.Errorf("%s: %v %+v", format, err, set)
		}
	}
	reading, _ := Read([]byte(`{"type":"function","name":"a","parameters":{"type":"object","properties":{}},"strict":false}`), "")
	if set, err := Encode(reading.Tools, FormatOpenAIResponses, Options{Strict: true}); err != nil || !strings.Contains(string(set.JSON()), `"strict":true`) {
		t.Errorf("%v %s", err, set.JSON())
	}
	_, err := Encode(tools, FormatGemini, Options{Strict: true})
	if err == nil || err.Error() != "gemini has no strict mode (openai and openai-responses have)" {
		t.Errorf("got %v", err)
	}
	if _, err = Encode(tools, "claude", Options{}); err == nil {
		t.Error("claude is a format")
	}
	for _, format := range Formats() {
		if set, err := Encode(nil, format, Options{}); err != nil || string(set.JSON()) != "[]" {
			t.Errorf("%s: %v %s", format, err, set.JSON())
		}
	}
	if got := string((&Set{}).JSON()); got != "[]" {
		t.Errorf("the zero set is %s", got)
	}
}

// TestEncodeContext verifies that hidden arguments are neither shown to a model nor required of
// it.
func TestEncodeContext(t *testing.T) {
	const entry = `{"type":"api","function":{"name":"orders","parameters":{"type":"object","properties":{"customerid":{"type":"integer"},"limit":{"type":"integer"}},"required":["customerid","limit"]}},"context":["CustomerID","other",7],"api":{"query":"q"}}`
	for _, to := range []Format{FormatMCP, FormatInternal, FormatAnthropic, FormatOpenAIResponses} {
		set := encodeOne(t, entry, to)
		c := set.Tools[0]
		if strings.Contains(string(c.JSON), "customer") || !strings.Contains(string(c.JSON), `"required":["limit"]`) {
			t.Errorf("%s: %s", to, c.JSON)
		}
		if strings.Contains(string(c.Tool.InputSchema), "customer") {
			t.Errorf("%s: arguments are held against %s", to, c.Tool.InputSchema)
		}
		if i := slices.IndexFunc(c.Notes, func(n Note) bool { return n.Rule == ruleContext }); i < 0 || c.Notes[i].Path != "/input_schema/properties/customerid" {
			t.Errorf("%s: %v", to, c.Notes)
		}
	}
}

// TestEncodeKeepsBytes verifies that schemas that no pass changes keep their bytes, white space
// aside.
func TestEncodeKeepsBytes(t *testing.T) {
	const schema = `{"type":"object","properties":{"\u00e9":{"type":"number","const":1.0e2,"x":"\/<&>"}},"x-mine":[1,2]}`
	for _, format := range []Format{FormatInternal, FormatMCP, FormatAcorn} {
		set, err := Encode([]Tool{{Name: "a", Description: "d", InputSchema: []byte(strings.ReplaceAll(schema, ",", " ,\n\t"))}}, format, Options{})
		if err != nil || len(set.Tools) != 1 || !strings.Contains(string(set.Tools[0].JSON), schema) || len(set.Tools[0].Notes) > 0 {
			t.Errorf("%s: %v %s", format, err, set.JSON())
		}
	}
}

// BenchmarkEncode encodes a hundred typical tools.
func BenchmarkEncode(b *testing.B) {
	var tools []byte
	for i := range 100 {
		name := strings.Repeat("x", i%60+1) + string(rune('a'+i%26)) + "-tool"
		tools = append(tools, `{"name":"`+name+`","description":"d","inputSchema":`+weatherSchema+`,"title":"T","annotations":{"readOnlyHint":true}}`...)
	}
	for _, format := range Formats() {
		b.Run(string(format), func(b *testing.B) {
			for b.Loop() {
				reading, err := Read(tools, "")
				if err != nil {
					b.Fatal(err)
				}
				if _, err := Encode(reading.Tools, format, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
