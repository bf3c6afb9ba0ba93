package anthropic

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const (
	defaultMaxTokens = 4096 // of providers.Settings, for an API without one
	minBudget        = 1024 // of thinking, for which the API takes no fewer tokens
)

// An encoder writes one request.
type encoder struct {
	*history
	req   *providers.Request
	notes []string
	mark  []byte // cache_control of a block up to which the API caches; nil means no caching
}

// encode returns the exchange of a request, without its decoder. The error wraps providers.ErrNoAnswer.
func (p *Provider) encode(req *providers.Request) (x providers.Exchange, err error) {
	e := &encoder{req: req, mark: p.cacheMark(req)}
	messages := e.messages(p)
	b := rawjson.Text([]byte("{"), "model", req.Model)
	b = rawjson.Number(b, "max_tokens", float64(cmp.Or(req.Settings.MaxTokens, defaultMaxTokens+int(max(0, req.Settings.Thinking))))) // thinking counts
	b = append(b, `,"stream":true`...)
	if strings.TrimSpace(req.System) != "" {
		b = rawjson.Raw(b, "system", e.system())
	}
	if set := req.Tools.Encoded(format); len(set.Tools) > 0 {
		b = rawjson.Raw(b, "tools", e.tools(set))
		b = append(b, e.choice()...)
	}
	if b, err = e.settings(b); err != nil {
		return x, err
	}
	if id := e.containerID(); id != nil {
		b = rawjson.Raw(b, "container", id)
	}
	return providers.Exchange{Path: path, Body: append(b, '}'), Member: "messages", Messages: messages, Notes: e.notes}, nil
}

// settings appends the settings of the request, but for MaxTokens and Serial.
func (e *encoder) settings(b []byte) ([]byte, error) {
	s := e.compatible()
	if s.Temperature != nil {
		b = rawjson.Number(b, "temperature", *s.Temperature)
	}
	if s.TopP != nil {
		b = rawjson.Number(b, "top_p", *s.TopP)
	}
	if len(s.Stop) > 0 {
		b = rawjson.Raw(b, "stop_sequences", rawjson.Strings(s.Stop))
	}
	effort := s.Effort
	switch tokens := budget(s); {
	case effort == "none", s.Thinking == providers.ThinkingOff:
		b, effort = rawjson.Raw(b, "thinking", `{"type":"disabled"}`), ""
	case s.Thinking == providers.ThinkingOn:
		b = rawjson.Raw(b, "thinking", `{"type":"adaptive","display":"summarized"}`)
	case s.Thinking > 0 && tokens == 0:
		b = rawjson.Raw(b, "thinking", `{"type":"disabled"}`)
	case s.Thinking > 0:
		b = append(rawjson.Number(rawjson.Raw(b, "thinking", `{"type":"enabled"`), "budget_tokens", float64(tokens)), '}')
	}
	if effort == "minimal" {
		effort = "low"
	}
	output := []byte("{")
	if effort != "" {
		output = rawjson.Text(output, "effort", effort)
	}
	if s.Answer != nil {
		schema, err := answerSchema(s.Answer)
		if err != nil {
			return nil, err
		}
		output = append(rawjson.Raw(rawjson.Raw(output, "format", `{"type":"json_schema"`), "schema", schema), '}')
	}
	if len(output) > 1 {
		b = rawjson.Raw(b, "output_config", append(output, '}'))
	}
	return b, nil
}

// budget returns the tokens of thinking, which must be fewer than those of the turn; 0 for none, or if the answer
// would have no room.
func budget(s *providers.Settings) int {
	tokens := max(0, int(s.Thinking))
	if s.MaxTokens > 0 && tokens >= s.MaxTokens {
		tokens = s.MaxTokens / 2
	}
	if tokens < min(int(s.Thinking), minBudget) {
		return 0
	}
	return tokens
}

// minTopP is the least top_p beside thinking.
const minTopP = 0.95

