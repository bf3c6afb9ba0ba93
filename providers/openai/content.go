package openai

import (
	"cmp"
	"encoding/base64"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const pdf = "application/pdf"

// A medium is an image or a file as both APIs take them; data is base64.
type medium struct{ mime, data, name string }

// ofPart returns the medium of a part of a user's message.
func ofPart(p *providers.Part) medium {
	return medium{p.MimeType, base64.StdEncoding.EncodeToString(p.Data), p.Name}
}

// ofBlock returns the medium of a block of a result, if the APIs take it. They refuse audio
// (400 "Content blocks are expected to be either text or image_url type").
func ofBlock(c *toolformat.Content) (m medium, ok bool) {
	m = medium{c.MimeType, c.Data, c.URI}
	return m, c.Data != "" && (m.isImage() || m.mime == pdf)
}

func (m *medium) isImage() bool { return strings.HasPrefix(m.mime, "image/") }

// appendURL appends a medium as a data URL.
func (m *medium) appendURL(b []byte) []byte {
	return wire.AppendString(b, "data:"+m.mime+";base64,"+m.data)
}

// fileName returns the name of a file, which must have one.
func (m *medium) fileName() string {
	return cmp.Or(m.name[strings.LastIndexByte(m.name, '/')+1:], "file.pdf")
}

// audioFormat returns OpenAI's name of a type of audio, such as wav or mp3; "" for other types.
func (m *medium) audioFormat() string {
	kind, ok := strings.CutPrefix(m.mime, "audio/")
	switch {
	case !ok:
		return ""
	case kind == "mpeg":
		return "mp3"
	}
	return strings.TrimPrefix(kind, "x-")
}

// userMessage appends a user's message: a string if it has only one text, since some servers
// take nothing else; otherwise an array, to which text and media append.
func userMessage(b []byte, m *providers.Message, text func([]byte, string) []byte, media func([]byte, *medium) []byte) []byte {
	b = append(b, `{"role":"user"`...)
	if len(m.Parts) == 1 && m.Parts[0].Type == providers.PartText {
		return append(rawjson.Text(b, "content", m.Parts[0].Text), '}')
	}
	b = rawjson.Raw(b, "content", "[")
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Type == providers.PartText {
			b = text(b, p.Text)
		} else {
			medium := ofPart(p)
			b = media(b, &medium)
		}
	}
	return append(b, "]}"...)
}
