package prompted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// The text around the tools. The example is one that can be read, since models copy it to the letter.
const (
	beforeTools = "You can use tools. Each line between <tools> and </tools> is one, with the JSON Schema of its arguments:\n<tools>\n"
	afterTools  = "</tools>\nTo use a tool, write its name and its arguments in this form:\n"
	otherValues = "Write values that are not strings as JSON. "
	severalForm = "For several calls write them in this form:\n"
	anyCalls    = "For several calls write one such block after another. "
	oneCall     = "Write one such block at most. "
	resultNote  = "Then end your reply: the results come in the next message, %s. Never write a result yourself."
)

// system returns the system prompt with the offered tools.
func (g *grammar) system(req *providers.Request) string {
	t := toolsOf(req)
	if len(t.set.Tools) == 0 {
		return req.System
	}
	var b strings.Builder
	if req.System != "" {
		b.WriteString(req.System + "\n\n")
	}
	b.WriteString(beforeTools)
	for i := range t.set.Tools {
		b.Write(t.set.Tools[i].JSON)
		b.WriteByte('\n')
	}
	b.WriteString(afterTools)
	b.WriteString(g.example(1))
	if g.each != "" {
		b.WriteString(otherValues)
	}
	switch {
	case req.Settings.Serial:
		b.WriteString(oneCall)
	case g.turn != pair{}:
		b.WriteString(severalForm + g.example(2))
	default:
		b.WriteString(anyCalls)
	}
	fmt.Fprintf(&b, resultNote, g.resultPlace())
	switch req.Choice {
	case providers.ChoiceAuto:
		b.WriteString(" When no tool is needed, just answer.")
	case providers.ChoiceRequired:
		b.WriteString(" In your next reply you must use a tool.")
	default:
		fmt.Fprintf(&b, " In your next reply you must use the tool %s.", req.Tools.WireName(format, string(req.Choice)))
	}
	return b.String()
}

// example returns a number of calls.
func (g *grammar) example(n int) string {
	w := writer{grammar: g, history: &history{}, req: &providers.Request{}}
	calls := slices.Repeat([]*providers.Call{{Name: "tool-name", Arguments: json.RawMessage(`{"argument-name": "value"}`)}}, n)
	return string(w.appendCalls(nil, calls))
}

// resultPlace says where the results are.
func (g *grammar) resultPlace() string {
	if g.result.end == "" {
		return fmt.Sprintf("behind %q", g.result.open)
	}
	return "in " + strings.TrimRight(g.result.open, "[\n") + " tags"
}

// A writer writes a conversation in a grammar.
type writer struct {
	*grammar
	*syntax
	*history
	req *providers.Request
}

// A history is the messages of requests to the inner provider.
type history struct {
	messages         []providers.Message
	resultsLast      bool // the last message has results
	called, resulted int  // calls and results that are written
	memo             providers.Memo
}

// request returns the request for the inner provider, without tools.
func (p *Provider) request(g *grammar, req *providers.Request) *providers.Request {
	c, rest := providers.Encoded(req, p, func() *history { return &history{} })
	w := writer{grammar: g.written(), syntax: p.syntax, history: c, req: req}
	for i := range rest {
		w.write(&rest[i])
	}
	inner := &providers.Request{Model: req.Model, System: w.system(req), Messages: w.messages, Settings: req.Settings, Memo: &w.memo}
	inner.Settings.Serial = false // OpenAI refuses it without tools
	return inner
}

// write adds a message.
func (w *writer) write(m *providers.Message) {
	afterResults := w.resultsLast
	w.resultsLast = m.Role == providers.RoleTool
	switch {
	case w.resultsLast:
		w.messages = append(w.messages, w.responses(m))
	case m.Role == providers.RoleAssistant:
		w.messages = append(w.messages, w.assistant(m))
	case afterResults: // many templates want messages of the user and the assistant in turn
		w.messages = slices.Clone(w.messages)
		last := &w.messages[len(w.messages)-1]
		last.Parts = slices.Concat(last.Parts, []providers.Part{{Type: providers.PartText, Text: "\n"}}, m.Parts)
	default:
		w.messages = append(w.messages, *m)
	}
}

// assistant returns a message of the assistant with its calls as text, and with the raw items
// of the inner provider.
func (w *writer) assistant(m *providers.Message) providers.Message {
	var raw *providers.Raw
	if items := m.Raw.Of(name); items != nil {
		raw = unwrap(items)
	} else if m.Calls() == nil {
		return *m
	}
	out := providers.Message{Role: m.Role, Raw: raw}
	var text []byte
	var calls []*providers.Call // that are not written yet
	for _, part := range m.Parts {
		switch part.Type {
		case providers.PartText:
			text = append(w.appendCalls(text, calls), part.Text...)
			calls = nil
		case providers.PartCall:
			calls = append(calls, part.Call)
		default:
			out.Parts = append(out.Parts, part)
		}
	}
	if text = w.appendCalls(text, calls); text != nil {
		out.Parts = append(out.Parts, textPart(text))
	}
	return out
}

