package serve

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
)

// part is a part of a message's content.
type part struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Refusal  string `json:"refusal"`
	ImageURL struct {
		URL string `json:"url"`
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
		data, mime, err := dataURL(p.ImageURL.URL)
		if err != nil {
			return providers.Part{}, fmt.Errorf("image_url.url: %w", err)
		}
		return providers.Part{Type: providers.PartImage, Data: data, MimeType: mime}, nil
	case "input_audio":
		return providers.Part{Type: providers.PartFile, Data: p.Audio.Data, MimeType: "audio/" + p.Audio.Format}, nil
	case "file":
		data, mime, err := dataURL(p.File.Data)
		if err != nil {
			return providers.Part{}, fmt.Errorf("file.file_data: %w", err)
		}
		return providers.Part{Type: providers.PartFile, Data: data, MimeType: mime, Name: p.File.Name}, nil
	}
	return providers.Part{}, fmt.Errorf("type: expected text, image_url, input_audio or file, got %.40q", p.Type)
}

// dataURL parses data:TYPE;base64,DATA. No other URL is fetched: the bridge can reach hosts
// that a client cannot.
func dataURL(url string) (data []byte, mime string, err error) {
	head, encoded, ok := strings.Cut(url, ",")
	head, isData := strings.CutPrefix(head, "data:")
	mime, inBase64 := strings.CutSuffix(head, ";base64")
	if !ok || !isData || !inBase64 {
		return nil, "", fmt.Errorf("expected data:TYPE;base64,DATA: other URLs are not fetched")
	}
	data, err = base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, "", fmt.Errorf("the data is not base64")
	}
	return data, mime, nil
}
