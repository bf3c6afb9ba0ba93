package gemini

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
)

// result returns the part of a result, and the parts to put after all results: media that the
// model does not take within one.
func (e *encoder) result(r *providers.Result) (response []byte, after [][]byte) {
	var texts []string
	var media [][]byte
	for _, c := range r.Blocks() {
		kind := mediaType(c.MimeType)
		switch {
		case c.Data == "":
			texts = append(texts, c.Text)
		case e.media && inResult(kind):
			media = append(media, inlineData(kind, c.Data))
		case isMedia(kind):
			e.files++
			texts = append(texts, fmt.Sprintf("[%s: below, as file %d]", kind, e.files))
			media := inlineData(kind, c.Data)
			after = append(appendText(after, fmt.Sprintf("file %d, of the result of %s:", e.files, r.Name)), media)
		default:
			texts = append(texts, e.leaveOut(kind, base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(c.Data, "="))), "the result of "+r.Name))
		}
	}
	c, ok := e.calls[r.ID]
	if !ok {
		c.name = e.req.Tools.WireName(format, r.Name)
	}
	b := []byte(`{"functionResponse":{`)
	if c.id != "" {
		b = rawjson.Text(b, "id", c.id)
	}
	b = rawjson.Text(b, "name", c.name)
	key := "output"
	if r.Content != nil && r.Content.IsError() {
		key = "error"
	}
	b = append(rawjson.Text(rawjson.Raw(b, "response", "{"), key, strings.Join(texts, "\n")), '}')
	if media != nil {
		b = rawjson.Raw(b, "parts", rawjson.Array(media))
	}
	return append(b, "}}"...), after
}

// file returns the part of a user's file, or a text in its place.
func (e *encoder) file(mimeType string, data []byte) []byte {
	kind := mediaType(mimeType)
	if !isMedia(kind) {
		return appendText(nil, e.leaveOut(kind, len(data), "the message"))[0]
	}
	return inlineData(kind, base64.StdEncoding.EncodeToString(data))
}

// leaveOut returns the text in the place of a file that the API does not take.
func (e *encoder) leaveOut(kind string, size int, where string) string {
	what := fmt.Sprintf("a file (%s) of %d bytes", kind, size)
	e.notes = append(e.notes, fmt.Sprintf("%s: %s in %s is left out: the API takes images, audio, video, PDF and text", name, what, where))
	return "[" + what + ", left out: only images, audio, video, PDF and text can be shown here]"
}

func inlineData(kind, data string) []byte {
	b := rawjson.Text([]byte(`{"inlineData":{`), "mimeType", kind)
	return append(rawjson.Text(b, "data", data), "}}"...)
}

// mediaType returns a MIME type without its parameters, as the API spells it.
func mediaType(mimeType string) string {
	kind, _, _ := strings.Cut(mimeType, ";")
	switch kind = strings.ToLower(strings.TrimSpace(kind)); kind {
	case "image/jpg":
		return "image/jpeg"
	case "application/json":
		return "text/plain"
	}
	return kind
}

// isMedia reports whether the API takes files of a type.
func isMedia(kind string) bool {
	switch kind {
	case "image/png", "image/jpeg", "image/webp", "image/heic", "image/heif", "application/pdf":
		return true
	}
	family, _, _ := strings.Cut(kind, "/")
	return family == "audio" || family == "video" || family == "text"
}

// inResult reports whether Gemini 3 and later models take files of a type in a result.
func inResult(kind string) bool {
	switch kind {
	case "image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain":
		return true
	}
	return false
}
