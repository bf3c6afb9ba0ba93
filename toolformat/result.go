package toolformat

import "encoding/json"

// A Result is what a tool returned, failed or not. It keeps the bytes of MCP's CallToolResult and
// decodes nothing until it is asked to.
type Result struct {
	JSON json.RawMessage
}

// TextResult returns a result of one text block. With failed set it is the tool's own failure
// (isError), which a model reads and can act on.
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

// Structured returns the structured content of a result; nil if it has none.
func (r *Result) Structured() json.RawMessage {
	if raw := r.members()["structuredContent"]; string(raw) != "null" {
		return raw
	}
	return nil
}

// IsError reports whether the tool ran and failed.
func (r *Result) IsError() bool { return string(r.members()["isError"]) == "true" }

// members returns the members of the result; nil if it is not an object.
func (r *Result) members() (members map[string]json.RawMessage) {
	_ = json.Unmarshal(r.JSON, &members)
	return members
}
