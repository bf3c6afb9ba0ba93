package messages

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/member"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/parameter"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A request is the body of a request.
type request struct {
	Model     string          `json:"model"`
	Messages  []message       `json:"messages"`
	System    json.RawMessage `json:"system"` // a string or an array of text blocks
	MaxTokens float64         `json:"max_tokens"`
	Stream    bool            `json:"stream"`
	Tools     json.RawMessage `json:"tools"`
	Choice    *struct {
		Type   string `json:"type"`
		Name   string `json:"name"`
		Serial bool   `json:"disable_parallel_tool_use"`
	} `json:"tool_choice"`
	Servers []mcpServer `json:"mcp_servers"`
	parameters

	named     func(server, tool string) string // returns the name that models have for a server's tool
	system    string
	messages  []providers.Message
	set       *providers.ToolSet // of the client's own tools
	choice    providers.Choice
	selection []providers.Selection      // the tools of the bridge that are offered; nil means all
	rest      map[string]json.RawMessage // the members that are not mapped
}

// message is a message of a request.
type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"` // a string or an array of blocks
}

// readRequest parses a body. The error names the path of what is invalid.
func readRequest(body []byte, named func(server, tool string) string) (*request, error) {
	r := request{named: named}
	var err error
	if r.rest, err = endpoint.Read(body, &r, parameter.Parameters(all).Mapped()); err != nil {
		return nil, err
	}
	switch {
	case !rawjson.IsNull(r.rest["thread"]):
		return nil, noThread()
	case r.Model == "":
		return nil, fmt.Errorf("model: expected one of /v1/models")
	case len(r.Messages) == 0:
		return nil, fmt.Errorf("messages: expected at least one")
	case !endpoint.IsCount(r.MaxTokens):
		return nil, fmt.Errorf("max_tokens: expected a whole number above 0")
	case len(r.Stop) > endpoint.MaxSequences:
		return nil, fmt.Errorf("stop_sequences: expected at most %d", endpoint.MaxSequences)
	}
	if r.system, err = readSystem(r.System); err != nil {
		return nil, err
	}
	for i := range r.Messages {
		if err := r.add(&r.Messages[i]); err != nil {
			return nil, member.In(fmt.Sprintf("messages[%d]", i), err)
		}
	}
	if len(r.messages) == 0 {
		return nil, fmt.Errorf("messages: expected a message with content")
	}
	if err = r.readServers(); err != nil {
		return nil, err
	}
	if r.set, err = endpoint.ReadTools(r.Tools, toolformat.FormatAnthropic); err != nil {
		return nil, err
	}
	if err := r.readChoice(); err != nil {
		return nil, err
	}
	return &r, r.parameters.validate()
}

const noThreads = "conversations are not kept here: send all messages, without thread"

// noThread returns the error of a request whose conversation the API should keep. With its details Anthropic's clients
// send the whole conversation instead.
func noThread() error {
	return &endpoint.Error{
		Status: http.StatusBadRequest, Message: "thread: " + noThreads,
		Details: map[string]any{"error_code": "thread_unsupported_request", "unsupported": []string{"thread"}},
	}
}

// readSystem reads the system prompt.
func readSystem(system json.RawMessage) (string, error) {
	if text, isText := wire.Text(system); isText || rawjson.IsNull(system) {
		return text, nil
	}
	var blocks []struct {
		Text *string `json:"text"`
	}
	if json.Unmarshal(system, &blocks) != nil || slices.ContainsFunc(blocks, func(b struct {
		Text *string `json:"text"`
	}) bool {
		return b.Text == nil
	}) {
		return "", fmt.Errorf("system: expected a string or an array of text blocks")
	}
	var texts []string
	for _, b := range blocks {
		if !strings.HasPrefix(*b.Text, billing) {
			texts = append(texts, *b.Text)
		}
	}
	return strings.Join(texts, "\n\n"), nil
}

// billing begins the block of a system prompt in which Claude Code tells Anthropic's API whose request it is. It is for
// no model, and as it differs from request to request, no provider could cache what follows it.
const billing = "x-anthropic-billing-header:"

// readChoice reads tool_choice.
func (r *request) readChoice() error {
	if r.Choice == nil {
		return nil
	}
	switch c := r.Choice; c.Type {
	case "auto":
	case "any":
		r.choice = providers.ChoiceRequired
	case "none":
		r.choice = providers.ChoiceNone
	case "tool":
		if c.Name == "" {
			return fmt.Errorf("tool_choice.name: expected the name of a tool")
		}
		r.choice = providers.Choice(c.Name)
	default:
		return fmt.Errorf("tool_choice.type: expected auto, any, none or tool, got %.40q", c.Type)
	}
	return nil
}

// add adds a message to the conversation: the results of tools in it as a message of their own, since
// the neutral form has them before what the user says.
func (r *request) add(m *message) error {
	if m.Role != "user" && m.Role != "assistant" && m.Role != "system" {
		return fmt.Errorf("role: expected user or assistant, got %.40q", m.Role)
	}
	if text, isText := wire.Text(m.Content); isText {
		if text != "" {
			r.addParts(m.Role, []providers.Part{{Type: providers.PartText, Text: text}})
		}
		return nil
	}
	var parts []providers.Part
	uses := map[string]*block{} // the calls that have run here
	err := member.Elements("content", blocks, m.Content, func(_ int, raw []byte) error {
		b, err := readBlock(raw)
		switch {
		case err != nil:
			return err
		case b.Type == "tool_result" && m.Role == "user":
			return r.addResult(b)
		case b.Type == mcpUse:
			uses[b.ID] = b
		case b.Type == mcpResult && uses[b.CallID] != nil:
			some, err := r.ran(uses[b.CallID], b)
			parts = append(parts, some...)
			return err
		}
		some, err := b.parts(m.Role == "assistant")
		parts = append(parts, some...)
		return err
	})
	if err != nil {
		return err
	}
	r.addParts(m.Role, parts)
	if m.Role == "assistant" && len(parts) > 0 {
		r.messages[len(r.messages)-1].Raw = signed(r.Model, m.Content)
	}
	return nil
}

// addParts adds parts that a role has said. A system message within the conversation is said at its place,
// so that what comes before stays as a provider has cached it.
func (r *request) addParts(role string, parts []providers.Part) {
	if len(parts) == 0 {
		return
	}
	as := providers.RoleUser
	if role == "assistant" {
		as = providers.RoleAssistant
	}
	r.messages = append(r.messages, providers.Message{Role: as, Parts: parts})
}

// addResult adds the result of a call.
func (r *request) addResult(b *block) error {
	if b.CallID == "" {
		return fmt.Errorf("tool_use_id: expected the id of the tool_use with this result")
	}
	parts, err := contentParts(b.Content)
	if err == nil {
		r.messages, err = endpoint.AddResult(r.messages, b.CallID, parts, b.IsError)
	}
	return err
}