// compatible returns the settings that the API takes together. The config may have set thinking for a client that knows
// nothing of it: where the client forces a call ("Thinking may not be enabled when tool_choice forces tool use") there is
// none, and otherwise it goes before temperature and top_p ("may only be set to 1 when thinking is enabled or in adaptive
// mode", "must be greater than or equal to 0.95 or unset").
func (e *encoder) compatible() *providers.Settings {
	s, choice := e.req.Settings, e.req.Choice
	switch thinks := s.Thinking == providers.ThinkingOn || budget(&s) > 0; {
	case !thinks, s.Effort == "none":
	case choice != providers.ChoiceAuto && choice != providers.ChoiceNone && len(e.req.Tools.Encoded(format).Tools) > 0:
		s.Thinking = providers.ThinkingDefault
		e.leaveOut("thinking", "a tool call is required")
	default:
		if s.Temperature != nil && *s.Temperature != 1 {
			s.Temperature = nil
			e.leaveOut("temperature", "a model that thinks takes only 1")
		}
		if s.TopP != nil && *s.TopP < minTopP {
			s.TopP = nil
			e.leaveOut("top_p", "a model that thinks takes none below 0.95")
		}
	}
	return &s
}

// leaveOut notes that a setting is not sent, in the first turn of an answer.
func (e *encoder) leaveOut(setting, why string) {
	if last := len(e.req.Messages) - 1; last >= 0 && e.req.Messages[last].Role == providers.RoleUser {
		e.notes = append(e.notes, fmt.Sprintf("%s: %s is left out: %s", name, setting, why))
	}
}

// answerSchema returns the schema of an answer; the error wraps providers.ErrNoAnswer if the API cannot
// express it.
func answerSchema(f *providers.AnswerFormat) (json.RawMessage, error) {
	if f.Schema == nil {
		return nil, fmt.Errorf("%w: the API of %s has no format for any JSON object", providers.ErrNoAnswer, name)
	}
	schema, err := toolformat.AnswerSchema(f.Schema, format)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", providers.ErrNoAnswer, err)
	}
	return schema, nil
}

// choice returns the member tool_choice, with a comma; nothing for the API's default.
func (e *encoder) choice() []byte {
	var b []byte
	switch c := e.req.Choice; c {
	case providers.ChoiceNone:
		return []byte(`,"tool_choice":{"type":"none"}`)
	case providers.ChoiceAuto:
		if !e.req.Settings.Serial {
			return nil
		}
		b = []byte(`,"tool_choice":{"type":"auto"`)
	case providers.ChoiceRequired:
		b = []byte(`,"tool_choice":{"type":"any"`)
	default:
		b = rawjson.Text([]byte(`,"tool_choice":{"type":"tool"`), "name", e.req.Tools.WireName(format, string(c)))
	}
	if e.req.Settings.Serial {
		b = append(b, `,"disable_parallel_tool_use":true`...)
	}
	return append(b, '}')
}

// A content is that of one message of the API, which takes one message of each role in turn
// and wants results first.
type content struct {
	role          string
	results, rest [][]byte
}

// appendTo appends the content, unless it is empty: the API refuses that, though models send some.
func (c *content) appendTo(b []byte) []byte {
	if len(c.results)+len(c.rest) == 0 {
		return b
	}
	b = rawjson.Text(append(rawjson.Element(b), '{'), "role", c.role)
	return append(rawjson.Raw(b, "content", rawjson.Array(slices.Concat(c.results, c.rest))), '}')
}

// A history is the messages of requests.
type history struct {
	json  []byte            // the array without its end and without last
	last  content           // to which the next message of its role is added
	users []int             // where json has the ends of the user's contents
	ids   map[string]string // the ids of calls, by Call.ID
	uses  map[string]bool   // the ids of uses of the API's own tools

	container []byte // of the API's own tools, the last that a message names
}

// containerID returns the id of the container, which the API needs to continue it; nil if the messages name none,
// or it has expired.
func (c *history) containerID() []byte {
	if at, err := time.Parse(time.RFC3339, rawjson.TextAt(c.container, "expires_at")); err == nil && !at.After(time.Now()) {
		return nil
	}
	return wire.Lookup(c.container, "id")
}

// messages returns the messages of the request, an array without its end, in pieces. Notes are
// only kept of messages that the API has not answered yet.
func (e *encoder) messages(p *Provider) [][]byte {
	c, rest := providers.Encoded(e.req, p, func() *history {
		return &history{json: []byte("["), ids: map[string]string{}, uses: map[string]bool{}}
	})
	e.history = c
	for i := range rest {
		m := &rest[i]
		next := content{role: "user"}
		if m.Role == providers.RoleAssistant {
			next = content{role: "assistant", rest: e.assistant(m)}
		} else {
			e.user(&next, m)
		}
		c.add(&next)
	}
	return e.markContents(rawjson.Behind(c.json, c.last.appendTo))
}

