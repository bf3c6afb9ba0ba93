package endpoint

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/member"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// MaxSequences bounds the stop sequences of a request.
const MaxSequences = 100

// maxUnknown bounds the members of a request that are not known.
const maxUnknown = 100

// Read decodes a body into v, as member.Decode does, and returns its members other than those that are known.
func Read(body []byte, v any, known []string) (map[string]json.RawMessage, error) {
	seen := map[string]bool{}
	for name := range wire.Members(body) {
		as := strings.ToLower(name) // as encoding/json matches them
		if seen[as] {
			return nil, fmt.Errorf("%s: the request has it twice", name)
		}
		seen[as] = true
	}
	if err := member.Decode(body, v); err != nil {
		return nil, err
	}
	var rest map[string]json.RawMessage
	if err := json.Unmarshal(body, &rest); err != nil {
		return nil, err
	}
	delete(rest, "models") // ReadFallbacks
	maps.DeleteFunc(rest, func(name string, _ json.RawMessage) bool {
		return slices.ContainsFunc(known, func(own string) bool { return strings.EqualFold(own, name) }) // as encoding/json matches them
	})
	if len(rest) > maxUnknown {
		return nil, fmt.Errorf("the request has %d unknown members: expected at most %d", len(rest), maxUnknown)
	}
	return rest, nil
}

// ReadFallbacks returns the member models of a body: the models that go on where that of the request fails. Clients
// that know it from other gateways repeat the first one there.
func ReadFallbacks(body []byte) ([]string, error) {
	if wire.Lookup(body, "models") == nil {
		return nil, nil
	}
	var r struct {
		Model  string   `json:"model"`
		Models []string `json:"models"`
	}
	if err := member.Decode(body, &r); err != nil {
		return nil, err
	}
	if len(r.Models) > 0 && r.Models[0] == r.Model {
		return r.Models[1:], nil
	}
	return r.Models, nil
}

// IsCount reports whether a number is whole, and not negative.
func IsCount(f float64) bool { return f >= 0 && f <= math.MaxInt32 && f == math.Trunc(f) }

// ReadTools reads the client's own tools, an array in a format; nil if there are none.
func ReadTools(tools json.RawMessage, f toolformat.Format) (*providers.ToolSet, error) {
	if rawjson.IsNull(tools) {
		return nil, nil
	}
	reading, err := toolformat.Read(tools, f)
	if err != nil {
		return nil, fmt.Errorf("tools: %w", err)
	}
	if len(reading.Faults) > 0 {
		first := reading.Faults[0]
		note := first.Notes[0]
		note.Tool = ""
		return nil, fmt.Errorf("tools[%d]: %s", first.Index, strings.TrimPrefix(note.String(), "/"))
	}
	at := map[string]int{}
	for i := range reading.Tools {
		name := reading.Tools[i].Name
		if first, taken := at[name]; taken {
			return nil, fmt.Errorf("tools[%d]: the name %.100q is that of tools[%d], too", i, name, first)
		}
		at[name] = i
	}
	return providers.NewToolSet(reading.Tools), nil
}

// Literal returns globs that match only these names.
func Literal(names []string) []string {
	quote := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)
	globs := make([]string, len(names))
	for i, name := range names {
		globs[i] = quote.Replace(name)
	}
	return globs
}

// TextOnly returns the error of a message whose role has only text, if there are other parts.
func TextOnly(role string, parts []providers.Part) error {
	for i := range parts {
		if parts[i].Type != providers.PartText {
			return fmt.Errorf("content[%d]: a message of the role %s has only text", i, role)
		}
	}
	return nil
}

// AddPart appends a part to a conversation: to its last message if that has the role, else as a new
// message.
func AddPart(messages []providers.Message, role providers.Role, part providers.Part) []providers.Message {
	if n := len(messages); n > 0 && messages[n-1].Role == role {
		messages[n-1].Parts = append(messages[n-1].Parts, part)
		return messages
	}
	return append(messages, providers.Message{Role: role, Parts: []providers.Part{part}})
}

