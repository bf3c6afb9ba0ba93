package toolformat

import (
	"strings"
	"testing"
)

// What one tool looks like in each format, and how it is recognized.
var weatherShapes = []struct {
	format Format
	json   string
}{
	{FormatInternal, `{"name":"w","description":"d","input_schema":{"type":"object","properties":{}}}`},
	{FormatInternal, `{"name":"get-w","input_schema":{"type":"object"},"output_schema":{"type":"string"}}`},
	{FormatMCP, `{"name":"w","inputSchema":{"type":"object"}}`},
	{FormatMCP, `{"name":"w","description":"d","title":"W","annotations":{"readOnlyHint":true}}`},
	{FormatMCP, `{"name":"w"}`},
	{FormatAnthropic, `{"name":"get-w","description":"d","input_schema":{"type":"object","properties":{}}}`},
	{FormatAnthropic, `{"name":"w","description":"d","input_schema":{"type":"object","properties":{}},"cache_control":{"type":"ephemeral"}}`},
	{FormatAnthropic, `{"type":"custom","name":"w","description":"d","input_schema":{"type":"object","properties":{}}}`},
	{FormatOpenAI, `{"type":"function","function":{"name":"w","parameters":{"type":"object"}}}`},
	{FormatOpenAI, `{"type":"function","function":{"name":"w"}}`},
	{FormatOpenAI, `{"function":{"name":"w","parameters":{"type":"object"}}}`},
	{FormatOpenAI, `{"name":"w","description":"d","parameters":{"type":"object"}}`},
	{FormatOpenAIResponses, `{"type":"function","name":"w","parameters":{"type":"object"}}`},
	{FormatOpenAIResponses, `{"type":"function","name":"w","parameters":null,"strict":true}`},
	{FormatGemini, `{"name":"w","parametersJsonSchema":{"type":"object"}}`},
	{FormatGemini, `{"name":"w","parameters":{"type":"OBJECT"}}`},
	{FormatGemini, `{"name":"w","parameters":{"type":"object"},"response":{"type":"string"}}`},
	{FormatAcorn, `{"type":"api","function":{"name":"w","parameters":{"type":"object"}},"context":[],"api":{"query":"q"}}`},
	{FormatAcorn, `{"type":"client","function":{"name":"w","parameters":{"type":"object"}}}`},
}

func TestRecognition(t *testing.T) {
	for _, c := range weatherShapes {
		for _, from := range []Format{"", c.format} {
			if from == FormatInternal {
				continue // reading is strict then: TestStrictDefinition
			}
			reading, err := Read([]byte(c.json), from)
			if err != nil || len(reading.Tools) != 1 {
				t.Errorf("%s: %v %+v", c.json, err, reading)
				continue
			}
			tool := reading.Tools[0]
			if tool.Format != c.format || !strings.HasSuffix(tool.Name, "w") || string(tool.Extra) != c.json || !reading.Single {
				t.Errorf("%s: got %s %+v", c.json, tool.Format, tool)
			}
		}
	}
}

// TestReadLists verifies that definitions are found in every wrapper, in order.
func TestReadLists(t *testing.T) {
	const a, b, c = `{"name":"a","inputSchema":{}}`, `{"type":"function","function":{"name":"b"}}`, `{"name":"c"}`
	for _, in := range []string{
		`[` + a + `,` + b + `,` + c + `]`,
		a + "\n" + b + "\n" + c + "\n",
		a + b + `[` + c + `]`,
		"\ufeff{\"tools\":[" + a + `,` + b + `,` + c + `]}`,
		`{"jsonrpc":"2.0","id":1,"result":{"tools":[` + a + `,` + b + `,` + c + `]}}`,
		`{"tools":[` + a + `,` + b + `,{"functionDeclarations":[` + c + `]}]}`,
		`{"functions":[` + a + `,` + b + `,` + c + `],"tools":null}`,
	} {
		reading, err := Read([]byte(in), "")
		if err != nil || len(reading.Faults)+len(reading.Notes) > 0 || reading.Single {
			t.Errorf("%s: %v %+v", in, err, reading)
			continue
		}
		var names string
		for _, tool := range reading.Tools {
			names += tool.Name
		}
		if names != "abc" {
			t.Errorf("%s: got %s", in, names)
		}
	}
	for in, want := range map[string]Format{
		`[{"functionDeclarations":[{"name":"a","parameters":{"type":"object"}}]}]`: FormatGemini,
		`{"function_declarations":[{"name":"a"}]}`:                                 FormatGemini,
		`{"functions":[{"name":"a"}]}`:                                             FormatOpenAI,
		`{"tools":[{"name":"a"}]}`:                                                 FormatMCP,
		`{"name":"a set","tools":[{"name":"a","inputSchema":{}}]}`:                 FormatMCP,
	} {
		reading, err := Read([]byte(in), "")
		if err != nil || len(reading.Tools) != 1 || reading.Tools[0].Format != want || reading.Single {
			t.Errorf("%s: %v %+v, want %s", in, err, reading, want)
		}
	}
}

