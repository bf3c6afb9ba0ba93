package providers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
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

// A Message is one step of a conversation. It does not change once it is a part of one.
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
	URL      string   `json:"url,omitempty"`       // of an image without Data, which the provider fetches
	Name     string   `json:"name,omitempty"`      // of a file, also of one whose text is Text
	Detail   string   `json:"detail,omitempty"`    // how closely an image is looked at, for OpenAI's APIs: low, high or auto
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

// AddText adds a part of text or thinking, unless it is empty.
func (m *Message) AddText(kind PartType, text string) {
	if text != "" {
		m.Parts = append(m.Parts, Part{Type: kind, Text: text})
	}
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

// CallIDs gives the calls of a turn ids that are unique in their conversation.
type CallIDs struct {
	messages, calls int
	before          idSet // of the request
	given           idSet
}

type idSet map[string]bool

// NewCallIDs returns ids other than those of the calls in a request's messages.
func NewCallIDs(req *Request) *CallIDs {
	before, rest := Encoded(req, nil, func() *idSet { return &idSet{} })
	for i := range rest {
		for _, call := range rest[i].Calls() {
			(*before)[call.ID] = true
		}
	}
	return &CallIDs{messages: len(req.Messages), before: *before, given: idSet{}}
}

// Next returns the id of the turn's next call: the provider's own, or if that is "" or taken,
// one made of the number of messages in the request and of the call's index.
func (c *CallIDs) Next(own string) string {
	id := own
	for n := c.calls; id == "" || c.before[id] || c.given[id]; n++ {
		id = "call_" + strconv.Itoa(c.messages) + "_" + strconv.Itoa(n)
	}
	c.calls++
	c.given[id] = true
	return id
}

// Arguments returns the arguments of a call from the text that an API has for them: {} for
// none, and a JSON string for invalid JSON.
func Arguments(text string) json.RawMessage {
	switch {
	case strings.TrimSpace(text) == "":
		return json.RawMessage("{}")
	case json.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	return wire.AppendString(nil, text)
}

// Object returns a call's arguments for an API that takes only an object. An object in a
// string is unquoted; any other value is wrapped in an object, under the key that Anthropic
// proposes for it (fine-grained tool streaming, "Handling invalid JSON").
func (c *Call) Object() json.RawMessage {
	args := bytes.TrimSpace(c.Arguments)
	switch {
	case len(args) == 0 || string(args) == "null":
		return json.RawMessage("{}")
	case args[0] == '{':
		return args
	}
	if text, ok := wire.Text(args); ok && strings.HasPrefix(strings.TrimSpace(text), "{") && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return append(append([]byte(`{"INVALID_JSON":`), args...), '}')
}

// Blocks returns what a model reads of a result, in order, for an API that takes more than
// text: a block with Data is an image, audio or a file of its MimeType, every other block is
// text. Structured content is used if there is no other text, and a result that does not
// follow MCP is returned as text. A failed result always has a text.
func (r *Result) Blocks() []toolformat.Content {
	if r.Content == nil {
		return nil
	}
	if blocks := textBlocks(r.Content.JSON); blocks != nil {
		return blocks
	}
	blocks, err := r.Content.Content()
	if err != nil {
		return []toolformat.Content{textBlock(string(r.Content.JSON))}
	}
	hasText := false
	for i := range blocks {
		if blocks[i].Data == "" {
			blocks[i] = textBlock(blockText(&blocks[i]))
			hasText = hasText || strings.TrimSpace(blocks[i].Text) != ""
		}
	}
	if hasText {
		return blocks
	}
	if structured := r.Content.Structured(); structured != nil {
		blocks = append(blocks, textBlock(string(structured)))
	} else if r.Content.IsError() { // Anthropic refuses an error without text
		blocks = append(blocks, textBlock("the tool failed without an error message"))
	}
	return blocks
}

// textBlocks returns the blocks of a result that has text and nothing but blocks of text, as most do, else nil. It
// is many times faster than to decode all members.
func textBlocks(result []byte) (blocks []toolformat.Content) {
	if wire.Valid(result) != nil {
		return nil
	}
	hasText := false
	for block := range wire.Elements(wire.Lookup(result, "content")) {
		var kind, raw []byte
		for key, value := range wire.Members(block) {
			switch key {
			case "type":
				kind = value
			case "text":
				raw = value
			}
		}
		text, isText := wire.Text(raw)
		if !isText || string(kind) != `"text"` {
			return nil
		}
		blocks = append(blocks, textBlock(text))
		hasText = hasText || strings.TrimSpace(text) != ""
	}
	if !hasText {
		return nil
	}
	return blocks
}

func textBlock(text string) toolformat.Content {
	return toolformat.Content{Type: toolformat.TextContent, Text: text}
}

// Text returns the blocks of a result as one text, each on its own lines, for an API that
// takes only text. Images are left out, other blocks that are not text are named. With
// marked a failed result begins with "Error: ", for APIs without a flag for it.
func (r *Result) Text(marked bool) string {
	text, _ := r.TextAndMedia(marked)
	return text
}

// TextAndMedia returns Text and the blocks that have data, in order: images, audio and files in base64.
func (r *Result) TextAndMedia(marked bool) (text string, media []toolformat.Content) {
	var lines []string
	for _, c := range r.Blocks() {
		if line := blockText(&c); line != "" {
			lines = append(lines, line)
		}
		if c.Data != "" {
			media = append(media, c)
		}
	}
	text = strings.Join(lines, "\n")
	if marked && r.Content != nil && !strings.HasPrefix(text, "Error") && r.Content.IsError() {
		text = "Error: " + text
	}
	return text, media
}

// blockText returns a block as text; "" for an image.
func blockText(c *toolformat.Content) string {
	switch c.Type {
	case toolformat.TextContent:
		return c.Text
	case toolformat.ImageContent:
		return ""
	case toolformat.LinkContent:
		return fmt.Sprintf("[resource %s: %s]", c.Name, c.URI)
	case toolformat.ResourceContent:
		if c.Data == "" {
			return c.Text
		}
		return fmt.Sprintf("[resource %s: %s, not text]", c.URI, c.MimeType)
	case toolformat.AudioContent:
		return fmt.Sprintf("[audio: %s]", c.MimeType)
	}
	return string(c.Raw)
}
