package gemini

import (
	"encoding/base64"
	"fmt"
	"mime"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
)

// anySignature replaces the signature of a call that another API made: Gemini 3 and later
// models refuse calls without one (ai.google.dev/gemini-api/docs/thought-signatures).
const anySignature = `"skip_thought_signature_validator"`

// An encoder writes one request.
type encoder struct {
	*history
	req   *providers.Request
	signs bool // the model needs signatures in calls
	media bool // the model takes media in results
	notes []string
}

// A history is the messages of requests.
type history struct {
	json  []byte            // the array without its end and without turn
	turn  [][]byte          // the parts of another API's turn, which continues if that was paused
	calls map[string]called // the calls of the last message of the assistant, by Call.ID
	files int               // the number of files put after results so far
}

// called is the id and name of a call in the request, which its result repeats.
type called struct {
	id   string // may be ""
	name string
}

// encode returns the exchange of a request, without its decoder.
func (p *Provider) encode(req *providers.Request) providers.Exchange {
	generation := generation(req.Model)
	e := &encoder{req: req, signs: generation == 0 || generation > 2, media: generation > 2}
	contents := e.contents(p)
	b := []byte("{")
	if strings.TrimSpace(req.System) != "" {
		b = append(rawjson.Text(rawjson.Raw(b, "systemInstruction", `{"parts":[{`), "text", req.System), "}]}"...)
	}
	if set := req.Tools.Encoded(format); len(set.Tools) > 0 {
		b = rawjson.Raw(b, "tools", set.JSON())
		b = append(b, e.choice()...)
	}
	if config := settings(req); len(config) > len("{}") {
		b = rawjson.Raw(b, "generationConfig", config)
	}
	return providers.Exchange{Path: p.path(req.Model), Body: append(b, '}'), Member: "contents", Messages: contents, Notes: e.notes}
}

// generation returns the first number in the name of a Gemini model; 0 for a name without
// one, such as gemini-flash-latest.
func generation(model string) int {
	_, version, _ := strings.Cut(model, "gemini-")
	digits := strings.IndexFunc(version+".", func(r rune) bool { return r < '0' || r > '9' })
	n, _ := strconv.Atoi(version[:digits])
	return n
}

// choice returns the member toolConfig, with a comma; nothing for the API's default.
func (e *encoder) choice() []byte {
	b := []byte(`,"toolConfig":{"functionCallingConfig":{"mode":`)
	switch c := e.req.Choice; c {
	case providers.ChoiceAuto:
		return nil
	case providers.ChoiceNone:
		return append(b, `"NONE"}}`...)
	case providers.ChoiceRequired:
		return append(b, `"ANY"}}`...)
	default:
		b = wire.AppendString(append(b, `"ANY","allowedFunctionNames":[`...), e.req.Tools.WireName(format, string(c)))
		return append(b, "]}}"...)
	}
}

// contents returns the messages of the request, an array without its end, in pieces. A message
// without parts is left out: the API refuses it, though models send some. Notes are only kept of
// messages that the API has not answered yet.
func (e *encoder) contents(p *Provider) [][]byte {
	c, rest := providers.Encoded(e.req, p, func() *history { return &history{json: []byte("[")} })
	e.history = c
	for i := range rest {
		m := &rest[i]
		if m.Role == providers.RoleAssistant && m.Raw.Of(name) == nil {
			c.turn = append(c.turn, e.foreign(m)...)
			continue
		}
		c.json = append(c.json, c.lastTurn()...)
		c.turn = nil
		if m.Raw.Of(name) != nil {
			e.notes = nil
			if content := e.own(m); content != nil {
				c.json = append(rawjson.Element(c.json), content...)
			}
			continue
		}
		results, others := e.user(m)
		c.json = appendContent(c.json, "user", results) // the API wants all results of a turn in one content, with nothing else
		c.json = appendContent(c.json, "user", others)
	}
	return [][]byte{c.json, c.lastTurn()}
}

// lastTurn returns the content of turn, which follows json; nothing without one.
func (c *history) lastTurn() []byte {
	return rawjson.Behind(c.json, func(b []byte) []byte { return appendContent(b, "model", c.turn) })
}