func TestReadErrors(t *testing.T) {
	for in, want := range map[string]string{
		"":                    "1:1: empty input: expected a tool definition or an array of definitions",
		" \n ":                "2:2: empty input: expected a tool definition or an array of definitions",
		"{\n \"é\": x}":       "2:7: unexpected 'x', expected a JSON value",
		"[1,\n":               "2:1: unexpected end of input, expected a JSON value",
		"\xff\xfe[\x00]\x00":  "1:1: not UTF-8: save the file as UTF-8",
		"\xfe\xff\x00[\x00]":  "1:1: not UTF-8: save the file as UTF-8",
		"{}\n 42":             "2:2: expected a tool definition or an array of definitions, got a number",
		`"name"`:              "1:1: expected a tool definition or an array of definitions, got a string",
		`{"name":1,"name":2}`: `1:11: duplicate key "name" in an object`,
	} {
		if reading, err := Read([]byte(in), ""); err == nil || err.Error() != want {
			t.Errorf("%q: got %v %v, want %s", in, reading, err, want)
		}
	}
	if _, err := Read([]byte("{}"), "claude"); err == nil || err.Error() != `unknown tool format "claude" (expected one of internal, mcp, anthropic, openai, openai-responses, ollama, gemini, acorn)` {
		t.Errorf("got %v", err)
	}
}

// TestReadFaults verifies that only what is not a function is left out.
func TestReadFaults(t *testing.T) {
	for _, c := range []struct{ in, from, want string }{
		{`{}`, "", `not of any tool format: it has nothing; expected a "name" and a schema, in one of the formats internal, mcp,`},
		{`{"id":1,"title":"x"}`, "", `not of any tool format: it has "id", "title"; expected a "name"`},
		{`[7]`, "", `expected a tool definition, an object, got 7`},
		{`[[{"name":"a"}]]`, "", `expected a tool definition, an object, got [{"name":"a"}]`},
		{`{"type":"web_search_20250305","name":"web_search"}`, "", `web_search: type "web_search_20250305": a tool hosted by the provider`},
		{`{"type":"mcp","server_label":"x"}`, "openai-responses", `type "mcp": a tool hosted by the provider`},
		{`{"type":"custom","custom":{"name":"x"}}`, "", `a custom tool: it takes text`},
		{`{"type":"custom","name":"x","format":{"type":"text"}}`, "", `x: a custom tool: it takes text`},
		{`{"googleSearch":{}}`, "", `"googleSearch": a tool hosted by the provider`},
		{`[{"functionDeclarations":[],"code_execution":{}}]`, "", `"code_execution": a tool hosted by the provider`},
		{`{"type":"object","properties":{}}`, "", `a JSON Schema instead of a tool definition`},
		{`{"type":"graphql","function":{"name":"x"},"api":{}}`, "", `x: an Acorn entry of type "graphql": expected "api", "local" or "client"`},
		{`{"function":{"name":"x"},"context":["id"]}`, "", `x: an Acorn entry of type nothing: expected`},
		{`{"name":"x","inputSchema":{}}`, "openai", `x: not of the format openai: it looks like mcp`},
		{`{"name":"x","parameters":{}}`, "mcp", `x: not of the format mcp: it looks like openai`},
		{`{"name":"x","parameters":{},"type":"function"}`, "openai", `x: not of the format openai: it looks like openai-responses`},
		{`{"name":"","inputSchema":[]}`, "", `/name: expected a non-empty string, got ""; /input_schema: expected a JSON Schema, an object, got []`},
		{`{"inputSchema":{},"description":["d"]}`, "", `/name: expected a non-empty string, got nothing; /description: expected a string, got ["d"]`},
		{`{"name":"x","outputSchema":"no"}`, "", `x: /output_schema: expected a JSON Schema, an object, got "no"`},
	} {
		reading, err := Read([]byte(c.in), Format(c.from))
		if err != nil || len(reading.Faults) != 1 || len(reading.Tools) > 0 {
			t.Errorf("%s: %v %+v", c.in, err, reading)
			continue
		}
		if got := joinNotes(reading.Faults[0].Notes); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s:\n got %s\nwant %s", c.in, got, c.want)
		}
	}
	reading, err := Read([]byte(`[{"name":"a"},{"type":"mcp"},{"name":"b"},3]`), "")
	if err != nil || len(reading.Tools) != 2 || len(reading.Faults) != 2 || reading.Faults[0].Index != 1 || reading.Faults[1].Index != 3 {
		t.Errorf("%v %+v", err, reading)
	}
}

