package openai

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const pdf = "application/pdf"

// A medium is an image or a file as both APIs take them: data in base64, or the url of an image.
type medium struct{ mime, data, name, url, detail string }

// ofPart returns the medium of a part of a user's message.
func ofPart(p *providers.Part) medium {
	return medium{p.MimeType, base64.StdEncoding.EncodeToString(p.Data), p.Name, p.URL, p.Detail}
}

// ofBlock returns the medium of a block of a result, if the APIs take it. They refuse audio
// (400 "Content blocks are expected to be either text or image_url type").
func ofBlock(c *toolformat.Content) (m medium, ok bool) {
	m = medium{mime: c.MimeType, data: c.Data, name: c.URI}
	return m, c.Data != "" && (m.isImage() || m.mime == pdf)
}

func (m *medium) isImage() bool { return m.url != "" || strings.HasPrefix(m.mime, "image/") }

// appendURL appends the URL of a medium, or a medium as a data URL.
func (m *medium) appendURL(b []byte) []byte {
	if m.url != "" {
		return wire.AppendString(b, m.url)
	}
	return wire.AppendString(b, "data:"+m.mime+";base64,"+m.data)
}

// appendDetail appends the member detail of an image, if it has one.
func (m *medium) appendDetail(b []byte) []byte {
	if m.detail == "" {
		return b
	}
	return rawjson.Text(b, "detail", m.detail)
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

// appendText appends a part of a content with a text; kind is its type.
func appendText(b []byte, kind, text string) []byte {
	b = rawjson.Text(append(rawjson.Element(b), '{'), "type", kind)
	return append(rawjson.Text(b, "text", text), '}')
}

// userMessage appends a user's message: a string if it has only one text, since some servers
// take nothing else; otherwise an array of texts, of the type kind, and media.
func userMessage(b []byte, m *providers.Message, kind string, media func([]byte, *medium) []byte) []byte {
	b = append(b, `{"role":"user"`...)
	if len(m.Parts) == 1 && m.Parts[0].Type == providers.PartText {
		return append(rawjson.Text(b, "content", m.Parts[0].Text), '}')
	}
	b = rawjson.Raw(b, "content", "[")
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Type == providers.PartText {
			b = appendText(b, kind, p.Text)
		} else {
			medium := ofPart(p)
			b = media(b, &medium)
		}
	}
	return append(b, "]}"...)
}

// A history is the messages of requests, as either API has them.
type history struct {
	json    []byte            // an array without its end
	renamed map[string]string // new ids of calls of other providers' models
	results bool              // the last message has results
}

func newHistory(json []byte) *history {
	return &history{json: json, renamed: map[string]string{}}
}

// A reading is what the decoders of both APIs share.
type reading struct {
	api    *api
	req    *providers.Request
	format toolformat.Format
	ids    *providers.CallIDs
	emit   func(providers.Event)
	usage  providers.Usage
	model  string
}

func newReading(a *api, req *providers.Request, format toolformat.Format) reading {
	return reading{api: a, req: req, format: format, ids: providers.NewCallIDs(req)}
}

// turn returns the turn with the message of the model.
func (r *reading) turn(parts []providers.Part, raw []byte, stop providers.Stop) *providers.Turn {
	m := providers.Message{Role: providers.RoleAssistant, Parts: parts, Raw: &providers.Raw{Provider: r.api.name, Model: r.req.Model, Items: raw}}
	return &providers.Turn{Message: m, Stop: stop, Usage: r.usage, Model: r.model}
}

// emitText emits a text, unless it is empty.
func (r *reading) emitText(kind providers.EventType, text string) {
	if text != "" {
		r.emit(providers.Event{Type: kind, Text: text})
	}
}

// emitParts emits the texts of parts.
func (r *reading) emitParts(parts []providers.Part) {
	for _, part := range parts {
		if part.Type == providers.PartThinking {
			r.emitText(providers.EventThinkingDelta, part.Text)
		} else {
			r.emitText(providers.EventTextDelta, part.Text)
		}
	}
}

// toolNamed returns the own name of the tool that the model named.
func (r *reading) toolNamed(name string) string { return r.req.Tools.OwnName(r.format, name) }

// call returns a call of the tool that the model named.
func (r *reading) call(id, name, arguments string) *providers.Call {
	return &providers.Call{ID: id, Name: r.toolNamed(name), Arguments: providers.Arguments(arguments)}
}

// argumentsText returns arguments as both APIs take them: an object in a string, whatever the
// model wrote. vLLM, llama.cpp and Ollama parse those of all calls in a conversation and
// refuse a conversation with invalid JSON.
func argumentsText(arguments json.RawMessage) string {
	return string((&providers.Call{Arguments: arguments}).Object())
}

// unnamed is the name of a call that has none: neither API takes it back without one.
const unnamed = "unnamed_call"

// An inner is a call in the arguments of another one.
type inner struct{ name, arguments string }

// unwrap returns the calls in a call of multi_tool_use.parallel, nil for any other call. Some
// models are trained with this tool and call it without being offered it:
// {"tool_uses":[{"recipient_name":"functions.x","parameters":{…}}]}.
func (r *reading) unwrap(name, arguments string) []inner {
	if name != "parallel" && name != "multi_tool_use.parallel" && name != "multi_tool_use_parallel" {
		return nil
	}
	if _, real := r.req.Tools.Encoded(r.format).Find(name); real || !json.Valid([]byte(arguments)) {
		return nil
	}
	var all []inner
	for use := range wire.Elements(wire.Lookup([]byte(arguments), "tool_uses")) {
		recipient, ok := wire.Text(wire.Lookup(use, "recipient_name"))
		if !ok {
			return nil
		}
		parameters := string(wire.Lookup(use, "parameters"))
		all = append(all, inner{cmp.Or(strings.TrimPrefix(recipient, "functions."), unnamed), string(providers.Arguments(parameters))})
	}
	return all
}
