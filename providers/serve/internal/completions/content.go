package completions

import (
	"fmt"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/member"
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
		Data   string `json:"data"`
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
	if m.Content[0] != '[' {
		return nil, fmt.Errorf("content: expected a string or an array of parts")
	}
	if err := member.Decode(m.Content, &list); err != nil {
		return nil, member.In("content", err)
	}
	all := make([]providers.Part, 0, len(list))
	for i := range list {
		p, err := list[i].read()
		if err != nil {
			return nil, member.In(fmt.Sprintf("content[%d]", i), err)
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
		image, err := endpoint.DataPart(providers.PartImage, "image_url.url", p.ImageURL.URL, "")
		image.Detail = p.ImageURL.Detail
		return image, err
	case "input_audio":
		return endpoint.Base64Part(providers.PartFile, "input_audio.data", p.Audio.Data, "audio/"+p.Audio.Format, "")
	case "file":
		return endpoint.DataPart(providers.PartFile, "file.file_data", p.File.Data, p.File.Name)
	}
	return providers.Part{}, fmt.Errorf("type: expected text, image_url, input_audio or file, got %.40q", p.Type)
}
