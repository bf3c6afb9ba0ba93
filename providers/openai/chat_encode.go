package openai

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A dialect has the differences between servers of Chat Completions.
type dialect struct {
	maxTokens string                // the member for Settings.MaxTokens
	required  string                // the tool_choice for ChoiceRequired
	id        func() *regexp.Regexp // the valid ids of calls
	idPrefix  string                // of an id that replaces an invalid one
	idLength  int                   // of an id that replaces an invalid one
	speaks    bool                  // the assistant must say something, also between results and the user
}

// dialectOf returns the dialect of a host. OpenAI's newer models refuse max_tokens, the only
// name that many other servers know. An id has at most 40 characters ("string too long.
// Expected a string with maximum length 40"), at Mistral 9 letters and digits ("must be a-z,
// A-Z, 0-9, with a length of 9"). Mistral's name for required is any; it refuses empty messages of
// the assistant ("must have either content or tool_calls, but not none") and what the user says
// right after results ("Unexpected role 'user' after role 'tool'").
func dialectOf(host string) dialect {
	d := dialect{maxTokens: "max_tokens", required: "required", id: plainID, idPrefix: "call_", idLength: 29}
	switch {
	case isHost(host, "openai.com"), isHost(host, "openai.azure.com"):
		d.maxTokens = "max_completion_tokens"
	case isHost(host, "mistral.ai"):
		d.required, d.id, d.idPrefix, d.idLength, d.speaks = "any", mistralID, "", 9, true
	}
	return d
}

var (
	plainID = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)
	})
	mistralID = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)
	})
)

func isHost(host, domain string) bool { return host == domain || strings.HasSuffix(host, "."+domain) }

// callID returns the id for a call of another provider's model.
func (d *dialect) callID(id string) string {
	if d.id().MatchString(id) {
		return id
	}
	return madeID(d.idPrefix, id, d.idLength)
}

// madeID derives a valid id from an invalid one.
func madeID(prefix, id string, length int) string {
	return fmt.Sprintf("%s%x", prefix, sha256.Sum256([]byte(id)))[:length]
}

// encode returns the body of a request but for its messages.
func (p *Chat) encode(req *providers.Request) []byte {
	d := dialectOf(p.host)
	b := rawjson.Text([]byte("{"), "model", req.Model)
	b = tools(b, req, toolformat.FormatOpenAI, d.required)
	b = chatSettings(settings(b, &req.Settings, d.maxTokens), &req.Settings)
	b = rawjson.Raw(b, "stream", "true")
	if p.streamOptions {
		b = rawjson.Raw(b, "stream_options", `{"include_usage":true}`)
	}
	return append(b, '}')
}

// settings appends the settings that both APIs have.
func settings(b []byte, s *providers.Settings, maxTokens string) []byte {
	if s.MaxTokens > 0 {
		b = rawjson.Number(b, maxTokens, float64(s.MaxTokens))
	}
	if s.Temperature != nil {
		b = rawjson.Number(b, "temperature", *s.Temperature)
	}
	if s.TopP != nil {
		b = rawjson.Number(b, "top_p", *s.TopP)
	}
	return b
}

// chatSettings appends the settings whose place is not the same in Responses.
func chatSettings(b []byte, s *providers.Settings) []byte {
	if len(s.Stop) > 0 {
		b = rawjson.Raw(b, "stop", rawjson.Strings(s.Stop))
	}
	if s.Seed != nil {
		b = strconv.AppendInt(rawjson.Member(b, "seed"), *s.Seed, 10)
	}
	if s.PresencePenalty != nil {
		b = rawjson.Number(b, "presence_penalty", *s.PresencePenalty)
	}
	if s.FrequencyPenalty != nil {
		b = rawjson.Number(b, "frequency_penalty", *s.FrequencyPenalty)
	}
	if effort := cmp.Or(s.Effort, s.Thinking.Effort()); effort != "" {
		b = rawjson.Text(b, "reasoning_effort", effort)
	}
	switch {
	case s.Answer == nil:
	case s.Answer.Schema == nil:
		b = rawjson.Raw(b, "response_format", jsonObject)
	default:
		b = rawjson.Raw(b, "response_format", `{"type":"json_schema","json_schema":{`)
		b = append(answerFormat(b, s.Answer), "}}"...)
	}
	return b
}

// jsonObject is the format of answers that are any JSON object.
const jsonObject = `{"type":"json_object"}`

// answerFormat appends the members of a format of answers with a schema.
func answerFormat(b []byte, f *providers.AnswerFormat) []byte {
	b = rawjson.Text(b, "name", cmp.Or(f.Name, "answer"))
	if f.Description != "" {
		b = rawjson.Text(b, "description", f.Description)
	}
	b = rawjson.Raw(b, "schema", f.Schema)
	if f.Strict != nil {
		b = strconv.AppendBool(rawjson.Member(b, "strict"), *f.Strict)
	}
	return b
}

