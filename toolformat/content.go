package toolformat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
)

// A ContentType is the kind of a block of content. A block of another type than these is
// kept as well, with its Raw.
type ContentType string

// The types of content (MCP 2025-06-18, tools, "Tool Result").
const (
	TextContent     ContentType = "text"
	ImageContent    ContentType = "image"
	AudioContent    ContentType = "audio"
	ResourceContent ContentType = "resource"      // the content of a resource
	LinkContent     ContentType = "resource_link" // where one is
)

// A Content is one block of a result. Which fields count depends on its Type.
type Content struct {
	Type     ContentType
	Text     string // of text, and of a resource that is text
	Data     string // of an image, audio or a resource that is no text: base64, as it came
	MimeType string // of Data, and of what a link leads to
	URI      string // of a resource and a link

	// Of a link.
	Name, Title, Description string

	Annotations json.RawMessage // for whom it is and how much it matters; nil for none
	Meta        json.RawMessage // _meta; nil for none
	Raw         json.RawMessage // the block as it came
}

// Content is what a result has for a model or its user to read, in order. A block of an
// unknown type has only its Type and Raw. The error names a block that is malformed.
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

// Structured is a result's structured content; nil when it has none.
func (r *Result) Structured() json.RawMessage {
	if raw := r.member("structuredContent"); string(raw) != "null" {
		return raw
	}
	return nil
}

// IsError reports whether the tool ran and failed.
func (r *Result) IsError() bool { return string(r.member("isError")) == "true" }

// member is a member of the result; nil when there is none.
func (r *Result) member(key string) json.RawMessage { return r.members()[key] }

func (r *Result) members() (members map[string]json.RawMessage) {
	_ = json.Unmarshal(r.JSON, &members) // what is no object has none
	return members
}

// A block is a block of content while it is read.
type block struct {
	at  string
	err error // the first
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

// object reads an object, whose keys are exactly these: encoding/json would take other
// letter case for a field.
func (b *block) object(raw json.RawMessage) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		b.fail("", "expected an object")
	}
	return members
}

// text is a member that is a string; "" for one that is not there.
func (b *block) text(members map[string]json.RawMessage, key string) string {
	var s string
	if raw := members[key]; raw != nil {
		if err := json.Unmarshal(raw, &s); err != nil {
			b.fail("/"+key, "expected a string")
		}
	}
	return s
}
