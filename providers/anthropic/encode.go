package anthropic

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
)

// defaultMaxTokens is the default of providers.Settings for an API without one.
const defaultMaxTokens = 4096

// An encoder writes one request.
type encoder struct {
	req   *providers.Request
	ids   map[string]string // the ids of calls in the request, by Call.ID
	fresh int               // the index of the first message that the API has not answered yet
	notes []string
}

// encode returns the body of a request, and notes for the caller.
func (p *Provider) encode(req *providers.Request) (body []byte, notes []string) {
	e := &encoder{req: req, ids: map[string]string{}}
	for i := range req.Messages {
		if req.Messages[i].Raw.Of(name) != nil {
			e.fresh = i + 1
		}
	}
	b := rawjson.Text([]byte("{"), "model", req.Model)
	b = rawjson.Number(b, "max_tokens", float64(cmp.Or(req.Settings.MaxTokens, defaultMaxTokens)))
	b = append(b, `,"stream":true`...)
	if strings.TrimSpace(req.System) != "" {
		b = rawjson.Text(b, "system", req.System)
	}
	b = rawjson.Raw(b, "messages", e.messages())
	if set := req.Tools.Encoded(format); len(set.Tools) > 0 {
		b = rawjson.Raw(b, "tools", p.tools(set.JSON()))
		b = append(b, e.choice()...)
	}
	if t := req.Settings.Temperature; t != nil {
		b = rawjson.Number(b, "temperature", *t)
	}
	if p := req.Settings.TopP; p != nil {
		b = rawjson.Number(b, "top_p", *p)
	}
	if id := container(req.Messages); id != nil {
		b = rawjson.Raw(b, "container", id)
	}
	return append(b, '}'), e.notes
}

// tools returns the tools of a request. The last has the mark up to which the API caches.
func (p *Provider) tools(all json.RawMessage) []byte {
	if p.cacheTools == "" {
		return all
	}
	var tools [][]byte
	for tool := range wire.Elements(all) {
		tools = append(tools, tool)
	}
	last := &tools[len(tools)-1]
	mark := rawjson.Text([]byte(`{"type":"ephemeral"`), "ttl", p.cacheTools)
	*last = wire.SetMember(*last, "cache_control", append(mark, '}'))
	return rawjson.Array(tools)
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

// container returns the id of the last container of the API's own tools, which the API needs
// to continue them; nil if the messages name none, or it has expired.
func container(messages []providers.Message) []byte {
	for _, m := range slices.Backward(messages) {
		used := wire.Lookup(m.Raw.Of(name), "container")
		id := wire.Lookup(used, "id")
		if id == nil {
			continue
		}
		if at, err := time.Parse(time.RFC3339, rawjson.TextAt(used, "expires_at")); err == nil && !at.After(time.Now()) {
			return nil
		}
		return id
	}
	return nil
}

// A content is that of one message of the API, which takes one message of each role in turn
// and wants results first.
type content struct {
	role          string
	results, rest [][]byte
}

// messages returns the messages of the request, an array. An empty message is left out: the
// API refuses it, though models send some.
func (e *encoder) messages() []byte {
	var contents []content
	for i := range e.req.Messages {
		m := &e.req.Messages[i]
		c := content{role: "user"}
		if m.Role == providers.RoleAssistant {
			c = content{role: "assistant", rest: e.assistant(m)}
		} else {
			e.user(&c, m, i >= e.fresh)
		}
		if len(c.results)+len(c.rest) == 0 {
			continue
		}
		if last := len(contents) - 1; last >= 0 && contents[last].role == c.role {
			contents[last].results = append(contents[last].results, c.results...)
			contents[last].rest = append(contents[last].rest, c.rest...)
		} else {
			contents = append(contents, c)
		}
	}
	all := make([][]byte, len(contents))
	for i, c := range contents {
		b := rawjson.Text([]byte("{"), "role", c.role)
		all[i] = append(rawjson.Raw(b, "content", rawjson.Array(append(c.results, c.rest...))), '}')
	}
	return rawjson.Array(all)
}

// assistant returns the content of a message of the assistant: unchanged, if the API sent it.
func (e *encoder) assistant(m *providers.Message) (content [][]byte) {
	if raw := m.Raw.Of(name); raw != nil {
		for b := range wire.Elements(wire.Lookup(raw, "content")) {
			if !isBlank(b) {
				content = append(content, b)
			}
		}
		for _, call := range m.Calls() {
			e.ids[call.ID] = call.ID
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

// isBlank reports whether a block is blank text. Models send such blocks and the API refuses
// them ("text content blocks must contain non-whitespace text").
func isBlank(block []byte) bool {
	text, ok := wire.Text(wire.Lookup(block, "text"))
	return ok && strings.TrimSpace(text) == "" && rawjson.TextAt(block, "type") == typeText
}

// call returns the block of a call that another provider's model made.
func (e *encoder) call(c *providers.Call) []byte {
	id := validID(c.ID)
	e.ids[c.ID] = id
	b := rawjson.Text([]byte(`{"type":"tool_use"`), "id", id)
	b = rawjson.Text(b, "name", e.req.Tools.WireName(format, c.Name))
	return append(rawjson.Raw(b, "input", c.Object()), '}')
}

var idPattern = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// validID returns an id if the API takes it, else one derived from it.
func validID(id string) string {
	if idPattern.MatchString(id) {
		return id
	}
	return fmt.Sprintf("call_%x", sha256.Sum256([]byte(id)))[:29]
}
