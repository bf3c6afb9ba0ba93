package gemini

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
)

// result is what came of a call, and the parts that stand behind all results: media that
// the model does not take inside.
func (e *encoder) result(r *providers.Result) (response []byte, beside [][]byte) {
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
			beside = append(appendText(beside, fmt.Sprintf("file %d, of the result of %s:", e.files, r.Name)), inlineData(kind, c.Data))
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
		b = append(wire.AppendString(append(b, `"id":`...), c.id), ',')
	}
	b = wire.AppendString(append(b, `"name":`...), c.name)
	key := "output"
	if r.Content != nil && r.Content.IsError() {
		key = "error"
	}
	b = append(b, `,"response":{"`+key+`":`...)
	b = append(wire.AppendString(b, strings.Join(texts, "\n")), '}')
	if media != nil {
		b = append(append(b, `,"parts":`...), array(media)...)
	}
	return append(b, "}}"...), beside
}

// file is the part of a file of the user's, or a text in its place.
func (e *encoder) file(mimeType string, data []byte) []byte {
	kind := mediaType(mimeType)
	if !isMedia(kind) {
		return appendText(nil, e.leaveOut(kind, len(data), "the message"))[0]
	}
	return inlineData(kind, base64.StdEncoding.EncodeToString(data))
}

// leaveOut is what stands in the place of a file that the API does not take.
func (e *encoder) leaveOut(kind string, size int, where string) string {
	what := fmt.Sprintf("a file (%s) of %d bytes", kind, size)
	e.notes = append(e.notes, fmt.Sprintf("%s: %s in %s is left out: the API takes images, audio, video, PDF and text", name, what, where))
	return "[" + what + ", left out: only images, audio, video, PDF and text can be shown here]"
}

func inlineData(kind, data string) []byte {
	b := wire.AppendString([]byte(`{"inlineData":{"mimeType":`), kind)
	return append(wire.AppendString(append(b, `,"data":`...), data), "}}"...)
}

// mediaType is a MIME type without its parameters, as the API spells it.
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

// inResult reports whether models from Gemini 3 on take it in a result.
func inResult(kind string) bool {
	switch kind {
	case "image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain":
		return true
	}
	return false
}
