package serve

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// part is a part of a message's content.
type part struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Refusal  string `json:"refusal"`
	ImageURL struct {
		URL    string `json:"url"`
		Detail string `json:"detail"`
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
		image, err := dataPart(providers.PartImage, "image_url.url", p.ImageURL.URL, "")
		image.Detail = p.ImageURL.Detail
		return image, err
	case "input_audio":
		return providers.Part{Type: providers.PartFile, Data: p.Audio.Data, MimeType: "audio/" + p.Audio.Format}, nil
	case "file":
		return dataPart(providers.PartFile, "file.file_data", p.File.Data, p.File.Name)
	}
	return providers.Part{}, fmt.Errorf("type: expected text, image_url, input_audio or file, got %.40q", p.Type)
}

// resultOf returns the parts of a tool's message as the result of a call.
func resultOf(parts []providers.Part) (*toolformat.Result, error) {
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
	return &toolformat.Result{JSON: append(rawjson.Raw([]byte("{"), "content", rawjson.Array(blocks)), '}')}, nil
}

// dataPart returns the part of a URL data:TYPE;base64,DATA, or of an https URL, which the
// provider fetches. The bridge fetches none: it can reach hosts that a client cannot. member is
// the URL's place, for the error.
func dataPart(kind providers.PartType, member, address, name string) (providers.Part, error) {
	if u, err := url.Parse(address); err == nil && u.Scheme == "https" && u.Host != "" && kind == providers.PartImage {
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
