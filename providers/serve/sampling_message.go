package serve

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/member"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// samplingRequest is MCP's CreateMessageRequestParams (specification 2025-11-25, client,
// sampling). includeContext is ignored, as a client may do, and so is metadata, which is for
// a provider that the server knows.
type samplingRequest struct {
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"` // a block, or an array of them
	} `json:"messages"`
	Preferences struct {
		Hints []struct {
			Name string `json:"name"`
		} `json:"hints"`
	} `json:"modelPreferences"`
	SystemPrompt  string          `json:"systemPrompt"`
	MaxTokens     int             `json:"maxTokens"`
	Temperature   *float64        `json:"temperature"`
	StopSequences []string        `json:"stopSequences"`
	Tools         json.RawMessage `json:"tools"`
	Choice        struct {
		Mode string `json:"mode"`
	} `json:"toolChoice"`

	messages []providers.Message
	set      *providers.ToolSet // of the server's own tools
	choice   providers.Choice
	calls    map[string]bool // the ids of the calls read so far
}

// readSampling parses a request. The error names the path of what is invalid.
func readSampling(params []byte) (*samplingRequest, error) {
	r := &samplingRequest{calls: map[string]bool{}}
	if err := member.Decode(params, r); err != nil {
		return nil, err
	}
	for i := range r.Messages {
		if err := r.add(r.Messages[i].Role, r.Messages[i].Content); err != nil {
			return nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	if n := len(r.messages); n == 0 || r.messages[n-1].Role == providers.RoleAssistant {
		return nil, fmt.Errorf("messages: expected at least one, the last of the user")
	}
	if n := len(r.StopSequences); n > endpoint.MaxSequences {
		return nil, fmt.Errorf("stopSequences: expected at most %d, got %d", endpoint.MaxSequences, n)
	}
	switch r.Choice.Mode {
	case "", "auto":
	case "none":
		r.choice = providers.ChoiceNone
	case "required":
		r.choice = providers.ChoiceRequired
	default:
		return nil, fmt.Errorf("toolChoice.mode: expected auto, required or none, got %.40q", r.Choice.Mode)
	}
	var err error
	r.set, err = endpoint.ReadTools(r.Tools, toolformat.FormatMCP)
	return r, err
}

// hints returns the models that the server prefers.
func (r *samplingRequest) hints() []string {
	var names []string
	for _, h := range r.Preferences.Hints {
		if h.Name != "" {
			names = append(names, h.Name)
		}
	}
	return names
}

// add adds a message to the conversation. Consecutive messages of one role are merged.
func (r *samplingRequest) add(role string, content json.RawMessage) error {
	if role != "user" && role != "assistant" {
		return fmt.Errorf("role: expected user or assistant, got %.40q", role)
	}
	blocks := [][]byte{content}
	if len(content) > 0 && content[0] == '[' {
		blocks = slices.Collect(wire.Elements(content))
	}
	first := providers.Role("")
	for _, raw := range blocks {
		as, part, err := r.part(providers.Role(role), raw)
		if err != nil {
			return fmt.Errorf("content: %w", err)
		}
		if first = cmp.Or(first, as); first != as {
			return fmt.Errorf("content: a message with tool results must not have other blocks")
		}
		r.messages = endpoint.AddPart(r.messages, as, part)
	}
	return nil
}

// samplingBlock is a block of a message.
type samplingBlock struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Data     []byte          `json:"data"`
	MimeType string          `json:"mimeType"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
	CallID   string          `json:"toolUseId"`
}

// part returns the part for a block, and the role of its message.
func (r *samplingRequest) part(role providers.Role, raw []byte) (providers.Role, providers.Part, error) {
	var b samplingBlock
	if err := json.Unmarshal(raw, &b); err != nil {
		return "", providers.Part{}, fmt.Errorf("expected a block with a type, or an array of them: %w", err)
	}
	ofUser := role == providers.RoleUser
	switch {
	case b.Type == "text":
		return role, providers.Part{Type: providers.PartText, Text: b.Text}, nil
	case b.Type == "image" && ofUser:
		return role, providers.Part{Type: providers.PartImage, Data: b.Data, MimeType: b.MimeType}, nil
	case b.Type == "audio" && ofUser:
		return role, providers.Part{Type: providers.PartFile, Data: b.Data, MimeType: b.MimeType}, nil
	case b.Type == "tool_use" && !ofUser:
		if b.ID == "" || b.Name == "" {
			return "", providers.Part{}, fmt.Errorf("tool_use: expected an id and a name")
		}
		if len(b.Input) == 0 {
			b.Input = json.RawMessage("{}")
		}
		r.calls[b.ID] = true
		return role, providers.Part{Type: providers.PartCall, Call: &providers.Call{ID: b.ID, Name: b.Name, Arguments: b.Input}}, nil
	case b.Type == "tool_result" && ofUser:
		if !r.calls[b.CallID] {
			return "", providers.Part{}, fmt.Errorf("tool_result: no tool_use with the id %.60q precedes it", b.CallID)
		}
		result := []byte("{}")
		for _, key := range []string{"content", "structuredContent", "isError"} {
			if value := wire.Lookup(raw, key); value != nil {
				result = wire.SetMember(result, key, value)
			}
		}
		content := &toolformat.Result{JSON: result}
		if _, err := content.Content(); err != nil {
			return "", providers.Part{}, fmt.Errorf("tool_result: %w", err)
		}
		return providers.RoleTool, providers.Part{Type: providers.PartResult, Result: &providers.Result{ID: b.CallID, Content: content}}, nil
	}
	return "", providers.Part{}, fmt.Errorf("type: %.40q is not valid in a message of role %s", b.Type, role)
}

// sampled returns a CreateMessageResult. Without calls its content is a single block, as in
// all revisions.
func sampled(text string, calls []*providers.Call, model, stop string) []byte {
	var blocks [][]byte
	if text != "" || len(calls) == 0 {
		blocks = append(blocks, append(rawjson.Text([]byte(`{"type":"text"`), "text", text), '}'))
	}
	for _, c := range calls {
		b := rawjson.Text(rawjson.Text([]byte(`{"type":"tool_use"`), "id", c.ID), "name", c.Name)
		blocks = append(blocks, append(rawjson.Raw(b, "input", c.Object()), '}'))
	}
	content := blocks[0]
	if len(calls) > 0 {
		content = rawjson.Array(blocks)
	}
	b := rawjson.Raw([]byte(`{"role":"assistant"`), "content", content)
	b = rawjson.Text(rawjson.Text(b, "model", model), "stopReason", stop)
	return append(b, '}')
}
