package anthropic

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
)

// user adds a message of the user, or of results, to the content of a message. Notes are only
// kept of a new message, which the API has not answered yet.
func (e *encoder) user(s *content, m *providers.Message, isNew bool) {
	notes := len(e.notes)
	for _, part := range m.Parts {
		switch part.Type {
		case providers.PartText:
			s.rest = appendBlock(s.rest, textBlock(part.Text))
		case providers.PartImage, providers.PartFile:
			s.rest = append(s.rest, e.media("", part.MimeType, base64.StdEncoding.EncodeToString(part.Data), part.Name))
		case providers.PartResult:
			s.results = append(s.results, e.result(part.Result))
		}
	}
	if !isNew {
		e.notes = e.notes[:notes]
	}
}

// result returns the block of a result.
func (e *encoder) result(r *providers.Result) []byte {
	var content [][]byte
	for _, c := range r.Blocks() {
		if c.Data == "" {
			content = appendBlock(content, textBlock(c.Text))
		} else {
			content = append(content, e.media(r.Name, c.MimeType, c.Data, c.URI))
		}
	}
	b := rawjson.Text([]byte(`{"type":"tool_result"`), "tool_use_id", cmp.Or(e.ids[r.ID], validID(r.ID)))
	if r.Content != nil && r.Content.IsError() {
		b = append(b, `,"is_error":true`...)
	}
	if content != nil {
		b = rawjson.Raw(b, "content", rawjson.Array(content))
	}
	return append(b, '}')
}

// textBlock returns a block of text; nil for a blank one, which the API would refuse.
func textBlock(text string) []byte {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return append(rawjson.Text([]byte(`{"type":"text"`), "text", text), '}')
}

// appendBlock appends a block, unless it is nil.
func appendBlock(blocks [][]byte, block []byte) [][]byte {
	if block == nil {
		return blocks
	}
	return append(blocks, block)
}

// media returns the block of an image or a file, or a text in its place if the API has no
// block for its type. tool is the tool whose result it is from; "" for the user's message.
func (e *encoder) media(tool, mimeType, data, title string) []byte {
	kind, _, _ := strings.Cut(mimeType, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	if kind == "image/jpg" {
		kind = "image/jpeg"
	}
	switch {
	case kind == "image/jpeg", kind == "image/png", kind == "image/gif", kind == "image/webp":
		return source("image", "base64", kind, data, "")
	case kind == "application/pdf":
		return source("document", "base64", kind, data, title)
	case strings.HasPrefix(kind, "text/"), kind == "application/json":
		if text, err := base64.StdEncoding.DecodeString(data); err == nil && strings.TrimSpace(string(text)) != "" {
			return source("document", "text", "text/plain", string(text), title)
		}
	}
	what := fmt.Sprintf("%s of %d bytes", cmp.Or(kind, "a file"), base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(data, "="))))
	where := "the message"
	if tool != "" {
		where = "the result of " + tool
	}
	e.notes = append(e.notes, fmt.Sprintf("%s: %s in %s is left out: the API takes images (JPEG, PNG, GIF, WebP), PDF and text", name, what, where))
	return textBlock("[" + what + ", left out: only images, PDF and text can be shown here]")
}

func source(block, kind, mimeType, data, title string) []byte {
	b := rawjson.Text([]byte(`{"type":"`+block+`","source":{"type":"`+kind+`"`), "media_type", mimeType)
	b = append(rawjson.Text(b, "data", data), '}')
	if title != "" {
		b = rawjson.Text(b, "title", title)
	}
	return append(b, '}')
}