func joinNotes(notes []Note) string {
	var all []string
	for _, n := range notes {
		all = append(all, n.String())
	}
	return strings.Join(all, "; ")
}

func TestReadNotes(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"tools":[{"name":"a"}],"nextCursor":"2"}`, `left out beside "tools": "nextCursor"`},
		{`{"model":"m","stream":true,"tools":[{"name":"a"}]}`, `left out beside "tools": "model", "stream"`},
		{`{"name":"a","inputSchema":{}}`, ``},
	} {
		reading, err := Read([]byte(c.in), "")
		if err != nil || len(reading.Tools) != 1 || joinNotes(reading.Notes) != c.want {
			t.Errorf("%s: %v %+v", c.in, err, reading)
		}
	}
}

// TestReadKeepsBytes verifies that schemas keep the bytes that the source sent.
func TestReadKeepsBytes(t *testing.T) {
	const schema = `{ "type":"object", "properties":{"\u00e9":{"maximum":9223372036854775807, "default":1.0e2}},  "x-mine":[1,2] }`
	for _, member := range []string{"inputSchema", "input_schema", "parametersJsonSchema"} {
		reading, err := Read([]byte(`[{"name":"a", "`+member+`" : `+schema+` }]`), "")
		if err != nil || len(reading.Tools) != 1 || string(reading.Tools[0].InputSchema) != schema {
			t.Errorf("%s: %v %+v", member, err, reading)
		}
	}
}

func TestReadOpenAPI(t *testing.T) {
	reading, err := Read([]byte(`{"name":"a","parameters":{"type":"OBJECT","properties":{"q":{"type":"STRING"}}},"response":{"type":"STRING"}}`), "")
	if err != nil || len(reading.Tools) != 1 {
		t.Fatalf("%v %+v", err, reading)
	}
	tool := reading.Tools[0]
	if string(tool.InputSchema) != `{"type":"object","properties":{"q":{"type":"string"}}}` || string(tool.OutputSchema) != `{"type":"string"}` {
		t.Errorf("got %s and %s", tool.InputSchema, tool.OutputSchema)
	}
	if len(reading.Notes) == 0 || reading.Notes[0].Tool != "a" {
		t.Errorf("nothing is noted: %v", reading.Notes)
	}
	set, err := Encode(reading.Tools, FormatGemini, Options{})
	want := `[{"functionDeclarations":[{"name":"a","description":"Tool: a","parametersJsonSchema":{"type":"object","properties":{"q":{"type":"string"}}},"responseJsonSchema":{"type":"string"}}]}]`
	if err != nil || string(set.JSON()) != want {
		t.Errorf("%v %s", err, set.JSON())
	}
}

func TestStrictDefinition(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"name":"get_w","description":"d","input_schema":{"type":"object","properties":{}}}`, ``},
		{`{"name":"get_w","description":"d","input_schema":{"type":"object","properties":{}},"output_schema":null}`, ``},
		{`{"name":"get_w","description":"d","input_schema":{"type":"object","properties":{"a":{"type":"string"}}},"output_schema":{"type":"number"}}`, ``},
		{`{"name":"get-w","description":"","input_schema":{"type":"array"},"strict":true}`,
			`get-w: /strict: unknown member (the internal format has only name, description, input_schema and output_schema); ` +
				`get-w: /name: expected a name matching [a-zA-Z0-9_]+, got "get-w"; get-w: /description: expected a description of the tool, got ""; ` +
				`get-w: /input_schema/type: expected "object", got "array"; get-w: /input_schema/properties: expected an object, got nothing`},
		{`{"name":"w","description":7,"input_schema":true,"output_schema":[]}`,
			`w: /description: expected a description of the tool, got 7; w: /input_schema: expected a JSON Schema, an object, got true; ` +
				`w: /output_schema: expected a JSON Schema, an object, got []`},
		{`{"name":"w","inputSchema":{}}`,
			`w: /inputSchema: unknown member (the internal format has only name, description, input_schema and output_schema); ` +
				`w: /description: expected a description of the tool, got nothing; w: /input_schema: expected a JSON Schema, an object, got nothing`},
	} {
		reading, err := Read([]byte(c.in), FormatInternal)
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		var got string
		for _, f := range reading.Faults {
			got += joinNotes(f.Notes)
		}
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.in, got, c.want)
		}
	}
	reading, err := Read([]byte(`{"name":"w","description":"d","input_schema":{"type":"object","properties":{"a":{"type":7}}},"output_schema":{"type":"strin"}}`), FormatInternal)
	if err != nil || len(reading.Faults) != 1 || len(reading.Faults[0].Notes) != 2 {
		t.Fatalf("%v %+v", err, reading)
	}
	for i, want := range []string{"/input_schema/properties/a/type", "/output_schema/type"} {
		if got := reading.Faults[0].Notes[i].Path; got != want {
			t.Errorf("violation %d is at %s, want %s", i, got, want)
		}
	}
}

