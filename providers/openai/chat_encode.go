package openai

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A dialect is where the servers of Chat Completions do not agree.
type dialect struct {
	maxTokens string         // the member for the limit of tokens
	required  string         // the choice of "some tool"
	id        *regexp.Regexp // what may be the id of a call
	idPrefix  string         // of an id that is made in its stead
	idLength  int            // its length
}

// dialectOf is the dialect of a host. OpenAI's newer models refuse max_tokens, which is all
// that many other servers know. Ids have 40 characters at most ("string too long. Expected
// a string with maximum length 40"), at Mistral 9 letters and digits ("must be a-z, A-Z,
// 0-9, with a length of 9"), whose word for required is any.
func dialectOf(host string) dialect {
	d := dialect{maxTokens: "max_tokens", required: "required", id: plainID, idPrefix: "call_", idLength: 29}
	switch {
	case isHost(host, "openai.com"), isHost(host, "openai.azure.com"):
		d.maxTokens = "max_completion_tokens"
	case isHost(host, "mistral.ai"):
		d.required, d.id, d.idPrefix, d.idLength = "any", mistralID, "", 9
	}
	return d
}

var (
	plainID   = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)
	mistralID = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)
)

func isHost(host, domain string) bool { return host == domain || strings.HasSuffix(host, "."+domain) }

// callID is the id of another provider's call, as this server takes it.
func (d *dialect) callID(id string) string {
	if d.id.MatchString(id) {
		return id
	}
	return madeID(d.idPrefix, id, d.idLength)
}

// madeID stands for an id that an API does not take.
func madeID(prefix, id string, length int) string {
	return fmt.Sprintf("%s%x", prefix, sha256.Sum256([]byte(id)))[:length]
}

// encode writes a request.
func (p *Chat) encode(req *providers.Request) []byte {
	d := dialectOf(p.host)
	b := textMember([]byte("{"), "model", req.Model)
	b = p.messages(rawMember(b, "messages", "["), req, &d)
	b = append(b, ']')
	if req.Tools.Len() > 0 {
		b = rawMember(b, "tools", req.Tools.Encoded(toolformat.FormatOpenAI).JSON())
		b = chatChoice(b, req, &d)
		if req.Settings.Serial { // some servers refuse the member
			b = rawMember(b, "parallel_tool_calls", "false")
		}
	}
	b = settings(b, &req.Settings, d.maxTokens)
	b = rawMember(b, "stream", "true")
	if p.streamOptions {
		b = rawMember(b, "stream_options", `{"include_usage":true}`)
	}
	return append(b, '}')
}

// settings appends those that both APIs have.
func settings(b []byte, s *providers.Settings, maxTokens string) []byte {
	if s.MaxTokens > 0 {
		b = numberMember(b, maxTokens, float64(s.MaxTokens))
	}
	if s.Temperature != nil {
		b = numberMember(b, "temperature", *s.Temperature)
	}
	if s.TopP != nil {
		b = numberMember(b, "top_p", *s.TopP)
	}
	return b
}

func chatChoice(b []byte, req *providers.Request, d *dialect) []byte {
	switch req.Choice {
	case providers.ChoiceAuto:
		return b
	case providers.ChoiceNone:
		return textMember(b, "tool_choice", "none")
	case providers.ChoiceRequired:
		return textMember(b, "tool_choice", d.required)
	}
	b = rawMember(b, "tool_choice", `{"type":"function","function":{`)
	return append(textMember(b, "name", req.Tools.WireName(toolformat.FormatOpenAI, string(req.Choice))), "}}"...)
}

// messages appends the conversation.
func (p *Chat) messages(b []byte, req *providers.Request, d *dialect) []byte {
	if req.System != "" {
		b = textMember(append(element(b), `{"role":"system"`...), "content", req.System)
		b = append(b, '}')
	}
	renamed := map[string]string{} // ids of calls that another provider's model made
	for i := range req.Messages {
		m := &req.Messages[i]
		switch raw := m.Raw.Of(p.name); {
		case m.Role == providers.RoleUser:
			b = userMessage(element(b), m, chatText, chatMedium)
		case m.Role == providers.RoleTool:
			b = chatResults(b, req, m, renamed)
		case len(raw) > 0 && raw[0] == '{':
			b = append(element(b), raw...)
		default:
			b = chatAssistant(element(b), req, m, d, renamed)
		}
	}
	return b
}

func chatText(b []byte, text string) []byte {
	return append(textMember(append(element(b), `{"type":"text"`...), "text", text), '}')
}

func chatMedium(b []byte, m *medium) []byte {
	b = element(b)
	switch format := m.audioFormat(); {
	case format != "":
		b = textMember(append(b, `{"type":"input_audio","input_audio":{`...), "data", m.data)
		b = textMember(b, "format", format)
	case m.isImage():
		b = m.appendURL(append(b, `{"type":"image_url","image_url":{"url":`...))
	default:
		b = textMember(append(b, `{"type":"file","file":{`...), "filename", m.fileName())
		b = m.appendURL(member(b, "file_data"))
	}
	return append(b, "}}"...)
}

// chatAssistant appends an assistant's message that did not come from here.
func chatAssistant(b []byte, req *providers.Request, m *providers.Message, d *dialect, renamed map[string]string) []byte {
	calls := m.Calls()
	b = append(b, `{"role":"assistant"`...)
	if text := m.Text(); text != "" || len(calls) == 0 {
		b = textMember(b, "content", text)
	} else {
		b = rawMember(b, "content", "null")
	}
	if len(calls) > 0 {
		b = rawMember(b, "tool_calls", "[")
		for _, c := range calls {
			id := d.callID(c.ID)
			renamed[c.ID] = id
			b = textMember(append(element(b), '{'), "id", id)
			b = rawMember(b, "type", `"function","function":{`)
			b = textMember(b, "name", req.Tools.WireName(toolformat.FormatOpenAI, c.Name))
			b = append(textMember(b, "arguments", argumentsText(c.Arguments)), "}}"...)
		}
		b = append(b, ']')
	}
	return append(b, '}')
}

// chatResults appends the results of a turn, a message each. They take no images: those
// follow in a message of the user, once all calls have their result.
func chatResults(b []byte, req *providers.Request, m *providers.Message, renamed map[string]string) []byte {
	beside := []byte("[")
	for i := range m.Parts {
		r := m.Parts[i].Result
		if r == nil {
			continue
		}
		id, text, before := cmp.Or(renamed[r.ID], r.ID), r.Text(true), len(beside)
		for _, block := range r.Blocks() {
			medium, ok := ofBlock(&block)
			if !ok {
				continue
			}
			if len(beside) == before {
				beside = chatText(beside, "From the result of "+req.Tools.WireName(toolformat.FormatOpenAI, r.Name)+" ("+id+"):")
			}
			beside = chatMedium(beside, &medium)
		}
		if text == "" && len(beside) > before {
			text = "The result is in the next message."
		}
		b = textMember(append(element(b), `{"role":"tool"`...), "tool_call_id", id)
		b = append(textMember(b, "content", text), '}')
	}
	if len(beside) > 1 {
		b = rawMember(append(element(b), `{"role":"user"`...), "content", beside)
		b = append(b, "]}"...)
	}
	return b
}
