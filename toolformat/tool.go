package toolformat

import "encoding/json"

// A Tool is one tool as its source describes it. The schemas and Extra are raw JSON and are never
// rewritten: key order, large numbers and unknown keywords stay as the source sent them.
type Tool struct {
	Name         string
	Description  string
	InputSchema  json.RawMessage // JSON Schema of the arguments, an object
	OutputSchema json.RawMessage // JSON Schema of the structured result; nil if the tool has none
	Extra        json.RawMessage // the whole definition as received (title, annotations, icons, _meta); nil for a tool made here
	Format       Format          // format of Extra; "" means FormatMCP
}

// A Call is one call of a tool.
type Call struct {
	Name      string
	Arguments json.RawMessage // a JSON object; nil means {}
}