// appendCalls appends the calls of a turn, and a line break.
func (w *writer) appendCalls(text []byte, calls []*providers.Call) []byte {
	if len(calls) == 0 {
		return text
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	text = append(text, w.turn.open...)
	for i, c := range calls {
		switch {
		case i == 0:
		case w.turn == pair{}:
			text = append(text, '\n')
		default:
			text = append(text, w.between...)
		}
		v := values{name: w.req.Tools.WireName(format, c.Name), index: w.called, arguments: c.Arguments}
		if v.arguments == nil {
			v.arguments = json.RawMessage("{}")
		}
		text = append(append(append(text, w.call.open...), w.render(w.body, v)...), w.call.end...)
		w.called++
	}
	return append(append(text, w.turn.end...), '\n')
}

// responses returns results as a message of the user, followed by their images.
func (w *writer) responses(m *providers.Message) providers.Message {
	text := []byte(w.results.open)
	var images []providers.Part
	for _, part := range m.Parts {
		r := part.Result
		if r == nil {
			continue
		}
		if len(text) > 0 && text[len(text)-1] != '\n' {
			text = append(text, '\n')
		}
		content, media := r.TextAndMedia(true)
		v := values{name: w.req.Tools.WireName(format, r.Name), index: w.resulted, content: w.resultJSON(content)}
		text = append(append(append(text, w.result.open...), w.render(w.content, v)...), w.result.end...)
		w.resulted++
		for _, image := range media {
			var data []byte
			if image.Type == toolformat.ImageContent && json.Unmarshal(wire.AppendString(nil, image.Data), &data) == nil {
				images = append(images, providers.Part{Type: providers.PartImage, Data: data, MimeType: image.MimeType})
			}
		}
	}
	if w.results.end != "" {
		text = append(append(text, '\n'), w.results.end...)
	}
	return providers.Message{Role: providers.RoleUser, Parts: append([]providers.Part{textPart(text)}, images...)}
}

func textPart(text []byte) providers.Part {
	return providers.Part{Type: providers.PartText, Text: string(bytes.TrimSuffix(text, []byte{'\n'}))}
}

// resultJSON returns a result as JSON: unchanged if it is an object or an array, else a string.
// The first byte of each mark in it is escaped: it cannot contain the end of its
// <tool_response>, and a model that repeats it as it is does not make a call.
func (s *syntax) resultJSON(text string) []byte {
	raw := []byte(text)
	if t := bytes.TrimSpace(raw); len(t) == 0 || t[0] != '{' && t[0] != '[' || !json.Valid(t) {
		raw = wire.AppendString(nil, text)
	}
	var out []byte
	kept := 0
	for i, c := range raw {
		if s.starts[c] && s.isMark(raw[i:]) && !isEscaped(raw[:i]) {
			out = fmt.Appendf(append(out, raw[kept:i]...), `\u%04x`, c)
			kept = i + 1
		}
	}
	return append(out, raw[kept:]...)
}

// isMark reports whether w begins with a mark of a call, a result or thinking.
func (s *syntax) isMark(w []byte) bool {
	mark, _ := prefixOf(w, s.marks)
	return mark != ""
}

// marksOf returns the marks of forms, and all others.
func marksOf(openers []form) []string {
	all := slices.Concat(argumentMarks, headerMarks, endMarks, textMarks, []string{messageMark,
		keyTags.key, keyTags.keyEnd, keyTags.value, keyTags.valueEnd,
		"<tools>", "</tools>", responseOpen, "</tool_response"})
	for _, in := range slices.Concat(openers, thoughts) {
		all = append(append(all, in.open), in.ends...)
	}
	for _, g := range grammars {
		for _, m := range []pair{g.turn, g.call, g.result, g.results} {
			all = append(all, m.open, m.end)
		}
	}
	for _, t := range allTags {
		all = append(all, t.open, t.key, t.valueEnd, t.end)
	}
	for language, in := range blocks {
		if !in.strict {
			all = append(all, fenceMark+language)
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(mark string) bool { return len(mark) < 2 })
}

// isEscaped reports whether the byte behind w belongs to an escape sequence of JSON.
func isEscaped(w []byte) bool {
	return (len(w)-len(bytes.TrimRight(w, `\`)))%2 == 1
}

// wrap returns raw items of this provider with those of the inner one.
func wrap(r *providers.Raw) *providers.Raw {
	if r == nil {
		return nil
	}
	b := wire.AppendString([]byte(`{"provider":`), r.Provider)
	b = wire.AppendString(append(b, `,"model":`...), r.Model)
	b = append(append(append(b, `,"items":`...), r.Items...), '}')
	return &providers.Raw{Provider: name, Model: r.Model, Items: b}
}

// unwrap returns the raw items that wrap wrapped; nil for any others.
func unwrap(items json.RawMessage) *providers.Raw {
	var r providers.Raw
	if json.Unmarshal(items, &r) != nil || r.Items == nil {
		return nil
	}
	return &r
}
