package providers

import (
	"encoding/json"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Role says whose a message is.
type Role string

// The roles. What the system says stands in Request.System.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool" // results: one Message holds those of all calls of the turn before it, in call order
)

// A Message is one step of a conversation. Messages are never changed once they are part
// of one.
type Message struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
	Raw   *Raw   `json:"raw,omitempty"` // of an assistant's message: what its provider sent; nil for one that was written by hand
}

// A PartType is the kind of a part of a message. The set is closed.
type PartType string

// The types of parts.
const (
	PartText     PartType = "text"
	PartThinking PartType = "thinking"    // for people to read; only Raw can be sent back
	PartCall     PartType = "tool_call"   // a call that is the bridge's to run
	PartResult   PartType = "tool_result" // what came of one
	PartImage    PartType = "image"       // of a user
	PartFile     PartType = "file"        // of a user: audio, PDF
)

// A Part is one piece of a message. Which fields count depends on its Type.
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
	ID        string          `json:"id"`        // unique in its conversation: the provider's, or made where that gives none or one twice
	Name      string          `json:"name"`      // the tool's own when the model named one that it was offered, else as it wrote
	Arguments json.RawMessage `json:"arguments"` // as the model wrote them, in the names of the provider's schema; what is no JSON stands here as a JSON string
}

// A Result is what a call came to.
type Result struct {
	ID      string             `json:"id"`   // of the call
	Name    string             `json:"name"` // of the call
	Content *toolformat.Result `json:"-"`    // in JSON "content": the MCP result
}

// resultJSON is how a Result is written.
type resultJSON struct {
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Content json.RawMessage `json:"content"`
}

// MarshalJSON writes the MCP result as it is.
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

// Raw is an assistant's message as its provider sent it, to be sent back to the same
// provider verbatim: only so do signatures, encrypted reasoning and the items of a
// provider's own tools survive.
type Raw struct {
	Provider string          `json:"provider"` // Provider.Name
	Model    string          `json:"model"`    // that was asked
	Items    json.RawMessage `json:"items"`    // a content array, a message, output items, a content object: the provider's own
}

// Of returns the raw items when they are a provider's own, else nil.
func (r *Raw) Of(provider string) json.RawMessage {
	if r == nil || r.Provider != provider {
		return nil
	}
	return r.Items
}

// UserText is a message of the user.
func UserText(text string) Message {
	return Message{Role: RoleUser, Parts: []Part{{Type: PartText, Text: text}}}
}

// Text is the text of a message, its parts joined.
func (m *Message) Text() string {
	var b strings.Builder
	for i := range m.Parts {
		if m.Parts[i].Type == PartText {
			b.WriteString(m.Parts[i].Text)
		}
	}
	return b.String()
}

// Calls are the calls of a message, in their order.
func (m *Message) Calls() []*Call {
	var calls []*Call
	for i := range m.Parts {
		if c := m.Parts[i].Call; c != nil {
			calls = append(calls, c)
		}
	}
	return calls
}
