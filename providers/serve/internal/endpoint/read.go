package endpoint

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// MaxSequences bounds the stop sequences of a request.
const MaxSequences = 100

// Decode decodes a body into v. The error is without the names of Go's types.
func Decode(body []byte, v any) error {
	err := json.Unmarshal(body, v)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		field := wrong.Field
		for _, embedded := range []string{"parameters.", "legacy."} {
			field = strings.TrimPrefix(field, embedded)
		}
		err = fmt.Errorf("%s: unexpected type: %s", cmp.Or(field, "the whole"), wrong.Value)
	}
	return fmt.Errorf("invalid request: %w", err)
}

// maxUnknown bounds the members of a request that are not known.
const maxUnknown = 100

// Read decodes a body into v, as Decode does, and returns its members other than those that are known.
func Read(body []byte, v any, known []string) (map[string]json.RawMessage, error) {
	if err := Decode(body, v); err != nil {
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
	if err := Decode(body, &r); err != nil {
		return nil, err
	}
	if len(r.Models) > 0 && r.Models[0] == r.Model {
		return r.Models[1:], nil
	}
	return r.Models, nil
}

// SaysNothing reports whether the value of a member is the one that clients send for what is not wanted.
func SaysNothing(value json.RawMessage) bool {
	switch string(value) {
	case "null", "false", "0", `""`, "{}", "[]":
		return true
	}
	return false
}

// IsCount reports whether a number is whole, and not negative.
func IsCount(f float64) bool { return f >= 0 && f <= math.MaxInt32 && f == math.Trunc(f) }

// paramOf returns the path that the message of an error begins with, if any.
func paramOf(message string) string {
	if param, _, ok := strings.Cut(message, ": "); ok && !strings.Contains(param, " ") {
		return param
	}
	return ""
}

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
		return nil, fmt.Errorf("tools[%d]: %s", first.Index, first.Notes[0].Text)
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
			b = rawjson.Text(rawjson.Text(b, "mimeType", p.MimeType), "blob", data)
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
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return providers.Part{}, fmt.Errorf("%s: the data is not base64", member)
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

// NotTaken returns the error of a request with a member that the endpoint takes from no client.
func NotTaken(member string) error {
	return fmt.Errorf("%s: this endpoint does not take it: leave it out", member)
}
