package toolformat

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// A Tool is one tool as its source describes it. The schemas and Extra are raw JSON and are never
// rewritten: key order, large numbers and unknown keywords stay as the source sent them.
type Tool struct {
	Name         string
	Description  string
	InputSchema  json.RawMessage // JSON Schema of the arguments, an object
	OutputSchema json.RawMessage // JSON Schema of the structured result; nil if the tool has none
	Extra        json.RawMessage // the whole definition as received (title, annotations, icons, _meta); nil for a tool made here
	Format       Format          // format of Extra; "" means FormatMCP
}

// A Call is one call of a tool.
type Call struct {
	Name      string
	Arguments json.RawMessage // a JSON object; nil means {}
}

// A Result is what a tool returned, failed or not. It keeps the bytes of MCP's CallToolResult and
// decodes nothing until it is asked to.
type Result struct {
	JSON json.RawMessage

	// Memory, unless nil, is what JSON lies in. To free it gives the memory to other results: only
	// who has the Result alone may, and uses no part of it afterwards. A Result that is not freed is
	// garbage-collected.
	Memory interface{ Free() }
}

// TextResult returns a result of one text block. With failed set it is the tool's own failure
// (isError), which a model reads and can act on.
func TextResult(text string, failed bool) *Result {
	type block struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	b, _ := json.Marshal(struct { // cannot fail: strings and a bool
		Content []block `json:"content"`
		IsError bool    `json:"isError,omitempty"`
	}{[]block{{"text", text}}, failed})
	return &Result{JSON: b}
}

// Structured returns the structured content of a result; nil if it has none.
func (r *Result) Structured() json.RawMessage {
	if raw := r.member("structuredContent"); string(raw) != "null" {
		return raw
	}
	return nil
}

// IsError reports whether the tool ran and failed.
func (r *Result) IsError() bool { return string(r.member("isError")) == "true" }

// member returns a member of the result; nil if it has none of that name, or is not an object. Most
// results are long and lack most members: a key is written as it is or with escapes.
func (r *Result) member(name string) json.RawMessage {
	if !bytes.Contains(r.JSON, []byte(name)) && !bytes.Contains(r.JSON, []byte(`\u`)) {
		return nil
	}
	var members map[string]json.RawMessage
	_ = json.Unmarshal(r.JSON, &members)
	return members[name]
}

// A ContentType is the type of a content block. A block of a type that is not listed here is kept
// too, with its Raw.
type ContentType string

// The types of content (MCP 2025-06-18, tools, "Tool Result").
const (
	TextContent     ContentType = "text"
	ImageContent    ContentType = "image"
	AudioContent    ContentType = "audio"
	ResourceContent ContentType = "resource"      // the content of a resource
	LinkContent     ContentType = "resource_link" // the URI of a resource
)

// A Content is one block of a result. Its Type decides which fields are set.
type Content struct {
	Type     ContentType
	Text     string // text, of a text block or a text resource
	Data     string // base64 as received, of an image, audio or a binary resource
	MimeType string // media type of Data, or of a link's resource
	URI      string // URI of a resource or a link

	// Of a link's resource.
	Name, Title, Description string

	Annotations json.RawMessage // audience and priority; nil if the block has none
	Meta        json.RawMessage // _meta; nil if the block has none
	Raw         json.RawMessage // the block as received
}

// Content returns the content blocks of a result, in order. A block of an unknown type has only its
// Type and Raw. The error names a malformed block.
func (r *Result) Content() ([]Content, error) {
	var blocks []json.RawMessage
	if raw := r.member("content"); raw != nil {
		if err := json.Unmarshal(raw, &blocks); err != nil {
			return nil, fmt.Errorf("content: expected an array")
		}
	}
	all := make([]Content, len(blocks))
	for i, raw := range blocks {
		b := block{at: "content/" + strconv.Itoa(i)}
		all[i] = b.content(raw)
		if b.err != nil {
			return nil, b.err
		}
	}
	return all, nil
}

// A block is a content block while it is read.
type block struct {
	at  string // its place, for errors
	err error  // the first error
}

