package toolformat_test

import (
	"encoding/json"
	"fmt"
	"log"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// What an MCP server lists goes to OpenAI, and the arguments come back.
func Example() {
	reading, err := toolformat.Read([]byte(`{"tools":[{
		"name": "weather.today",
		"description": "Tells the weather.",
		"inputSchema": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}
	}]}`), toolformat.FormatMCP)
	if err != nil {
		log.Fatal(err)
	}
	set, err := toolformat.Encode(reading.Tools, toolformat.FormatOpenAI, toolformat.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(set.Tools[0].Name)
	tool, _ := set.Find(set.Tools[0].Name)
	arguments, err := tool.Arguments(json.RawMessage(`{"city":"Rome","days":"3"}`))
	fmt.Println(tool.Tool.Name, string(arguments), err)
	// Output:
	// weather_today_b9f903e2
	// weather.today {"city":"Rome","days":3} <nil>
}

func ExampleRead() {
	reading, err := toolformat.Read([]byte(`[
		{"name": "get_time", "input_schema": {"type": "object"}},
		{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}},
		{"type": "web_search_20250305", "name": "web_search"}
	]`), "")
	if err != nil {
		log.Fatal(err)
	}
	for _, tool := range reading.Tools {
		fmt.Println(tool.Name, "is", tool.Format)
	}
	for _, fault := range reading.Faults {
		fmt.Println(fault.Notes[0])
	}
	// Output:
	// get_time is anthropic
	// get_weather is openai
	// web_search: type "web_search_20250305": a tool hosted by the provider: it has no schema that could be converted
}

func ExampleEncode() {
	tools := []toolformat.Tool{{
		Name:        "book",
		Description: "Books a table.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"seats":{"type":"integer","maximum":8}}}`),
	}}
	set, err := toolformat.Encode(tools, toolformat.FormatOllama, toolformat.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(set.JSON()))
	fmt.Println(set.Tools[0].Notes[0])
	// Output:
	// [{"type":"function","function":{"name":"book","description":"Books a table.","parameters":{"type":"object","properties":{"seats":{"type":"integer","description":"(max 8)"}}}}}]
	// book: /input_schema/properties/seats: "maximum" moved into the description: not supported by Ollama here
}

func ExampleLint() {
	tools := []toolformat.Tool{
		{Name: "get_user", Description: "Finds a user.", InputSchema: json.RawMessage(`{"type":"object","required":["id"]}`)},
		{Name: "getUsers", InputSchema: json.RawMessage(`{"type":"string"}`)},
	}
	report, err := toolformat.Lint(tools, []toolformat.Format{toolformat.FormatGemini})
	if err != nil {
		log.Fatal(err)
	}
	for _, tool := range report.Tools {
		fmt.Println(tool.Name, tool.Verdicts[0].Status)
	}
	fmt.Println(report.Notes[0])
	// Output:
	// get_user repaired
	// getUsers impossible
	// getUsers: is easily confused with get_user
}

func ExampleNewChecker() {
	checker, notes, err := toolformat.NewChecker(json.RawMessage(`{
		"type": "object",
		"properties": {"city": {"type": "string", "pattern": "^(?!-)"}, "unit": {"enum": ["celsius", "fahrenheit"]}},
		"required": ["city"]
	}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(notes[0])
	fmt.Println(checker.Check(json.RawMessage(`{"unit":"Celsius"}`)))
	// Output:
	// /properties/city/pattern: pattern "^(?!-)" is not checked: not supported by Go's regular expressions: invalid or unsupported Perl syntax: (?!
	// missing required property "city"
	// /unit: expected one of "celsius", "fahrenheit", got "Celsius" (did you mean "celsius"?)
}

func ExampleChecker_Arguments() {
	checker, _, err := toolformat.NewChecker(json.RawMessage(`{"type":"object","properties":{"days":{"type":"integer"},"cities":{"type":"array"}}}`))
	if err != nil {
		log.Fatal(err)
	}
	arguments, err := checker.Arguments("forecast", json.RawMessage(`"{\"days\": 3.0, \"cities\": \"[\\\"Rome\\\"]\"}"`))
	fmt.Println(string(arguments), err)
	// Output:
	// {"days":3,"cities":["Rome"]} <nil>
}

func ExampleNewBinder() {
	binder, _, err := toolformat.NewBinder(json.RawMessage(`{
		"type": "object",
		"properties": {"limit": {"type": "integer", "default": 10}, "customerid": {"type": "integer"}},
		"required": ["customerid"]
	}`), []string{"customerid"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(binder.Visible()))
	session := func(string) (json.RawMessage, bool) { return json.RawMessage("42"), true }
	arguments, err := binder.Bind("orders", json.RawMessage(`{"customerid": 7}`), session)
	fmt.Println(string(arguments), err)
	// Output:
	// {"type":"object","properties":{"limit":{"type":"integer","default":10}}}
	// {"limit":10,"customerid":42} <nil>
}

func ExampleSchemaFor() {
	type weather struct {
		City string `json:"city" jsonschema:"where"`
		Unit string `json:"unit" enum:"celsius,fahrenheit" default:"celsius"`
	}
	schema, err := toolformat.SchemaFor[weather]()
	fmt.Println(string(schema), err)
	// Output:
	// {"type":"object","properties":{"city":{"type":"string","description":"where"},"unit":{"type":"string","enum":["celsius","fahrenheit"],"default":"celsius"}},"required":["city"],"additionalProperties":false} <nil>
}

func ExampleHideProperties() {
	schema, err := toolformat.HideProperties(json.RawMessage(`{"type":"object","properties":{"q":{},"UserID":{}},"required":["q","UserID"],"additionalProperties":false}`), []string{"userid"})
	fmt.Println(string(schema), err)
	// Output:
	// {"type":"object","properties":{"q":{}},"required":["q"]} <nil>
}

func ExampleClosest() {
	fmt.Println(toolformat.Closest("serch", []string{"search", "fetch"}))
	fmt.Println(toolformat.Closest("search", []string{"github__search", "github__fetch"}))
	// Output:
	// search
	// github__search
}

func ExampleResult_Truncate() {
	fmt.Println(string(toolformat.TextResult("a long answer that costs tokens", false).Truncate(6).JSON))
	// Output:
	// {"content":[{"type":"text","text":"a long... [output truncated]"}]}
}
