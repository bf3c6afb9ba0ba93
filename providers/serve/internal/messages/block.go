package messages

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/member"
)

// A block is a block of a message's content.
type block struct {
	Type   string          `json:"type"`
	Text   string          `json:"text"`
	Title  string          `json:"title"`
	Source json.RawMessage `json:"source"` // of an image or a document; text of a search result
	ID     string          `json:"id"`
	Name   string          `json:"name"`
	Server string          `json:"server_name"` // that has the tool of a call that has run here
	Input  json.RawMessage `json:"input"`

	CallID  string          `json:"tool_use_id"`
	Content json.RawMessage `json:"content"` // of a result
	IsError bool            `json:"is_error"`

	Thinking string `json:"thinking"`

	Context   string          `json:"context"`   // about a document
	Citations json.RawMessage `json:"citations"` // whether the answer cites a document; those of a text
}

func readBlock(raw []byte) (*block, error) {
	var b block
	if err := member.Decode(raw, &b); err != nil {
		return nil, err
	}
	if b.Type == "" {
		return nil, fmt.Errorf("type: expected the type of the block")
	}
	return &b, nil
}

// parts returns what a block says. What only Anthropic's API understands, of its own tools, says
// nothing: it goes back to that API as it came (see signed).
func (b *block) parts(ofAssistant bool) ([]providers.Part, error) {
	one := func(p providers.Part, err error) ([]providers.Part, error) { return []providers.Part{p}, err }
	switch {
	case string(wire.Lookup(b.Citations, "enabled")) == "true":
		return nil, fmt.Errorf("citations: an answer has no citations here: leave it out")
	case b.Type == "text":
		return one(providers.Part{Type: providers.PartText, Text: b.Text}, nil)
	case b.Type == "image" && !ofAssistant:
		return one(readSource(providers.PartImage, b.Source, ""))
	case b.Type == "document" && !ofAssistant:
		p, err := readSource(providers.PartFile, b.Source, b.Title)
		if b.Context == "" || err != nil {
			return one(p, err)
		}
		return []providers.Part{p, {Type: providers.PartText, Text: b.Context}}, nil
	case b.Type == "search_result":
		parts, err := contentParts(b.Content)
		return append([]providers.Part{{Type: providers.PartText, Text: b.Title + " (" + rawjson.TextOf(b.Source) + ")"}}, parts...), err
	case b.Type == "tool_use" && ofAssistant:
		switch {
		case b.ID == "":
			return nil, fmt.Errorf("id: expected the id of the call")
		case b.Name == "":
			return nil, fmt.Errorf("name: expected the name of the tool")
		case !rawjson.IsNull(b.Input) && !rawjson.IsObject(b.Input):
			return nil, fmt.Errorf("input: expected an object")
		}
		return one(providers.Part{Type: providers.PartCall, Call: &providers.Call{ID: b.ID, Name: b.Name, Arguments: providers.Arguments(string(b.Input))}}, nil)
	case b.Type == "thinking" && ofAssistant:
		return one(providers.Part{Type: providers.PartThinking, Text: b.Thinking}, nil)
	case b.Type == "compaction" && ofAssistant: // a summary, in the place of what came before
		text, _ := wire.Text(b.Content)
		return one(providers.Part{Type: providers.PartText, Text: text}, nil)
	case ofAssistant && (slices.Contains(ranElsewhere, b.Type) || strings.HasSuffix(b.Type, "_tool_result")):
		return nil, nil
	case ofAssistant:
		return nil, fmt.Errorf("type: %.40q is not supported: expected text, thinking or tool_use", b.Type)
	}
	return nil, fmt.Errorf("type: %.40q is not supported: expected text, image, document, search_result or tool_result", b.Type)
}

// ran returns the parts of a call that has run here, with its result.
func (r *request) ran(b, result *block) ([]providers.Part, error) {
	content, err := contentParts(result.Content)
	if err != nil {
		return nil, err
	}
	call := &providers.Call{ID: b.ID, Name: r.named(b.Server, b.Name), Arguments: providers.Arguments(string(b.Input))}
	return endpoint.Ran(call, content, result.IsError)
}

// ranElsewhere are the blocks of the assistant, beside the results, that only Anthropic's API understands.
var ranElsewhere = []string{redacted, "server_tool_use", mcpUse, "mcp_tool_listing", "container_upload", "fallback"}

// blocks is what the content of a message or a result is expected to be.
const blocks = "a string or an array of blocks"

// contentParts returns the content of a result: a string, or blocks.
func contentParts(content json.RawMessage) ([]providers.Part, error) {
	if text, isText := wire.Text(content); isText {
		return []providers.Part{{Type: providers.PartText, Text: text}}, nil
	}
	if rawjson.IsNull(content) {
		return nil, nil
	}
	var all []providers.Part
	err := member.Elements("content", blocks, content, func(_ int, raw []byte) error {
		b, err := readBlock(raw)
		if err != nil {
			return err
		}
		parts, err := b.parts(false)
		all = append(all, parts...)
		return err
	})
	return all, err
}

// readSource returns the part of an image or a document.
func readSource(kind providers.PartType, raw json.RawMessage, title string) (providers.Part, error) {
	var s struct {
		Type      string          `json:"type"`
		MediaType string          `json:"media_type"`
		Data      string          `json:"data"`
		URL       string          `json:"url"`
		Content   json.RawMessage `json:"content"`
	}
	if rawjson.IsNull(raw) {
		return providers.Part{}, fmt.Errorf("source: expected an object")
	}
	if err := member.Decode(raw, &s); err != nil {
		return providers.Part{}, member.In("source", err)
	}
	switch {
	case s.Type == "base64":
		return endpoint.Base64Part(kind, "source.data", s.Data, s.MediaType, title)
	case s.Type == "url" && kind == providers.PartImage:
		return endpoint.DataPart(kind, "source.url", s.URL, title)
	case s.Type == "text":
		return providers.Part{Type: kind, Data: []byte(s.Data), MimeType: "text/plain", Name: title}, nil
	case s.Type == "content":
		parts, err := contentParts(s.Content)
		if err != nil {
			return providers.Part{}, member.In("source", err)
		}
		return providers.Part{Type: providers.PartText, Text: (&providers.Message{Parts: parts}).Text()}, nil
	}
	return providers.Part{}, fmt.Errorf("source.type: %.40q is not supported: send the data, as base64", s.Type)
}

// signed returns the content of an assistant's message as it goes back to Anthropic's API, whose
// thinking must be unchanged; nil for content without thinking that it has signed.
func signed(model string, content json.RawMessage) *providers.Raw {
	blocks := slices.Collect(wire.Elements(content))
	if !slices.ContainsFunc(blocks, func(b []byte) bool {
		return rawjson.TextAt(b, "signature") != "" || rawjson.TextAt(b, "type") == "redacted_thinking"
	}) {
		return nil
	}
	blocks = slices.DeleteFunc(blocks, func(b []byte) bool { // of calls that have run here
		kind := rawjson.TextAt(b, "type")
		return kind == mcpUse || kind == mcpResult
	})
	for i := range blocks {
		blocks[i] = wire.CutMember(blocks[i], "cache_control") // the provider sets its own
	}
	items := rawjson.Raw([]byte(`{"role":"assistant"`), "content", rawjson.Array(blocks))
	return &providers.Raw{Model: model, Items: append(items, '}')}
}
