package serve

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A request is the body of a chat completion (OpenAI's API reference, "Create chat
// completion").
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

	system   strings.Builder
	messages []providers.Message
	set      *providers.ToolSet // of the client's own tools
	choice   providers.Choice
	rest     map[string]json.RawMessage // the members that are not known
}

// message is a message of a request.
type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Refusal string          `json:"refusal"`
	Calls   []call          `json:"tool_calls"`
	CallID  string          `json:"tool_call_id"`
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

// known are the members of a request that are read.
var known = []string{"model", "messages", "tools", "tool_choice", "parallel_tool_calls", "stream", "stream_options",
	"max_tokens", "max_completion_tokens", "temperature", "top_p", "n"}

// maxUnknown bounds the other members of a request.
const maxUnknown = 100

// harmless are members that do not change an answer.
var harmless = []string{"user", "store", "metadata", "safety_identifier", "prompt_cache_key", "service_tier"}

// readRequest parses a body. The error names the path of what is invalid.
func readRequest(body []byte) (*request, error) {
	var r request
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, withoutGoTypes(err)
	}
	if err := json.Unmarshal(body, &r.rest); err != nil {
		return nil, err
	}
	maps.DeleteFunc(r.rest, func(name string, _ json.RawMessage) bool {
		return slices.ContainsFunc(known, func(own string) bool { return strings.EqualFold(own, name) }) // as encoding/json matches them
	})
	switch {
	case len(r.rest) > maxUnknown:
		return nil, fmt.Errorf("the request has %d unknown members: expected at most %d", len(r.rest), maxUnknown)
	case r.Model == "":
		return nil, fmt.Errorf("model: expected one of /v1/models")
	case len(r.Messages) == 0:
		return nil, fmt.Errorf("messages: expected at least one")
	case r.MaxTokens < 0 || r.MaxCompletion < 0:
		return nil, fmt.Errorf("max_tokens: expected a number above 0")
	case r.N > 1:
		return nil, fmt.Errorf("n: %d answers are not supported: send %d requests", r.N, r.N)
	}
	for i := range r.Messages {
		if err := r.add(&r.Messages[i]); err != nil {
			return nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	hasContent := func(m providers.Message) bool { return m.Role != providers.RoleTool && len(m.Parts) > 0 }
	if !slices.ContainsFunc(r.messages, hasContent) {
		return nil, fmt.Errorf("messages: expected a user message with content")
	}
	var err error
	if r.set, err = readTools(r.Tools, toolformat.FormatOpenAI); err != nil {
		return nil, err
	}
	return &r, r.readChoice()
}

// withoutGoTypes returns the error of a request that cannot be parsed, without the names of
// Go's types.
func withoutGoTypes(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		err = fmt.Errorf("%s: unexpected type: %s", cmp.Or(wrong.Field, "the whole"), wrong.Value)
	}
	return fmt.Errorf("invalid request: %w", err)
}

// add adds a message to the conversation.
func (r *request) add(m *message) error {
	parts, err := m.parts()
	if err != nil {
		return err
	}
	switch m.Role {
	case "system", "developer":
		if r.system.Len() > 0 {
			r.system.WriteString("\n\n")
		}
		r.system.WriteString((&providers.Message{Parts: parts}).Text())
	case "user":
		r.messages = append(r.messages, providers.Message{Role: providers.RoleUser, Parts: parts})
	case "assistant":
		for _, c := range m.Calls {
			parts = append(parts, providers.Part{Type: providers.PartCall, Call: &providers.Call{ID: c.ID, Name: c.Function.Name, Arguments: providers.Arguments(c.Function.Arguments)}})
		}
		r.messages = append(r.messages, providers.Message{Role: providers.RoleAssistant, Parts: parts})
	case "tool":
		if m.CallID == "" {
			return fmt.Errorf("tool_call_id: expected the id of the call with this result")
		}
		text := (&providers.Message{Parts: parts}).Text()
		result := &providers.Result{ID: m.CallID, Content: toolformat.TextResult(text, false)}
		r.messages = addPart(r.messages, providers.RoleTool, providers.Part{Type: providers.PartResult, Result: result})
	default:
		return fmt.Errorf("role: expected system, developer, user, assistant or tool, got %.40q", m.Role)
	}
	return nil
}

