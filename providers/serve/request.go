package serve

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// request is the body of a chat completion (OpenAI's API reference, "Create chat
// completion"). What else a body has stands in rest.
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
	MaxTokens     int      `json:"max_tokens"`
	MaxCompletion int      `json:"max_completion_tokens"`
	Temperature   *float64 `json:"temperature"`
	TopP          *float64 `json:"top_p"`
	N             int      `json:"n"`

	system   string
	messages []providers.Message
	set      *providers.ToolSet // the client's own
	choice   providers.Choice
	rest     map[string]json.RawMessage
}

// message is one message of a request.
type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Refusal string          `json:"refusal"`
	Calls   []call          `json:"tool_calls"`
	CallID  string          `json:"tool_call_id"`
}

// call is a call of a tool, in requests and responses.
type call struct {
	Index    *int   `json:"index,omitempty"` // in a stream
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// known are the members of a request that are read here.
var known = []string{"model", "messages", "tools", "tool_choice", "parallel_tool_calls", "stream", "stream_options",
	"max_tokens", "max_completion_tokens", "temperature", "top_p", "n"}

// harmless are members that change nothing of an answer.
var harmless = []string{"user", "store", "metadata", "safety_identifier", "prompt_cache_key", "service_tier"}

// readRequest reads a body. The error says what is wrong with it, by its path.
func readRequest(body []byte) (*request, error) {
	var r request
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, fmt.Errorf("the request is not as expected: %w", err)
	}
	if err := json.Unmarshal(body, &r.rest); err != nil {
		return nil, err
	}
	for _, name := range known {
		delete(r.rest, name)
	}
	switch {
	case r.Model == "":
		return nil, fmt.Errorf("model: expected one of /v1/models")
	case len(r.Messages) == 0:
		return nil, fmt.Errorf("messages: expected at least one")
	case r.N > 1:
		return nil, fmt.Errorf("n: %d answers at once are not supported: send as many requests", r.N)
	}
	for i := range r.Messages {
		if err := r.add(&r.Messages[i]); err != nil {
			return nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	said := func(m providers.Message) bool { return m.Role != providers.RoleTool && len(m.Parts) > 0 }
	if !slices.ContainsFunc(r.messages, said) {
		return nil, fmt.Errorf("messages: expected one of the user that says something")
	}
	if err := r.readTools(); err != nil {
		return nil, err
	}
	return &r, r.readChoice()
}

// add takes a message into the conversation.
func (r *request) add(m *message) error {
	parts, err := m.parts()
	if err != nil {
		return err
	}
	switch m.Role {
	case "system", "developer":
		text := (&providers.Message{Parts: parts}).Text()
		r.system = strings.TrimPrefix(r.system+"\n\n"+text, "\n\n")
		return nil
	case "user":
		r.messages = append(r.messages, providers.Message{Role: providers.RoleUser, Parts: parts})
	case "assistant":
		for _, c := range m.Calls {
			parts = append(parts, providers.Part{Type: providers.PartCall, Call: &providers.Call{ID: c.ID, Name: c.Function.Name, Arguments: arguments(c.Function.Arguments)}})
		}
		r.messages = append(r.messages, providers.Message{Role: providers.RoleAssistant, Parts: parts})
	case "tool":
		if m.CallID == "" {
			return fmt.Errorf("tool_call_id: expected the id of the call that this is the result of")
		}
		text := (&providers.Message{Parts: parts}).Text()
		part := providers.Part{Type: providers.PartResult, Result: &providers.Result{ID: m.CallID, Name: r.nameOf(m.CallID), Content: toolformat.TextResult(text, false)}}
		if n := len(r.messages); n > 0 && r.messages[n-1].Role == providers.RoleTool {
			r.messages[n-1].Parts = append(r.messages[n-1].Parts, part)
		} else {
			r.messages = append(r.messages, providers.Message{Role: providers.RoleTool, Parts: []providers.Part{part}})
		}
	default:
		return fmt.Errorf("role: expected system, developer, user, assistant or tool, got %.40q", m.Role)
	}
	return nil
}

// arguments are those of a call as JSON; nothing is {}.
func arguments(text string) json.RawMessage {
	if strings.TrimSpace(text) == "" {
		return json.RawMessage("{}")
	}
	if raw := json.RawMessage(text); wire.Valid(raw) == nil {
		return raw
	}
	return wire.AppendString(nil, text)
}

// nameOf is the tool of a call that came before.
func (r *request) nameOf(id string) string {
	for i := len(r.messages) - 1; i >= 0; i-- {
		for _, c := range r.messages[i].Calls() {
			if c.ID == id {
				return c.Name
			}
		}
	}
	return ""
}

// part is one part of a message's content.
type part struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Refusal  string `json:"refusal"`
	ImageURL struct {
		URL string `json:"url"`
	} `json:"image_url"`
	Audio struct {
		Data   []byte `json:"data"`
		Format string `json:"format"`
	} `json:"input_audio"`
	File struct {
		Data string `json:"file_data"`
		Name string `json:"filename"`
	} `json:"file"`
}

// parts are the content of a message: a string, or an array.
func (m *message) parts() ([]providers.Part, error) {
	text, isText := wire.Text(m.Content)
	switch {
	case isText && text != "":
		return []providers.Part{{Type: providers.PartText, Text: text}}, nil
	case isText, m.Content == nil, string(m.Content) == "null":
		return nil, nil
	}
	var list []part
	if err := json.Unmarshal(m.Content, &list); err != nil {
		return nil, fmt.Errorf("content: expected a string or an array of parts")
	}
	all := make([]providers.Part, 0, len(list))
	for i := range list {
		p, err := list[i].read()
		if err != nil {
			return nil, fmt.Errorf("content[%d]: %w", i, err)
		}
		all = append(all, p)
	}
	return all, nil
}

func (p *part) read() (providers.Part, error) {
	switch p.Type {
	case "text":
		return providers.Part{Type: providers.PartText, Text: p.Text}, nil
	case "refusal":
		return providers.Part{Type: providers.PartText, Text: p.Refusal}, nil
	case "image_url":
		data, mime, err := dataURL(p.ImageURL.URL)
		if err != nil {
			return providers.Part{}, fmt.Errorf("image_url.url: %w", err)
		}
		return providers.Part{Type: providers.PartImage, Data: data, MimeType: mime}, nil
	case "input_audio":
		return providers.Part{Type: providers.PartFile, Data: p.Audio.Data, MimeType: "audio/" + p.Audio.Format}, nil
	case "file":
		data, mime, err := dataURL(p.File.Data)
		if err != nil {
			return providers.Part{}, fmt.Errorf("file.file_data: %w", err)
		}
		return providers.Part{Type: providers.PartFile, Data: data, MimeType: mime, Name: p.File.Name}, nil
	}
	return providers.Part{}, fmt.Errorf("type: expected text, image_url, input_audio or file, got %.40q", p.Type)
}

// dataURL reads data:TYPE;base64,DATA. Nothing is fetched for a client: what it can reach
// and what the bridge can are two things.
func dataURL(url string) (data []byte, mime string, err error) {
	head, encoded, ok := strings.Cut(url, ",")
	head, isData := strings.CutPrefix(head, "data:")
	mime, inBase64 := strings.CutSuffix(head, ";base64")
	if !ok || !isData || !inBase64 {
		return nil, "", fmt.Errorf("expected data:TYPE;base64,DATA: nothing is fetched from elsewhere")
	}
	data, err = base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, "", fmt.Errorf("the data is not base64")
	}
	return data, mime, nil
}