// AddResult appends the result of a call to a conversation. parts are its content.
func AddResult(messages []providers.Message, id string, parts []providers.Part, failed bool) ([]providers.Message, error) {
	content, err := resultOf(parts, failed)
	if err != nil {
		return nil, err
	}
	result := &providers.Result{ID: id, Content: content}
	return AddPart(messages, providers.RoleTool, providers.Part{Type: providers.PartResult, Result: result}), nil
}

// Ran returns the parts of the assistant's message for a call that has run here: the call and its result, which has
// some content. Clients have both in one message.
func Ran(call *providers.Call, content []providers.Part, failed bool) ([]providers.Part, error) {
	result, err := resultOf(content, failed)
	if err != nil {
		return nil, err
	}
	return []providers.Part{
		{Type: providers.PartCall, Call: call},
		{Type: providers.PartResult, Result: &providers.Result{ID: call.ID, Name: call.Name, Content: result}},
	}, nil
}

// resultOf returns the parts of a tool's message as the result of a call.
func resultOf(parts []providers.Part, failed bool) (*toolformat.Result, error) {
	blocks := make([][]byte, len(parts))
	for i := range parts {
		p := &parts[i]
		data := base64.StdEncoding.EncodeToString(p.Data)
		kind, isAudio := "image", strings.HasPrefix(p.MimeType, "audio/")
		switch {
		case p.Type == providers.PartText:
			blocks[i] = append(rawjson.Text([]byte(`{"type":"text"`), "text", p.Text), '}')
			continue
		case p.URL != "":
			return nil, fmt.Errorf("content[%d]: an image in the message of a tool must be a data: URL", i)
		case p.Type == providers.PartFile && !isAudio:
			b := rawjson.Text([]byte(`{"type":"resource","resource":{`), "uri", "file:///"+url.PathEscape(p.Name))
			b = rawjson.Text(b, "mimeType", p.MimeType)
			if strings.HasPrefix(p.MimeType, "text/") && utf8.Valid(p.Data) { // which every model reads
				b = rawjson.Text(b, "text", string(p.Data))
			} else {
				b = rawjson.Text(b, "blob", data)
			}
			blocks[i] = append(b, "}}"...)
			continue
		case isAudio:
			kind = "audio"
		}
		b := rawjson.Text(rawjson.Text([]byte("{"), "type", kind), "mimeType", p.MimeType)
		blocks[i] = append(rawjson.Text(b, "data", data), '}')
	}
	result := rawjson.Raw([]byte("{"), "content", rawjson.Array(blocks))
	if failed {
		result = rawjson.Raw(result, "isError", "true")
	}
	return &toolformat.Result{JSON: append(result, '}')}, nil
}

// DataPart returns the part of a URL data:TYPE;base64,DATA, or of an https URL, which the provider
// fetches. The bridge fetches none: it can reach hosts that a client cannot. member is the URL's place,
// for the error.
func DataPart(kind providers.PartType, member, address, name string) (providers.Part, error) {
	if kind == providers.PartImage && isHTTPS(address) {
		return providers.Part{Type: kind, URL: address}, nil
	}
	head, encoded, ok := strings.Cut(address, ",")
	head, isData := strings.CutPrefix(head, "data:")
	mime, inBase64 := strings.CutSuffix(head, ";base64")
	if !ok || !isData || !inBase64 {
		return providers.Part{}, fmt.Errorf("%s: expected data:TYPE;base64,DATA, or for an image an https URL", member)
	}
	return Base64Part(kind, member, encoded, mime, name)
}

// Base64Part returns the part of data in base64. member is its place, for the error.
func Base64Part(kind providers.PartType, member, encoded, mime, name string) (providers.Part, error) {
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(data) == 0 {
		return providers.Part{}, fmt.Errorf("%s: expected data in base64", member)
	}
	return providers.Part{Type: kind, Data: data, MimeType: mime, Name: name}, nil
}

func isHTTPS(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "https" && u.Host != ""
}

// AddMember adds a member to the body of the provider's request.
func AddMember(s *providers.Settings, name string, value json.RawMessage) {
	if s.Body == nil {
		s.Body = json.RawMessage("{}")
	}
	s.Body = wire.SetMember(s.Body, name, value)
}