// addPart appends a part to a conversation: to its last message if that has the role, else as
// a new message.
func addPart(messages []providers.Message, role providers.Role, part providers.Part) []providers.Message {
	if n := len(messages); n > 0 && messages[n-1].Role == role {
		messages[n-1].Parts = append(messages[n-1].Parts, part)
		return messages
	}
	return append(messages, providers.Message{Role: role, Parts: []providers.Part{part}})
}

// readTools reads the client's own tools, if any.
func readTools(tools json.RawMessage, f toolformat.Format) (*providers.ToolSet, error) {
	if rawjson.IsNull(tools) {
		return nil, nil
	}
	reading, err := toolformat.Read(tools, f)
	if err != nil {
		return nil, fmt.Errorf("tools: %w", err)
	}
	if len(reading.Faults) > 0 {
		first := reading.Faults[0]
		return nil, fmt.Errorf("tools[%d]: %s", first.Index, first.Notes[0].Text)
	}
	return providers.NewToolSet(reading.Tools), nil
}

// readChoice reads tool_choice: a word, or the tool that must be called.
func (r *request) readChoice() error {
	word, isWord := wire.Text(r.Choice)
	name, isNamed := wire.Text(wire.Lookup(r.Choice, "function", "name"))
	switch {
	case rawjson.IsNull(r.Choice), word == "auto":
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

// override applies the request to a model's settings. A provider of Chat Completions gets the
// unknown members too; for any other their names are returned.
func (r *request) override(s *providers.Settings, p providers.Provider) (ignored []string) {
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
	for _, name := range slices.Sorted(maps.Keys(r.rest)) {
		value := r.rest[name]
		switch {
		case rawjson.IsNull(value):
		case p.Format() == toolformat.FormatOpenAI:
			if s.Body == nil {
				s.Body = json.RawMessage("{}")
			}
			s.Body = wire.SetMember(s.Body, name, value)
		case !slices.Contains(harmless, name):
			ignored = append(ignored, name)
		}
	}
	return ignored
}

// part is a part of a message's content.
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

// parts returns the content of a message: a string, or an array.
func (m *message) parts() ([]providers.Part, error) {
	text, isText := wire.Text(m.Content)
	switch {
	case isText && text != "":
		return []providers.Part{{Type: providers.PartText, Text: text}}, nil
	case isText, rawjson.IsNull(m.Content):
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
		return dataPart(providers.PartImage, "image_url.url", p.ImageURL.URL, "")
	case "input_audio":
		return providers.Part{Type: providers.PartFile, Data: p.Audio.Data, MimeType: "audio/" + p.Audio.Format}, nil
	case "file":
		return dataPart(providers.PartFile, "file.file_data", p.File.Data, p.File.Name)
	}
	return providers.Part{}, fmt.Errorf("type: expected text, image_url, input_audio or file, got %.40q", p.Type)
}

// dataPart returns the part of a URL data:TYPE;base64,DATA. No other URL is fetched: the bridge
// can reach hosts that a client cannot. member is the URL's place, for the error.
func dataPart(kind providers.PartType, member, url, name string) (providers.Part, error) {
	head, encoded, ok := strings.Cut(url, ",")
	head, isData := strings.CutPrefix(head, "data:")
	mime, inBase64 := strings.CutSuffix(head, ";base64")
	if !ok || !isData || !inBase64 {
		return providers.Part{}, fmt.Errorf("%s: expected data:TYPE;base64,DATA: other URLs are not fetched", member)
	}
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return providers.Part{}, fmt.Errorf("%s: the data is not base64", member)
	}
	return providers.Part{Type: kind, Data: data, MimeType: mime, Name: name}, nil
}
