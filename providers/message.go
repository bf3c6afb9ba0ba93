package providers

import (
	"encoding/json"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Role is the author of a message.
type Role string

// The roles. The system prompt is Request.System.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool" // the results of all calls of the turn before, in order
)

// A Message is one step of a conversation, of which it is never changed again.
type Message struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
	Raw   *Raw   `json:"raw,omitempty"` // an assistant's message as its provider sent it, if it did
}

// A PartType is the kind of a part of a message. The set is closed.
type PartType string

// The types of parts.
const (
	PartText     PartType = "text"
	PartThinking PartType = "thinking"    // for people to read; only Raw can be sent back
	PartCall     PartType = "tool_call"   // a call for the bridge to run
	PartResult   PartType = "tool_result" // the result of a call
	PartImage    PartType = "image"       // a user's image
	PartFile     PartType = "file"        // a user's file, such as audio or PDF
)

// A Part is one piece of a message. Which fields are used depends on Type.
type Part struct {
	Type     PartType `json:"type"`
	Text     string   `json:"text,omitempty"`
	Call     *Call    `json:"call,omitempty"`
	Result   *Result  `json:"result,omitempty"`
	Data     []byte   `json:"data,omitempty"`      // of an image or a file
	MimeType string   `json:"mime_type,omitempty"` // of Data
	Name     string   `json:"name,omitempty"`      // of a file
}

// A Call is a model's call of a tool.
type Call struct {
	ID   string `json:"id"`   // unique in its conversation; see CallIDs
	Name string `json:"name"` // the tool's own, or the model's word if it named no offered tool

	// Arguments are as the model wrote them, with the names of the provider's schema. Invalid
	// JSON is a JSON string.
	Arguments json.RawMessage `json:"arguments"`
}

// A Result is the result of a call.
type Result struct {
	ID      string             `json:"id"`   // the call's ID
	Name    string             `json:"name"` // the call's Name
	Content *toolformat.Result `json:"-"`    // the MCP result, "content" in JSON
}

// resultJSON is the JSON of a Result.
type resultJSON struct {
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Content json.RawMessage `json:"content"`
}

// MarshalJSON writes the MCP result unchanged.
func (r *Result) MarshalJSON() ([]byte, error) {
	v := resultJSON{ID: r.ID, Name: r.Name}
	if r.Content != nil {
		v.Content = r.Content.JSON
	}
	return marshal(v)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *Result) UnmarshalJSON(data []byte) error {
	var v resultJSON
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	*r = Result{ID: v.ID, Name: v.Name, Content: &toolformat.Result{JSON: v.Content}}
	return nil
}

// Raw is an assistant's message as its provider sent it. It goes back to the same provider
// verbatim, so that signatures, encrypted reasoning and the items of the provider's own tools
// survive.
type Raw struct {
	Provider string          `json:"provider"` // Provider.Name
	Model    string          `json:"model"`    // the Model of the Request
	Items    json.RawMessage `json:"items"`    // a message, content or output items
}

// Of returns the raw items if they came from a provider of this name, else nil.
func (r *Raw) Of(provider string) json.RawMessage {
	if r == nil || r.Provider != provider {
		return nil
	}
	return r.Items
}

// UserText returns a message of the user.
func UserText(text string) Message {
	return Message{Role: RoleUser, Parts: []Part{{Type: PartText, Text: text}}}
}

// Text returns the text of a message, its parts joined.
func (m *Message) Text() string {
	var b strings.Builder
	for i := range m.Parts {
		if m.Parts[i].Type == PartText {
			b.WriteString(m.Parts[i].Text)
		}
	}
	return b.String()
}

// Calls returns the calls of a message, in order.
func (m *Message) Calls() []*Call {
	var calls []*Call
	for i := range m.Parts {
		if c := m.Parts[i].Call; c != nil {
			calls = append(calls, c)
		}
	}
	return calls
}