// tools appends the tools, if any, and what the model must do with them. required is the
// API's word for ChoiceRequired.
func tools(b []byte, req *providers.Request, format toolformat.Format, required string) []byte {
	set := req.Tools.Encoded(format)
	if len(set.Tools) == 0 { // of those that there are none can be expressed, perhaps: an empty list is refused
		return b
	}
	b = rawjson.Raw(b, "tools", set.JSON())
	switch req.Choice {
	case providers.ChoiceAuto:
	case providers.ChoiceNone:
		b = rawjson.Text(b, "tool_choice", "none")
	case providers.ChoiceRequired:
		b = rawjson.Text(b, "tool_choice", required)
	default:
		begin, end := `{"type":"function"`, "}"
		if format == toolformat.FormatOpenAI {
			begin, end = `{"type":"function","function":{`, "}}"
		}
		b = rawjson.Raw(b, "tool_choice", begin)
		b = append(rawjson.Text(b, "name", req.Tools.WireName(format, string(req.Choice))), end...)
	}
	if req.Settings.Serial { // some servers refuse the member
		b = rawjson.Raw(b, "parallel_tool_calls", "false")
	}
	return b
}

// messages returns the conversation, an array without its end.
func (p *Chat) messages(req *providers.Request) []byte {
	d := dialectOf(p.host)
	c, rest := providers.Encoded(req, p, func() *history {
		b := []byte("[")
		if req.System != "" {
			b = append(rawjson.Text(append(b, `{"role":"system"`...), "content", req.System), '}')
		}
		return newHistory(b)
	})
	for i := range rest {
		m := &rest[i]
		if d.speaks && c.results && m.Role == providers.RoleUser {
			c.json = append(rawjson.Element(c.json), okay...)
		}
		c.results = m.Role == providers.RoleTool
		switch raw := m.Raw.Of(p.name); {
		case m.Role == providers.RoleUser:
			c.json = userMessage(rawjson.Element(c.json), m, "text", chatMedium)
		case m.Role == providers.RoleTool:
			c.json = chatResults(c.json, req, m, &d, c.renamed)
		case d.speaks && m.Text() == "" && len(m.Calls()) == 0:
			c.json = append(rawjson.Element(c.json), okay...)
		case len(raw) > 0 && raw[0] == '{':
			c.json = append(rawjson.Element(c.json), raw...)
		default:
			c.json = chatAssistant(rawjson.Element(c.json), req, m, &d, c.renamed)
		}
	}
	return c.json
}

// okay is what the assistant says where it has said nothing.
const okay = `{"role":"assistant","content":"OK"}`

func chatMedium(b []byte, m *medium) []byte {
	b = rawjson.Element(b)
	switch format := m.audioFormat(); {
	case format != "":
		b = rawjson.Text(append(b, `{"type":"input_audio","input_audio":{`...), "data", m.data)
		b = rawjson.Text(b, "format", format)
	case m.isImage():
		b = m.appendDetail(m.appendURL(append(b, `{"type":"image_url","image_url":{"url":`...)))
	default:
		b = rawjson.Text(append(b, `{"type":"file","file":{`...), "filename", m.fileName())
		b = m.appendURL(rawjson.Member(b, "file_data"))
	}
	return append(b, "}}"...)
}

// chatAssistant appends a message of another provider's model.
func chatAssistant(b []byte, req *providers.Request, m *providers.Message, d *dialect, renamed map[string]string) []byte {
	calls := m.Calls()
	b = append(b, `{"role":"assistant"`...)
	if text := m.Text(); text != "" || len(calls) == 0 {
		b = rawjson.Text(b, "content", text)
	} else {
		b = rawjson.Raw(b, "content", "null")
	}
	if len(calls) > 0 {
		b = rawjson.Raw(b, "tool_calls", "[")
		for _, c := range calls {
			id := d.callID(c.ID)
			renamed[c.ID] = id
			b = rawjson.Text(append(rawjson.Element(b), '{'), "id", id)
			b = rawjson.Raw(b, "type", `"function","function":{`)
			b = rawjson.Text(b, "name", req.Tools.WireName(toolformat.FormatOpenAI, c.Name))
			b = append(rawjson.Text(b, "arguments", argumentsText(c.Arguments)), "}}"...)
		}
		b = append(b, ']')
	}
	return append(b, '}')
}

// chatResults appends the results of a turn, each a message. Results have no images: those
// follow in a message of the user after all results.
func chatResults(b []byte, req *providers.Request, m *providers.Message, d *dialect, renamed map[string]string) []byte {
	media := []byte("[")
	for i := range m.Parts {
		r := m.Parts[i].Result
		if r == nil {
			continue
		}
		text, blocks := r.TextAndMedia(true)
		id, before := cmp.Or(renamed[r.ID], r.ID), len(media)
		for _, block := range blocks {
			medium, ok := ofBlock(&block)
			if !ok {
				continue
			}
			if len(media) == before {
				media = appendText(media, "text", "From the result of "+req.Tools.WireName(toolformat.FormatOpenAI, r.Name)+" ("+id+"):")
			}
			media = chatMedium(media, &medium)
		}
		if text == "" && len(media) > before {
			text = "The result is in the next message."
		}
		b = rawjson.Text(append(rawjson.Element(b), `{"role":"tool"`...), "tool_call_id", id)
		b = append(rawjson.Text(b, "content", text), '}')
	}
	if len(media) > 1 {
		if d.speaks {
			b = append(rawjson.Element(b), okay...)
		}
		b = rawjson.Raw(append(rawjson.Element(b), `{"role":"user"`...), "content", media)
		b = append(b, "]}"...)
	}
	return b
}
