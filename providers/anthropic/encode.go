package anthropic

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
)

// defaultMaxTokens is what providers.Settings promises where the API has no default.
const defaultMaxTokens = 4096

// An encoder writes one request.
type encoder struct {
	req   *providers.Request
	ids   map[string]string // of calls, as they stand in the request
	fresh int               // the first message that the API has not answered to
	notes []string
}

// encode is the body of a request, and what the caller should know about it.
func (p *Provider) encode(req *providers.Request) (body []byte, notes []string) {
	e := &encoder{req: req, ids: map[string]string{}}
	for i := range req.Messages {
		if req.Messages[i].Raw.Of(name) != nil {
			e.fresh = i + 1
		}
	}
	b := wire.AppendString([]byte(`{"model":`), req.Model)
	b = append(b, `,"max_tokens":`...)
	b = strconv.AppendInt(b, int64(cmp.Or(req.Settings.MaxTokens, defaultMaxTokens)), 10)
	b = append(b, `,"stream":true`...)
	if strings.TrimSpace(req.System) != "" {
		b = wire.AppendString(append(b, `,"system":`...), req.System)
	}
	b = append(append(b, `,"messages":`...), e.messages()...)
	if set := req.Tools.Encoded(format); len(set.Tools) > 0 {
		b = append(append(b, `,"tools":`...), p.tools(set.JSON())...)
		b = append(b, e.choice()...)
	}
	b = appendNumber(b, `,"temperature":`, req.Settings.Temperature)
	b = appendNumber(b, `,"top_p":`, req.Settings.TopP)
	if id := container(req.Messages); id != nil {
		b = append(append(b, `,"container":`...), id...)
	}
	return append(b, '}'), e.notes
}

func appendNumber(b []byte, key string, n *float64) []byte {
	if n == nil {
		return b
	}
	return strconv.AppendFloat(append(b, key...), *n, 'f', -1, 64)
}

// tools are the tools of a request, the last of them with the mark up to which the API
// keeps what it has read.
func (p *Provider) tools(all json.RawMessage) []byte {
	if p.cacheTools == "" {
		return all
	}
	var tools [][]byte
	for tool := range wire.Elements(all) {
		tools = append(tools, tool)
	}
	last := &tools[len(tools)-1]
	mark := wire.AppendString([]byte(`{"type":"ephemeral","ttl":`), p.cacheTools)
	*last = wire.SetMember(*last, "cache_control", append(mark, '}'))
	return array(tools)
}

// choice is the member tool_choice; nothing where the API's default is meant.
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
		b = wire.AppendString([]byte(`,"tool_choice":{"type":"tool","name":`), e.req.Tools.WireName(format, string(c)))
	}
	if e.req.Settings.Serial {
		b = append(b, `,"disable_parallel_tool_use":true`...)
	}
	return append(b, '}')
}

// container is the id of the last container that the API's own tools have run in, which
// it wants to be told when they are to go on; nil for none, or one that has gone.
func container(messages []providers.Message) []byte {
	for _, m := range slices.Backward(messages) {
		used := wire.Lookup(m.Raw.Of(name), "container")
		id := wire.Lookup(used, "id")
		if id == nil {
			continue
		}
		expires, _ := wire.Text(wire.Lookup(used, "expires_at"))
		if at, err := time.Parse(time.RFC3339, expires); err == nil && !at.After(time.Now()) {
			return nil
		}
		return id
	}
	return nil
}

// A side is what one side says before the other does, which is one message to the API. In
// it, results stand first: that is where the API looks for them.
type side struct {
	role          string
	results, rest [][]byte
}

// messages are the messages of the request, an array. A message that says nothing is left
// out: the API refuses it, though a model may well have sent it.
func (e *encoder) messages() []byte {
	var sides []side
	for i := range e.req.Messages {
		m := &e.req.Messages[i]
		s := side{role: "user"}
		if m.Role == providers.RoleAssistant {
			s = side{role: "assistant", rest: e.assistant(m)}
		} else {
			e.user(&s, m, i >= e.fresh)
		}
		if len(s.results)+len(s.rest) == 0 {
			continue
		}
		if last := len(sides) - 1; last >= 0 && sides[last].role == s.role {
			sides[last].results = append(sides[last].results, s.results...)
			sides[last].rest = append(sides[last].rest, s.rest...)
		} else {
			sides = append(sides, s)
		}
	}
	all := make([][]byte, len(sides))
	for i, s := range sides {
		all[i] = slices.Concat([]byte(`{"role":"`), []byte(s.role), []byte(`","content":`), array(append(s.results, s.rest...)), []byte("}"))
	}
	return array(all)
}

// assistant is the content of a message of the model's: as it came, when it came from here.
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

// isBlank reports whether a block is a text without a letter. Models send it and the API
// refuses it ("text content blocks must contain non-whitespace text").
func isBlank(block []byte) bool {
	if kind, _ := wire.Text(wire.Lookup(block, "type")); kind != typeText {
		return false
	}
	text, ok := wire.Text(wire.Lookup(block, "text"))
	return ok && strings.TrimSpace(text) == ""
}

// call is a call that another provider's model has made.
func (e *encoder) call(c *providers.Call) []byte {
	id := validID(c.ID)
	e.ids[c.ID] = id
	b := wire.AppendString([]byte(`{"type":"tool_use","id":`), id)
	b = wire.AppendString(append(b, `,"name":`...), e.req.Tools.WireName(format, c.Name))
	return append(append(append(b, `,"input":`...), c.Object()...), '}')
}

var idPattern = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// validID is an id that the API takes: the same, or one made of it.
func validID(id string) string {
	if idPattern.MatchString(id) {
		return id
	}
	return fmt.Sprintf("call_%x", sha256.Sum256([]byte(id)))[:29]
}