func (b *block) content(raw json.RawMessage) Content {
	members := b.object(raw)
	c := Content{
		Type:        ContentType(b.text(members, "type")),
		Annotations: members["annotations"],
		Meta:        members["_meta"],
		Raw:         raw,
	}
	switch c.Type {
	case "":
		b.fail("/type", "expected the type of the block")
	case TextContent:
		c.Text = b.text(members, "text")
	case ImageContent, AudioContent:
		c.Data, c.MimeType = b.text(members, "data"), b.text(members, "mimeType")
	case ResourceContent:
		inner := block{at: b.at + "/resource"}
		resource := inner.object(members["resource"])
		c.URI, c.MimeType = inner.text(resource, "uri"), inner.text(resource, "mimeType")
		c.Text, c.Data = inner.text(resource, "text"), inner.text(resource, "blob")
		b.err = cmp.Or(b.err, inner.err)
	case LinkContent:
		c.URI, c.MimeType = b.text(members, "uri"), b.text(members, "mimeType")
		c.Name, c.Title, c.Description = b.text(members, "name"), b.text(members, "title"), b.text(members, "description")
	}
	return c
}

func (b *block) fail(at, what string) {
	if b.err == nil {
		b.err = fmt.Errorf("%s%s: %s", b.at, at, what)
	}
}

// object reads an object into a map, not a struct: encoding/json takes keys in other letter case for
// the field of a struct.
func (b *block) object(raw json.RawMessage) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		b.fail("", "expected an object")
	}
	return members
}

// text returns a member that is a string; "" if it is missing.
func (b *block) text(members map[string]json.RawMessage, key string) string {
	var s string
	if raw := members[key]; raw != nil {
		if err := json.Unmarshal(raw, &s); err != nil {
			b.fail("/"+key, "expected a string")
		}
	}
	return s
}

// truncated ends a text that was cut, and replaces content that was left out (AbstractLLM,
// docs/architecture/tools.md, "Security Considerations").
const truncated = "... [output truncated]"

// Truncate returns the result with at most maxRunes characters of text, counted over its text blocks
// and text resources in order. A text that is cut ends with the mark "... [output truncated]", which
// does not count, and all text after it is left out. Structured content that alone is longer is left
// out; if there is no text, its JSON becomes the text. Images and other binary content stay.
//
// A result that needs no cut is returned as it is, with its bytes.
func (r *Result) Truncate(maxRunes int) *Result {
	if len(r.JSON) <= maxRunes || utf8.RuneCount(r.JSON) <= maxRunes {
		return r
	}
	root, err := tree.Parse(r.JSON)
	if err != nil || !root.Is(tree.Object) { // no part of it can be kept
		return TextResult(cutText(string(r.JSON), maxRunes), r.IsError())
	}
	t := truncation{left: maxRunes}
	content := t.content(root.Get("content"))
	if s := root.Get("structuredContent"); s != nil && utf8.RuneCount(s.JSON()) > maxRunes {
		root.Remove("structuredContent")
		switch {
		case !t.hasText:
			content.Items = append(content.Items, textBlock(cutText(string(s.JSON()), maxRunes)))
		case !t.cut:
			content.Items = append(content.Items, textBlock(truncated))
		}
		t.cut = true
	}
	if !t.cut {
		return r
	}
	root.Set("content", content)
	return &Result{JSON: root.JSON()}
}

// A truncation is the state of one Truncate.
type truncation struct {
	left    int // characters
	hasText bool
	cut     bool
}

// content returns the blocks that are kept.
func (t *truncation) content(blocks *tree.Node) *tree.Node {
	kept := tree.NewArray()
	for _, block := range blocks.List() {
		var holder *tree.Node // of the text
		switch ContentType(block.Get("type").Text()) {
		case TextContent:
			holder = block
		case ResourceContent:
			holder = block.Get("resource")
		}
		text := holder.Get("text")
		if !text.Is(tree.Text) {
			kept.Items = append(kept.Items, block)
			continue
		}
		t.hasText = true
		if t.cut {
			continue
		}
		if n := utf8.RuneCountInString(text.Text()); n > t.left {
			holder.Set("text", tree.NewText(cutText(text.Text(), t.left)))
			t.cut = true
		} else {
			t.left -= n
		}
		kept.Items = append(kept.Items, block)
	}
	return kept
}

// cutText returns the first characters of a text, and the mark if that is not all.
func cutText(s string, runes int) string {
	for i := range s {
		if runes--; runes < 0 {
			return s[:i] + truncated
		}
	}
	return s
}

func textBlock(text string) *tree.Node {
	return tree.NewObject(tree.NewMember("type", tree.NewText(string(TextContent))), tree.NewMember("text", tree.NewText(text)))
}
