// Package toolformat is the shape of a tool, its names and its errors. It is data
// only: nothing here does I/O, starts a goroutine or knows a protocol library.
package toolformat

import "encoding/json"

// A Tool is one tool as its source describes it.
//
// The schemas and Extra are raw JSON and are never rewritten: key order, big numbers
// and unknown keywords are what the source sent.
type Tool struct {
	Name         string
	Description  string
	InputSchema  json.RawMessage // JSON Schema of the arguments, an object
	OutputSchema json.RawMessage // JSON Schema of the structured result; nil when there is none
	Extra        json.RawMessage // the whole definition as it came (title, annotations, icons, _meta); nil for a tool made here
	Format       Format          // what Extra is written in; "" is FormatMCP
}

// A Call is one call of a tool.
type Call struct {
	Name      string
	Arguments json.RawMessage // a JSON object; nil means {}
}

// A Result is what a tool answered, failed or not. It keeps the bytes of MCP's
// CallToolResult; nothing is decoded until somebody asks.
type Result struct {
	JSON json.RawMessage
}

// TextResult is a result of one text block. With failed set it is the tool's own
// failure (isError), which a model reads and can act on.
func TextResult(text string, failed bool) *Result {
	type block struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	b, _ := json.Marshal(struct { // cannot fail: strings and a bool
		Content []block `json:"content"`
		IsError bool    `json:"isError,omitempty"`
	}{[]block{{"text", text}}, failed})
	return &Result{JSON: b}
}
