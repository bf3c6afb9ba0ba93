package completions

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/member"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/parameter"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A request is the body of a chat completion (OpenAI's API reference, "Create chat
// completion"). Numbers that must be whole may be written with a fraction of 0.
type request struct {
	Model    string          `json:"model"`
	Messages []message       `json:"messages"`
	Tools    json.RawMessage `json:"tools"`
	Choice   json.RawMessage `json:"tool_choice"`
	Parallel *bool           `json:"parallel_tool_calls"`
	Stream   bool            `json:"stream"`
	Streamed struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
	MaxTokens     float64 `json:"max_tokens"`
	MaxCompletion float64 `json:"max_completion_tokens"`
	N             float64 `json:"n"`
	parameters
	legacy

	system   strings.Builder
	messages []providers.Message
	set      *providers.ToolSet // of the client's own tools
	choice   providers.Choice
	only     []providers.Selection      // the tools that may be called; nil means all
	rest     map[string]json.RawMessage // the members that are not mapped
}

// message is a message of a request.
type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Refusal string          `json:"refusal"`
	Calls   []call          `json:"tool_calls"`
	CallID  string          `json:"tool_call_id"`

	Function *legacyCall `json:"function_call"`
}

// call is a call of a tool, in requests and responses.
type call struct {
	Index    *int   `json:"index,omitempty"` // in a stream only
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// readRequest parses a body. The error names the path of what is invalid.
func readRequest(body []byte) (*request, error) {
	var r request
	var err error
	if r.rest, err = endpoint.Read(body, &r, parameter.Parameters(all).Mapped()); err != nil {
		return nil, err
	}
	switch {
	case r.Model == "":
		return nil, fmt.Errorf("model: expected one of /v1/models")
	case len(r.Messages) == 0:
		return nil, fmt.Errorf("messages: expected at least one")
	case !endpoint.IsCount(r.MaxTokens):
		return nil, fmt.Errorf("max_tokens: expected a whole number above 0")
	case !endpoint.IsCount(r.MaxCompletion):
		return nil, fmt.Errorf("max_completion_tokens: expected a whole number above 0")
	case r.N != 0 && r.N != 1:
		return nil, fmt.Errorf("n: %v answers are not supported: send a request for each", r.N)
	}
	if err := cmp.Or(r.readMessages(), r.legacy.asTools(&r)); err != nil {
		return nil, err
	}
	if r.set, err = endpoint.ReadTools(r.Tools, toolformat.FormatOpenAI); err != nil {
		return nil, err
	}
	return &r, cmp.Or(r.readChoice(), r.parameters.validate())
}

// readMessages makes the conversation. A system prompt alone becomes the message of the user,
// without which most APIs refuse a request.
func (r *request) readMessages() error {
	for i := range r.Messages {
		if err := r.add(i, &r.Messages[i]); err != nil {
			return member.In(fmt.Sprintf("messages[%d]", i), err)
		}
	}
	hasContent := func(m providers.Message) bool { return m.Role != providers.RoleTool && len(m.Parts) > 0 }
	if slices.ContainsFunc(r.messages, hasContent) {
		return nil
	}
	if len(r.messages) > 0 || r.system.Len() == 0 {
		return fmt.Errorf("messages: expected a user message with content")
	}
	r.messages = []providers.Message{providers.UserText(r.system.String())}
	r.system.Reset()
	return nil
}

// add adds a message to the conversation.
func (r *request) add(index int, m *message) error {
	parts, err := m.parts()
	if err != nil {
		return err
	}
	switch m.Role {
	case "system", "developer":
		if err := endpoint.TextOnly(m.Role, parts); err != nil {
			return err
		}
		if r.system.Len() > 0 {
			r.system.WriteString("\n\n")
		}
		r.system.WriteString((&providers.Message{Parts: parts}).Text())
	case "user":
		r.messages = append(r.messages, providers.Message{Role: providers.RoleUser, Parts: parts})
	case "assistant":
		if err := endpoint.TextOnly(m.Role, parts); err != nil {
			return err
		}
		if m.Refusal != "" { // in place of the content
			parts = append(parts, providers.Part{Type: providers.PartText, Text: m.Refusal})
		}
		for i, c := range m.Calls {
			if c.ID == "" || c.Function.Name == "" {
				return fmt.Errorf("tool_calls[%d]: expected an id and a function.name", i)
			}
			parts = append(parts, providers.Part{Type: providers.PartCall, Call: &providers.Call{ID: c.ID, Name: c.Function.Name, Arguments: providers.Arguments(c.Function.Arguments)}})
		}
		if m.Function != nil {
			parts = append(parts, r.legacy.call(index, m.Function))
		}
		r.messages = append(r.messages, providers.Message{Role: providers.RoleAssistant, Parts: parts})
	case "tool":
		if m.CallID == "" {
			return fmt.Errorf("tool_call_id: expected the id of the call with this result")
		}
		return r.addResult(m.CallID, parts)
	case "function":
		id, err := r.legacy.takeCalled()
		if err != nil {
			return err
		}
		return r.addResult(id, parts)
	default:
		return fmt.Errorf("role: expected system, developer, user, assistant or tool, got %.40q", m.Role)
	}
	return nil
}

// addResult adds the result of a call to the conversation.
func (r *request) addResult(id string, parts []providers.Part) (err error) {
	r.messages, err = endpoint.AddResult(r.messages, id, parts, false)
	return err
}