// abstractLLMTool is the example of AbstractLLM's tool model, section 4, as it stands there.
const abstractLLMTool = `{
	"name": "get_current_weather",
	"description": "Retrieves the current weather conditions for a specified location.",
	"input_schema": {
		"type": "object",
		"properties": {
			"location": {
				"type": "string",
				"description": "The city and state/country, e.g., 'San Francisco, CA' or 'London, UK'."
			},
			"unit": {"type": "string", "description": "The temperature unit to use.", "enum": ["celsius", "fahrenheit"]}
		},
		"required": ["location"]
	},
	"output_schema": {
		"type": "object",
		"properties": {
			"temperature": {"type": "number", "description": "The current temperature in the requested unit."},
			"conditions": {"type": "string", "description": "Text description of the current weather conditions."},
			"humidity": {"type": "number", "description": "The current humidity percentage."}
		},
		"required": ["temperature", "conditions"]
	}
}`

// TestAbstractLLMExample: the example keeps every rule of the internal format, and is written as
// it was read. A provider gets it without the output schema.
func TestAbstractLLMExample(t *testing.T) {
	reading, err := Read([]byte(abstractLLMTool), FormatInternal)
	if err != nil || len(reading.Tools) != 1 || len(reading.Faults)+len(reading.Notes) > 0 {
		t.Fatalf("%v %+v", err, reading)
	}
	set, err := Encode(reading.Tools, FormatInternal, Options{})
	if want := string(compact([]byte(abstractLLMTool))); err != nil || len(set.Tools) != 1 || string(set.Tools[0].JSON) != want {
		t.Errorf("%v %s, want %s", err, set.JSON(), want)
	}
	set, err = Encode(reading.Tools, FormatAnthropic, Options{})
	definition, _, _ := strings.Cut(string(compact([]byte(abstractLLMTool))), `,"output_schema"`)
	if want := "[" + definition + "}]"; err != nil || string(set.JSON()) != want {
		t.Errorf("%v %s, want %s", err, set.JSON(), want)
	}
}
