package serve

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// samplingRequest is MCP's CreateMessageRequestParams (specification 2025-11-25, client,
// sampling). includeContext is not looked at, which a client may do, and nor is metadata:
// it is for a provider that the server does not know.
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
	set      *providers.ToolSet // nil: there are none
	choice   providers.Choice
	names    map[string]string // of the calls, by their ids
}

// readSampling reads a request. The error says what is wrong with it, by its path.
func readSampling(params []byte) (*samplingRequest, error) {
	r := &samplingRequest{names: map[string]string{}}
	if err := json.Unmarshal(params, r); err != nil {
		return nil, fmt.Errorf("the request is not as expected: %w", err)
	}
	for i := range r.Messages {
		if err := r.add(r.Messages[i].Role, r.Messages[i].Content); err != nil {
			return nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	if n := len(r.messages); n == 0 || r.messages[n-1].Role == providers.RoleAssistant {
		return nil, fmt.Errorf("messages: expected at least one, and the last one of the user")
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
	return r, r.readTools()
}

func (r *samplingRequest) readTools() error {
	if len(r.Tools) == 0 || string(r.Tools) == "null" || string(r.Tools) == "[]" {
		return nil
	}
	reading, err := toolformat.Read(r.Tools, toolformat.FormatMCP)
	if err != nil {
		return fmt.Errorf("tools: %w", err)
	}
	for _, f := range reading.Faults {
		return fmt.Errorf("tools[%d]: %s", f.Index, f.Notes[0].Text)
	}
	r.set = providers.NewToolSet(reading.Tools)
	return nil
}

// hints are the models that the server would like.
func (r *samplingRequest) hints() []string {
	var names []string
	for _, h := range r.Preferences.Hints {
		if h.Name != "" {
			names = append(names, h.Name)
		}
	}
	return names
}

// add takes a message into the conversation. Those of one role that follow one another are
// one there.
func (r *samplingRequest) add(role string, content json.RawMessage) error {
	blocks := []json.RawMessage{content}
	if len(content) > 0 && content[0] == '[' {
		blocks = nil
		for block := range wire.Elements(content) {
			blocks = append(blocks, block)
		}
	}
	if role != "user" && role != "assistant" {
		return fmt.Errorf("role: expected user or assistant, got %.40q", role)
	}
	first := providers.Role("")
	for _, raw := range blocks {
		as, part, err := r.part(providers.Role(role), raw)
		if err != nil {
			return fmt.Errorf("content: %w", err)
		}
		if first = cmp.Or(first, as); first != as {
			return fmt.Errorf("content: a message with tool results has nothing else")
		}
		if n := len(r.messages); n > 0 && r.messages[n-1].Role == as {
			r.messages[n-1].Parts = append(r.messages[n-1].Parts, part)
		} else {
			r.messages = append(r.messages, providers.Message{Role: as, Parts: []providers.Part{part}})
		}
	}
	return nil
}

// samplingBlock is one block of a message.
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

// part is a block as a conversation has it, and whose it is there.
func (r *samplingRequest) part(role providers.Role, raw json.RawMessage) (providers.Role, providers.Part, error) {
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
		r.names[b.ID] = b.Name
		return role, providers.Part{Type: providers.PartCall, Call: &providers.Call{ID: b.ID, Name: b.Name, Arguments: b.Input}}, nil
	case b.Type == "tool_result" && ofUser:
		name, known := r.names[b.CallID]
		if !known {
			return "", providers.Part{}, fmt.Errorf("tool_result: no tool_use before it has the id %.60q", b.CallID)
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
		return providers.RoleTool, providers.Part{Type: providers.PartResult, Result: &providers.Result{ID: b.CallID, Name: name, Content: content}}, nil
	}
	return "", providers.Part{}, fmt.Errorf("type: %.40q is none that a message of role %s has here", b.Type, role)
}

// appendSampled makes a CreateMessageResult. One without calls has a single block, as all
// revisions know it.
func appendSampled(text string, calls []*providers.Call, model, stop string) []byte {
	b := []byte(`{"role":"assistant","content":`)
	block := wire.AppendString([]byte(`{"type":"text","text":`), text)
	block = append(block, '}')
	if len(calls) == 0 {
		b = append(b, block...)
	} else {
		b = append(b, '[')
		if text != "" {
			b = append(append(b, block...), ',')
		}
		for i, c := range calls {
			if i > 0 {
				b = append(b, ',')
			}
			b = wire.AppendString(append(b, `{"type":"tool_use","id":`...), c.ID)
			b = wire.AppendString(append(b, `,"name":`...), c.Name)
			b = append(append(append(b, `,"input":`...), c.Object()...), '}')
		}
		b = append(b, ']')
	}
	b = wire.AppendString(append(b, `,"model":`...), model)
	b = wire.AppendString(append(b, `,"stopReason":`...), stop)
	return append(b, '}')
}
