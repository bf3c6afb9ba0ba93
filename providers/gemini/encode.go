package gemini

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
)

// anySignature stands for the signature of a call that this API has not made, which its
// models from Gemini 3 on would refuse without one (ai.google.dev/gemini-api/docs/thought-signatures).
const anySignature = `"skip_thought_signature_validator"`

// An encoder writes one request.
type encoder struct {
	req   *providers.Request
	signs bool              // the model wants its calls signed
	media bool              // the model takes media in results
	calls map[string]called // those of the last message of the model's, by their ids
	files int               // that stand beside results so far
	fresh int               // the first message that the API has not answered to
	notes []string
}

// called is how a call stands in the request, which its result repeats.
type called struct {
	id   string // "" where it has none
	name string
}

// encode is the body of a request, without its generationConfig, and what the caller should
// know about it.
func encode(req *providers.Request) (body []byte, notes []string) {
	generation := generation(req.Model)
	e := &encoder{req: req, signs: generation == 0 || generation > 2, media: generation > 2}
	for i := range req.Messages {
		if req.Messages[i].Raw.Of(name) != nil {
			e.fresh = i + 1
		}
	}
	b := append([]byte(`{"contents":`), e.contents()...)
	if strings.TrimSpace(req.System) != "" {
		b = append(wire.AppendString(append(b, `,"systemInstruction":{"parts":[{"text":`...), req.System), "}]}"...)
	}
	if set := req.Tools.Encoded(format); len(set.Tools) > 0 {
		b = append(append(b, `,"tools":`...), set.JSON()...)
		b = append(b, e.choice()...)
	}
	return append(b, '}'), e.notes
}

// generation is the first number in the name of a Gemini model; 0 when it has none, as
// gemini-flash-latest.
func generation(model string) int {
	_, version, _ := strings.Cut(model, "gemini-")
	digits := strings.IndexFunc(version+".", func(r rune) bool { return r < '0' || r > '9' })
	n, _ := strconv.Atoi(version[:digits])
	return n
}

// choice is the member toolConfig; nothing where the API's default is meant.
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

// withSettings adds the settings to a body, in a generationConfig that can be there.
func withSettings(body []byte, s *providers.Settings) []byte {
	config := wire.Lookup(body, "generationConfig")
	if config != nil && !isObject(config) {
		return body
	}
	own := object(config)
	set := func(key string, value []byte) {
		if wire.Lookup(own, key) == nil {
			own = wire.SetMember(own, key, value)
		}
	}
	if s.TopP != nil {
		set("topP", strconv.AppendFloat(nil, *s.TopP, 'f', -1, 64))
	}
	if s.Temperature != nil {
		set("temperature", strconv.AppendFloat(nil, *s.Temperature, 'f', -1, 64))
	}
	if s.MaxTokens > 0 {
		set("maxOutputTokens", strconv.AppendInt(nil, int64(s.MaxTokens), 10))
	}
	if wire.FirstMember(own) == 0 {
		return body
	}
	return wire.SetMember(body, "generationConfig", own)
}

// contents are the messages of the request, an array. One without parts is left out: the
// API refuses it, though a model may well have sent it.
func (e *encoder) contents() []byte {
	var all [][]byte
	add := func(role string, parts [][]byte) {
		if len(parts) > 0 {
			all = append(all, slices.Concat([]byte(`{"role":"`), []byte(role), []byte(`","parts":`), array(parts), []byte("}")))
		}
	}
	foreign := func(i int) bool {
		return i < len(e.req.Messages) && e.req.Messages[i].Role == providers.RoleAssistant && e.req.Messages[i].Raw.Of(name) == nil
	}
	for i := 0; i < len(e.req.Messages); i++ {
		m := &e.req.Messages[i]
		told := len(e.notes)
		switch {
		case m.Raw.Of(name) != nil:
			if content := e.own(m); content != nil {
				all = append(all, content)
			}
		case m.Role == providers.RoleAssistant:
			parts := e.foreign(m)
			for ; foreign(i + 1); i++ { // a paused turn of another API goes on in the next message
				parts = append(parts, e.foreign(&e.req.Messages[i+1])...)
			}
			add("model", parts)
		default:
			results, beside := e.user(m)
			add("user", results) // all of a turn in one content, and nothing else: the API counts them
			add("user", beside)
		}
		if i < e.fresh {
			e.notes = e.notes[:told]
		}
	}
	return array(all)
}

// own is a content of the API as it came; nil for one without parts. Where another model
// has not signed its calls, the first of them gets what stands for a signature.
func (e *encoder) own(m *providers.Message) []byte {
	content := wire.Lookup(m.Raw.Items, "content")
	var parts [][]byte
	first := -1 // call
	calls := m.Calls()
	e.calls = map[string]called{}
	for part := range wire.Elements(wire.Lookup(content, "parts")) {
		if call := wire.Lookup(part, "functionCall"); isObject(call) {
			if first < 0 {
				first = len(parts)
			}
			if n := len(e.calls); n < len(calls) {
				id, _ := wire.Text(wire.Lookup(call, "id"))
				name, _ := wire.Text(wire.Lookup(call, "name"))
				e.calls[calls[n].ID] = called{id, name}
			}
		}
		parts = append(parts, part)
	}
	if parts == nil {
		return nil
	}
	if e.signs && m.Raw.Model != e.req.Model && first >= 0 && wire.Lookup(parts[first], "thoughtSignature") == nil {
		parts[first] = wire.SetMember(parts[first], "thoughtSignature", []byte(anySignature))
		content = wire.SetMember(content, "parts", array(parts))
	}
	if wire.Lookup(content, "role") == nil {
		content = wire.SetMember(content, "role", []byte(`"model"`))
	}
	return content
}

// foreign are the parts of a message of another provider's model.
func (e *encoder) foreign(m *providers.Message) (parts [][]byte) {
	e.calls = map[string]called{}
	for _, p := range m.Parts {
		switch p.Type {
		case providers.PartText:
			parts = appendText(parts, p.Text)
		case providers.PartCall:
			c := called{p.Call.ID, e.req.Tools.WireName(format, p.Call.Name)}
			b := wire.AppendString([]byte(`{"functionCall":{"id":`), c.id)
			b = wire.AppendString(append(b, `,"name":`...), c.name)
			b = append(append(append(b, `,"args":`...), p.Call.Object()...), '}')
			if e.signs && len(e.calls) == 0 {
				b = append(b, `,"thoughtSignature":`+anySignature...)
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
	return append(parts, append(wire.AppendString([]byte(`{"text":`), text), '}'))
}

// user are the parts of a message of the user or of results: the results, and what stands
// in a content of its own behind them.
func (e *encoder) user(m *providers.Message) (results, rest [][]byte) {
	for _, p := range m.Parts {
		switch p.Type {
		case providers.PartText:
			rest = appendText(rest, p.Text)
		case providers.PartImage, providers.PartFile:
			rest = append(rest, e.file(p.MimeType, p.Data))
		case providers.PartResult:
			result, beside := e.result(p.Result)
			results, rest = append(results, result), append(rest, beside...)
		}
	}
	return results, rest
}