// add adds a content.
func (c *history) add(next *content) {
	switch {
	case len(next.results)+len(next.rest) == 0:
	case c.last.role == next.role:
		c.last.results = append(c.last.results, next.results...)
		c.last.rest = append(c.last.rest, next.rest...)
	default:
		if c.last.role == "assistant" {
			c.last.rest = settled(c.last.rest)
		}
		c.json = c.last.appendTo(c.json)
		if c.last.role == "user" {
			c.users = append(c.users, len(c.json))
		}
		c.last = *next
	}
}

// assistant returns the content of a message of the assistant: unchanged, if the API sent it.
func (e *encoder) assistant(m *providers.Message) (content [][]byte) {
	if raw := m.Raw.Of(name); raw != nil {
		e.notes = nil
		if used := wire.Lookup(raw, "container"); wire.Lookup(used, "id") != nil {
			e.container = used
		}
		for b := range wire.Elements(wire.Lookup(raw, "content")) {
			if !isBlank(b) && !e.isOrphan(b) {
				content = append(content, e.withoutOrphan(b))
			}
		}
		for _, call := range m.Calls() {
			e.ids[call.ID] = call.ID
		}
		if slices.IndexFunc(content, saysMore) < 0 {
			return nil
		}
		return content
	}
	for _, part := range m.Parts {
		switch part.Type {
		case providers.PartText:
			content = appendBlock(content, textBlock(part.Text))
		case providers.PartCall:
			content = append(content, e.call(part.Call))
		}
	}
	return content
}

// settled returns the content of a turn of the assistant behind which the user goes on. Of a turn that was paused and not
// continued, uses of the API's own tools that have no result are left out ("tool use with id … was found without a
// corresponding … block"), unless they wait for calls in the same turn.
func settled(content [][]byte) [][]byte {
	open := map[string]bool{} // the ids of uses without a result
	for _, b := range content {
		switch kind := rawjson.TextAt(b, "type"); {
		case kind == typeToolUse:
			return content
		case strings.HasSuffix(kind, "_"+typeToolUse):
			open[rawjson.TextAt(b, "id")] = true
		case strings.HasSuffix(kind, "_tool_result"):
			delete(open, rawjson.TextAt(b, "tool_use_id"))
		}
	}
	if len(open) == 0 {
		return content
	}
	content = slices.DeleteFunc(content, func(b []byte) bool { return open[rawjson.TextAt(b, "id")] })
	for len(content) > 0 && !saysMore(content[len(content)-1]) {
		content = content[:len(content)-1]
	}
	return content
}

// isOrphan reports whether a block is the result of one of the API's own tools whose use is in no message before, and
// notes uses. The result of one that was used beside calls is in the turn behind theirs, and the API refuses it if they
// have been left out ("Each … block must have a corresponding `server_tool_use` block before it").
func (c *history) isOrphan(block []byte) bool {
	switch kind := rawjson.TextAt(block, "type"); {
	case strings.HasSuffix(kind, "_"+typeToolUse):
		c.uses[rawjson.TextAt(block, "id")] = true
	case strings.HasSuffix(kind, "_tool_result"):
		id := rawjson.TextAt(block, "tool_use_id")
		return id != "" && !c.uses[id]
	}
	return false
}

// withoutOrphan returns a block that does not name a program as its caller whose use is in no message before: a call of
// one that has been left out is like one of the model.
func (c *history) withoutOrphan(block []byte) []byte {
	if id := rawjson.TextAt(block, "caller", "tool_id"); id == "" || c.uses[id] {
		return block
	}
	return wire.CutMember(block, "caller")
}

// isBlank reports whether a block is blank text. Models send such blocks and the API refuses
// them ("text content blocks must contain non-whitespace text").
func isBlank(block []byte) bool {
	text, ok := wire.Text(wire.Lookup(block, "text"))
	return ok && strings.TrimSpace(text) == "" && rawjson.TextAt(block, "type") == typeText
}

// saysMore reports whether a block is more than thinking. Models end turns after thinking alone, and the API refuses
// them ("The final block in an assistant message cannot be `thinking`").
func saysMore(block []byte) bool {
	kind := rawjson.TextAt(block, "type")
	return kind != typeThinking && kind != typeRedacted
}

// call returns the block of a call that another provider's model made.
func (e *encoder) call(c *providers.Call) []byte {
	id := validID(c.ID)
	e.ids[c.ID] = id
	b := rawjson.Text([]byte(`{"type":"tool_use"`), "id", id)
	b = rawjson.Text(b, "name", e.req.Tools.WireName(format, c.Name))
	return append(rawjson.Raw(b, "input", c.Object()), '}')
}

var idPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
})

// validID returns an id if the API takes it, else one derived from it.
func validID(id string) string {
	if idPattern().MatchString(id) {
		return id
	}
	return fmt.Sprintf("call_%x", sha256.Sum256([]byte(id)))[:29]
}

// user adds a message of the user, or of results, to the content of a message.
func (e *encoder) user(s *content, m *providers.Message) {
	for _, part := range m.Parts {
		switch part.Type {
		case providers.PartText:
			s.rest = appendBlock(s.rest, textBlock(part.Text))
		case providers.PartImage, providers.PartFile:
			if part.URL != "" {
				b := rawjson.Text([]byte(`{"type":"image","source":{"type":"url"`), "url", part.URL)
				s.rest = append(s.rest, append(b, "}}"...))
				continue
			}
			s.rest = append(s.rest, e.media("", part.MimeType, base64.StdEncoding.EncodeToString(part.Data), part.Name))
		case providers.PartResult:
			e.result(s, part.Result)
		}
	}
}

// result adds the block of a result to the content of a message. That of a failed one has only text ("all content must
// be type "text" if "is_error" is true"): its images and files follow the results.
func (e *encoder) result(s *content, r *providers.Result) {
	failed := r.Content != nil && r.Content.IsError()
	var content, after [][]byte
	for _, c := range r.Blocks() {
		if c.Data == "" {
			content = appendBlock(content, textBlock(c.Text))
			continue
		}
		block := e.media(r.Name, c.MimeType, c.Data, c.URI)
		if failed && rawjson.TextAt(block, "type") != typeText {
			after = append(after, block)
		} else {
			content = append(content, block)
		}
	}
	b := rawjson.Text([]byte(`{"type":"tool_result"`), "tool_use_id", cmp.Or(e.ids[r.ID], validID(r.ID)))
	if failed {
		b = append(b, `,"is_error":true`...)
	}
	if content != nil {
		b = rawjson.Raw(b, "content", rawjson.Array(content))
	}
	s.results = append(s.results, append(b, '}'))
	if after != nil {
		s.rest = append(append(s.rest, textBlock("From the failed result of "+e.req.Tools.WireName(format, r.Name)+":")), after...)
	}
}

// textBlock returns a block of text; nil for a blank one, which the API would refuse.
func textBlock(text string) []byte {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return append(rawjson.Text([]byte(`{"type":"text"`), "text", text), '}')
}

// appendBlock appends a block, unless it is nil.
func appendBlock(blocks [][]byte, block []byte) [][]byte {
	if block == nil {
		return blocks
	}
	return append(blocks, block)
}

// media returns the block of an image or a file, or a text in its place if the API has no
// block for its type. tool is the tool whose result it is from; "" for the user's message.
func (e *encoder) media(tool, mimeType, data, title string) []byte {
	kind, _, _ := strings.Cut(mimeType, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	if kind == "image/jpg" {
		kind = "image/jpeg"
	}
	switch {
	case kind == "image/jpeg", kind == "image/png", kind == "image/gif", kind == "image/webp":
		return source("image", "base64", kind, data, "")
	case kind == "application/pdf":
		return source("document", "base64", kind, data, title)
	case strings.HasPrefix(kind, "text/"), kind == "application/json":
		if text, err := base64.StdEncoding.DecodeString(data); err == nil && strings.TrimSpace(string(text)) != "" {
			return source("document", "text", "text/plain", string(text), title)
		}
	}
	what := fmt.Sprintf("%s of %d bytes", cmp.Or(kind, "a file"), base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(data, "="))))
	where := "the message"
	if tool != "" {
		where = "the result of " + tool
	}
	e.notes = append(e.notes, fmt.Sprintf("%s: %s in %s is left out: the API takes images (JPEG, PNG, GIF, WebP), PDF and text", name, what, where))
	return textBlock("[" + what + ", left out: only images, PDF and text can be shown here]")
}

func source(block, kind, mimeType, data, title string) []byte {
	b := rawjson.Text([]byte(`{"type":"`+block+`","source":{"type":"`+kind+`"`), "media_type", mimeType)
	b = append(rawjson.Text(b, "data", data), '}')
	if title != "" {
		b = rawjson.Text(b, "title", title)
	}
	return append(b, '}')
}