func (r *request) readTools() error {
	if r.Tools == nil || string(r.Tools) == "null" {
		return nil
	}
	reading, err := toolformat.Read(r.Tools, toolformat.FormatOpenAI)
	if err != nil {
		return fmt.Errorf("tools: %w", err)
	}
	for _, f := range reading.Faults {
		return fmt.Errorf("tools[%d]: %s", f.Index, f.Notes[0].Text)
	}
	r.set = providers.NewToolSet(reading.Tools)
	return nil
}

// readChoice reads tool_choice: a word, or the tool that must be called.
func (r *request) readChoice() error {
	word, isWord := wire.Text(r.Choice)
	name, isNamed := wire.Text(wire.Lookup(r.Choice, "function", "name"))
	switch {
	case r.Choice == nil, string(r.Choice) == "null", word == "auto":
	case word == "none":
		r.choice = providers.ChoiceNone
	case word == "required", word == "any":
		r.choice = providers.ChoiceRequired
	case !isWord && isNamed && name != "":
		r.choice = providers.Choice(name)
	default:
		return fmt.Errorf(`tool_choice: expected "none", "auto", "required" or {"type":"function","function":{"name":…}}`)
	}
	return nil
}

// settle puts what a request says over a model's settings. A provider of the same API
// gets the members that are not known here; of another the names of those that it has no
// place for are returned.
func (r *request) settle(s *providers.Settings, p providers.Provider) (ignored []string) {
	if n := max(r.MaxTokens, r.MaxCompletion); n > 0 {
		s.MaxTokens = n
	}
	if r.Temperature != nil {
		s.Temperature = r.Temperature
	}
	if r.TopP != nil {
		s.TopP = r.TopP
	}
	s.Serial = s.Serial || r.Parallel != nil && !*r.Parallel
	for name, value := range r.rest {
		switch {
		case string(value) == "null":
		case p.Format() == toolformat.FormatOpenAI:
			s.Body = wire.SetMember(append(json.RawMessage(nil), object(s.Body)...), name, value)
		case !slices.Contains(harmless, name):
			ignored = append(ignored, name)
		}
	}
	slices.Sort(ignored)
	return ignored
}

func object(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("{}")
	}
	return raw
}
