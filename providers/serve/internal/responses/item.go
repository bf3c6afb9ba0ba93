package responses

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/member"
)

// An item is an item of the input. Which members are used depends on its type.
type item struct {
	Type    string          `json:"type"` // "" means message, or without a role item_reference
	ID      string          `json:"id"`   // of an item_reference
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`

	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Namespace string          `json:"namespace"` // of a tool; may be ""
	Arguments string          `json:"arguments"`
	Input     string          `json:"input"` // of a custom tool's call
	Output    json.RawMessage `json:"output"`
	Error     json.RawMessage `json:"error"` // of a call that has run here

	Server  string `json:"server_label"` // of a list of tools, and of such a call
	Summary []struct {
		Text string `json:"text"`
	} `json:"summary"`
	Encrypted string `json:"encrypted_content"`
}

// add adds an item to the conversation. Those of the assistant in a row are one message.
func (r *request) add(raw []byte) error {
	if slices.Contains(ranElsewhere, rawjson.TextAt(raw, "type")) { // their members of the same names have other types
		return nil
	}
	var i item
	if err := member.Decode(raw, &i); err != nil {
		return err
	}
	if i.Type == "" && i.Role != "" {
		i.Type = "message"
	}
	switch i.Type {
	case "message":
		return r.addMessage(&i, raw)
	case "function_call":
		return r.addCall(&i, raw, providers.Arguments(i.Arguments))
	case "custom_tool_call":
		return r.addCall(&i, raw, textArguments(i.Input))
	case "function_call_output", "custom_tool_call_output":
		if i.CallID == "" {
			return fmt.Errorf("call_id: expected the id of the call with this output")
		}
		parts, err := contentOf("output", i.Output)
		if err == nil {
			r.messages, err = endpoint.AddResult(r.messages, i.CallID, parts, false)
		}
		return err
	case "reasoning":
		for _, s := range i.Summary {
			r.addPart(providers.Part{Type: providers.PartThinking, Text: s.Text})
		}
		r.sign(raw, i.Encrypted != "")
		return nil
	case mcpCall:
		return r.addRun(&i)
	case mcpTools:
		r.listed[i.Server] = true
		return nil
	case "item_reference", "":
		kept := r.kept(i.ID)
		if rawjson.TextAt(kept, "type") == "" { // of a whole response, too
			return fmt.Errorf("id: no item %.100q is kept: one is kept for at most an hour, and not with store false; send the item itself", i.ID)
		}
		return r.add(kept)
	}
	return fmt.Errorf("type: %.40q is not supported: expected message, reasoning, function_call, function_call_output, custom_tool_call or custom_tool_call_output", i.Type)
}

// ranElsewhere are the items of calls that clients repeat and that do not run here: those of the vendor's own tools.
var ranElsewhere = []string{
	"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "tool_search_call", "tool_search_output",
	"computer_call", "computer_call_output", "local_shell_call", "local_shell_call_output", "shell_call", "shell_call_output",
	"apply_patch_call", "apply_patch_call_output", "program", "program_output",
}

// addMessage adds a message.
func (r *request) addMessage(i *item, raw []byte) error {
	parts, err := contentOf("content", i.Content)
	if err != nil || len(parts) == 0 {
		return err
	}
	switch i.Role {
	case "system", "developer":
		if len(r.messages) > 0 { // said at its place: what is before stays as a provider has cached it
			r.messages = append(r.messages, providers.Message{Role: providers.RoleUser, Parts: parts})
			return nil
		}
		if err := endpoint.TextOnly(i.Role, parts); err != nil {
			return err
		}
		r.say((&providers.Message{Parts: parts}).Text())
	case "user":
		r.messages = append(r.messages, providers.Message{Role: providers.RoleUser, Parts: parts})
	case "assistant":
		if err := endpoint.TextOnly(i.Role, parts); err != nil {
			return err
		}
		r.addPart(parts...)
		r.sign(raw, false)
	default:
		return fmt.Errorf("role: expected user, assistant, system or developer, got %.40q", i.Role)
	}
	return nil
}

// addCall adds a call of the model.
func (r *request) addCall(i *item, raw []byte, arguments json.RawMessage) error {
	if i.CallID == "" || i.Name == "" {
		return fmt.Errorf("expected a call_id and a name")
	}
	r.addPart(providers.Part{Type: providers.PartCall, Call: &providers.Call{ID: i.CallID, Name: inNamespace(i.Namespace, i.Name), Arguments: arguments}})
	r.sign(raw, false)
	return nil
}

// addRun adds a call that has run here, with its result.
func (r *request) addRun(i *item) error {
	if i.ID == "" || i.Name == "" {
		return fmt.Errorf("expected an id and a name")
	}
	output, failed := i.Output, !rawjson.IsNull(i.Error)
	if failed {
		output = i.Error
	}
	text, isText := wire.Text(output)
	if !isText && !rawjson.IsNull(output) { // an error may be an object
		text = string(output)
	}
	call := &providers.Call{ID: i.ID, Name: r.named(i.Server, i.Name), Arguments: providers.Arguments(i.Arguments)}
	parts, err := endpoint.Ran(call, []providers.Part{{Type: providers.PartText, Text: text}}, failed)
	r.addPart(parts...)
	return err
}

// addPart adds parts to the message of the assistant.
func (r *request) addPart(parts ...providers.Part) {
	for _, p := range parts {
		r.messages = endpoint.AddPart(r.messages, providers.RoleAssistant, p)
	}
}

// sign keeps an item as it goes back to the same API, from the first one of a message on whose
// reasoning is encrypted: only with that reasoning can the API use them.
func (r *request) sign(raw []byte, encrypted bool) {
	n := len(r.messages)
	if n == 0 || r.messages[n-1].Role != providers.RoleAssistant {
		if !encrypted {
			return
		}
		r.messages = append(r.messages, providers.Message{Role: providers.RoleAssistant})
		n++
	}
	m := &r.messages[n-1]
	switch {
	case m.Raw != nil:
		items := m.Raw.Items
		items[len(items)-1] = ',' // in place: a conversation may have many items
		m.Raw.Items = append(append(items, raw...), ']')
	case encrypted:
		m.Raw = &providers.Raw{Model: r.Model, Items: append(append([]byte{'['}, raw...), ']')}
	}
}

// contentOf returns the content of a message or of a call's output: a string, or an array of parts.
func contentOf(name string, content json.RawMessage) ([]providers.Part, error) {
	if text, isText := wire.Text(content); isText {
		if text == "" {
			return nil, nil
		}
		return []providers.Part{{Type: providers.PartText, Text: text}}, nil
	}
	if rawjson.IsNull(content) {
		return nil, nil
	}
	var all []providers.Part
	err := member.Elements(name, "a string or an array of parts", content, func(_ int, raw []byte) error {
		p, err := readPart(raw)
		all = append(all, p)
		return err
	})
	return all, err
}

// readPart reads a part of a content.
func readPart(raw []byte) (providers.Part, error) {
	var p struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Refusal  string `json:"refusal"`
		ImageURL string `json:"image_url"`
		Detail   string `json:"detail"`
		Data     string `json:"file_data"`
		Name     string `json:"filename"`
		Audio    struct {
			Data   string `json:"data"`
			Format string `json:"format"`
		} `json:"input_audio"`
	}
	if err := member.Decode(raw, &p); err != nil {
		return providers.Part{}, err
	}
	switch p.Type {
	case "input_text", "output_text", "text", "summary_text", "reasoning_text":
		return providers.Part{Type: providers.PartText, Text: p.Text}, nil
	case "refusal":
		return providers.Part{Type: providers.PartText, Text: p.Refusal}, nil
	case "input_image":
		image, err := endpoint.DataPart(providers.PartImage, "image_url", p.ImageURL, "")
		image.Detail = p.Detail
		return image, err
	case "input_file":
		return endpoint.DataPart(providers.PartFile, "file_data", p.Data, p.Name)
	case "input_audio":
		return endpoint.Base64Part(providers.PartFile, "input_audio.data", p.Audio.Data, "audio/"+p.Audio.Format, "")
	}
	return providers.Part{}, fmt.Errorf("type: expected input_text, input_image, input_file, input_audio or output_text, got %.40q", p.Type)
}