// appendContent appends a Content of the API, unless it has no parts.
func appendContent(b []byte, role string, parts [][]byte) []byte {
	if len(parts) == 0 {
		return b
	}
	b = rawjson.Text(append(rawjson.Element(b), '{'), "role", role)
	return append(rawjson.Raw(b, "parts", rawjson.Array(parts)), '}')
}

// own returns a content that the API sent, unchanged; nil for one without parts. If another
// model did not sign its calls, the first gets anySignature.
func (e *encoder) own(m *providers.Message) []byte {
	content := wire.Lookup(m.Raw.Items, "content")
	var parts [][]byte
	first := -1 // the index of the first call
	calls := m.Calls()
	e.calls = map[string]called{}
	for part := range wire.Elements(wire.Lookup(content, "parts")) {
		if call := wire.Lookup(part, "functionCall"); rawjson.IsObject(call) {
			if first < 0 {
				first = len(parts)
			}
			if n := len(e.calls); n < len(calls) {
				e.calls[calls[n].ID] = called{rawjson.TextAt(call, "id"), rawjson.TextAt(call, "name")}
			}
		}
		parts = append(parts, part)
	}
	if parts == nil {
		return nil
	}
	if e.signs && m.Raw.Model != e.req.Model && first >= 0 && wire.Lookup(parts[first], "thoughtSignature") == nil {
		parts[first] = wire.SetMember(parts[first], "thoughtSignature", []byte(anySignature))
		content = wire.SetMember(content, "parts", rawjson.Array(parts))
	}
	if wire.Lookup(content, "role") == nil {
		content = wire.SetMember(content, "role", []byte(`"model"`))
	}
	return content
}

// foreign returns the parts of a message of another provider's model.
func (e *encoder) foreign(m *providers.Message) (parts [][]byte) {
	e.calls = map[string]called{}
	for _, p := range m.Parts {
		switch p.Type {
		case providers.PartText:
			parts = appendText(parts, p.Text)
		case providers.PartCall:
			c := called{p.Call.ID, e.req.Tools.WireName(format, p.Call.Name)}
			b := rawjson.Text(rawjson.Text([]byte(`{"functionCall":{`), "id", c.id), "name", c.name)
			b = append(rawjson.Raw(b, "args", p.Call.Object()), '}')
			if e.signs && len(e.calls) == 0 {
				b = rawjson.Raw(b, "thoughtSignature", anySignature)
			}
			e.calls[p.Call.ID] = c
			parts = append(parts, append(b, '}'))
		}
	}
	return parts
}

// appendText appends a part of text; the API refuses an empty one.
func appendText(parts [][]byte, text string) [][]byte {
	if text == "" {
		return parts
	}
	return append(parts, append(rawjson.Text([]byte("{"), "text", text), '}'))
}

// user returns the parts of a message of the user or of results: the results, and the parts
// for another content after them.
func (e *encoder) user(m *providers.Message) (results, rest [][]byte) {
	for _, p := range m.Parts {
		switch p.Type {
		case providers.PartText:
			rest = appendText(rest, p.Text)
		case providers.PartImage, providers.PartFile:
			if p.URL != "" {
				rest = append(rest, fileData(p.URL))
				continue
			}
			rest = append(rest, e.file(p.MimeType, p.Data))
		case providers.PartResult:
			result, after := e.result(p.Result)
			results, rest = append(results, result), append(rest, after...)
		}
	}
	return results, rest
}

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

// fileData returns the part of an image that the API fetches, whose type it wants to know.
func fileData(address string) []byte {
	b := rawjson.Text([]byte(`{"fileData":{`), "fileUri", address)
	if u, err := url.Parse(address); err == nil {
		if kind := mime.TypeByExtension(filepath.Ext(u.Path)); strings.HasPrefix(kind, "image/") {
			b = rawjson.Text(b, "mimeType", kind)
		}
	}
	return append(b, "}}"...)
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
	family, _, _ := strings.Cut(kind, "/")
	return inResult(kind) || kind == "image/heic" || kind == "image/heif" || slices.Contains([]string{"audio", "video", "text"}, family)
}

// inResult reports whether Gemini 3 and later models take files of a type in a result.
func inResult(kind string) bool {
	return slices.Contains([]string{"image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"}, kind)
}
