package openai

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
)

// A chatCall is a call assembled from a stream.
type chatCall struct {
	rawjson.Node                 // the item as the server sent it
	index        int             // the server's index; -1 for none
	given        string          // the server's id, if it has sent one
	id           string          // the id of the Call
	name         string          // as the model wrote it, once it is known
	last         int             // the number of the delta with its last piece
	shown        *providers.Call // for events; nil before the name is known
}

// A fragment is a piece of a call.
type fragment struct {
	index           int
	id, name        string
	arguments, call []byte
}

func readFragment(call []byte) fragment {
	f := fragment{index: -1, call: call}
	for name, value := range wire.Members(call) {
		switch name {
		case "index":
			f.index = rawjson.Index(value)
		case "id":
			f.id = rawjson.TextOf(value)
		case "function":
			for name, value := range wire.Members(value) {
				switch name {
				case "name":
					f.name = rawjson.TextOf(value)
				case "arguments":
					f.arguments = value
				}
			}
		}
	}
	return f
}

// piece adds a piece to its call.
func (d *chatDecoder) piece(call []byte) {
	f := readFragment(call)
	c := d.callOf(&f)
	if c == nil {
		c = &chatCall{index: f.index, id: d.ids.Next(f.id)}
		d.calls = append(d.calls, c)
	}
	c.last = d.deltas
	c.given = cmp.Or(c.given, f.id)
	if c.name == "" && f.name != "" {
		c.name, c.shown = f.name, &providers.Call{ID: c.id, Name: d.toolNamed(f.name)}
	}
	c.Merge(f.call)
	if text := rawjson.TextOf(f.arguments); text != "" {
		d.emit(providers.Event{Type: providers.EventArgumentsDelta, Call: cmp.Or(c.shown, &providers.Call{ID: c.id}), Text: text})
	}
}

// callOf returns the call that a piece continues; nil if it begins a new one. In OpenAI's API
// that is the call with its index. But some servers omit the index, send -1, or 0 for every
// call; repeat the id, send a new one with each piece, or none; repeat the name, or send "".
func (d *chatDecoder) callOf(f *fragment) *chatCall {
	var c *chatCall
	recent := d.calls[max(0, len(d.calls)-rawjson.MaxRecent):]
	for _, call := range slices.Backward(recent) {
		if f.index >= 0 && call.index == f.index || f.index < 0 && f.id != "" && call.given == f.id {
			c = call
			break
		}
	}
	if c == nil && f.index < 0 && len(recent) > 0 && (f.id == "" || f.name == "") {
		c = recent[len(recent)-1]
	}
	if c == nil || f.name == "" {
		return c
	}
	switch { // the name is repeated, or is that of the next call
	case c.last == d.deltas, // pieces in one delta are of different calls
		f.id != "" && c.given != "" && f.id != c.given,
		c.name != "" && f.name != c.name,
		rawjson.TextOf(f.arguments) != "" && c.complete():
		return nil
	}
	return c
}

// arguments returns the text of the arguments so far. Some servers send an object.
func (c *chatCall) arguments() string {
	arguments := c.Get("function").Get("arguments").JSON()
	if len(arguments) > 0 && arguments[0] == '{' {
		return string(arguments)
	}
	return rawjson.TextOf(arguments)
}

// complete reports whether the arguments are complete.
func (c *chatCall) complete() bool {
	arguments := c.arguments()
	return strings.HasSuffix(arguments, "}") && json.Valid([]byte(arguments))
}

// complement makes the item of the call one that can be sent back: with the id of the Call,
// with arguments, and without the index of a stream. It reports whether the item of an API
// that does not stream had to be changed.
func (c *chatCall) complement(streamed bool) (changed bool) {
	if streamed {
		c.Cut("index")
		if t := c.Child("type"); t.Text() == "" {
			t.SetText("function")
		}
	}
	if c.Get("id").Text() != c.id {
		c.Child("id").SetText(c.id)
		changed = true
	}
	if c.arguments() == "" {
		c.Child("function").Child("arguments").SetText("{}")
		changed = true
	}
	return changed
}

// replace makes a call the first of those that were wrapped in it, and returns all of them.
func (d *chatDecoder) replace(c *chatCall, all []inner) []*chatCall {
	calls := []*chatCall{c}
	for range all[1:] {
		next := &chatCall{id: d.ids.Next("")}
		next.Child("id").SetText(next.id)
		next.Child("type").SetText("function")
		calls = append(calls, next)
	}
	for i, in := range all {
		calls[i].name = in.name
		calls[i].Child("function").Child("name").SetText(in.name)
		calls[i].Child("function").Child("arguments").SetText(in.arguments)
	}
	return calls
}

// Turn implements providers.Decoder.
func (d *chatDecoder) Turn() *providers.Turn {
	calls, changed := d.finalCalls()
	parts, refused := d.textParts()
	for _, c := range calls {
		call := d.call(c.id, c.name, c.arguments())
		parts = append(parts, providers.Part{Type: providers.PartCall, Call: call})
		if !rawjson.IsObject(call.Arguments) {
			c.Child("function").Child("arguments").SetText(argumentsText(call.Arguments))
			changed = true
		}
	}
	raw := d.verbatim
	if changed || !d.replayable(calls) {
		raw = d.raw(calls)
	}
	return d.turn(parts, raw, d.stop(len(calls) > 0, refused))
}

// finalCalls returns the calls to run and to send back, and whether they differ from those of
// a response that is not streamed.
func (d *chatDecoder) finalCalls() (calls []*chatCall, changed bool) {
	for _, c := range d.calls {
		switch {
		case c.name != "":
		case c.given == "" && c.arguments() == "":
			changed = true // an empty item of a server
			continue
		default:
			c.name, changed = unnamed, true
			c.Child("function").Child("name").SetText(unnamed)
		}
		changed = c.complement(d.streamed) || changed
		if all := d.unwrap(c.name, c.arguments()); all != nil {
			changed = true
			calls = append(calls, d.replace(c, all)...)
		} else {
			calls = append(calls, c)
		}
	}
	return calls, changed
}

// replayable reports whether the message can be sent back verbatim: it was not streamed, and
// has content or tool_calls.
func (d *chatDecoder) replayable(calls []*chatCall) bool {
	if len(calls) > 0 {
		return wire.Lookup(d.verbatim, "tool_calls") != nil
	}
	return !rawjson.IsNull(wire.Lookup(d.verbatim, "content")) && wire.Lookup(d.verbatim, "tool_calls") == nil
}

// textParts returns the thinking and the text of the message.
func (d *chatDecoder) textParts() (parts []providers.Part, refused bool) {
	var m providers.Message
	m.AddText(providers.PartThinking, cmp.Or(d.message.Get("reasoning_content").Text(), d.message.Get("reasoning").Text()))
	content, refusal := d.message.Get("content"), d.message.Get("refusal").Text()
	m.AddText(providers.PartText, content.Text())
	m.Parts = append(m.Parts, contentParts(content.JSON())...)
	m.AddText(providers.PartText, refusal)
	return m.Parts, refusal != ""
}

// raw returns the message as the API sends it when it is not streamed, and takes it back: with
// a role, and with a content if it has nothing else.
func (d *chatDecoder) raw(calls []*chatCall) []byte {
	b := []byte("{")
	if d.message.Get("role") == nil {
		b = rawjson.Text(b, "role", "assistant")
	}
	empty := len(calls) == 0 && rawjson.IsNull(d.message.Get("content").JSON()) && d.message.Get("refusal").Text() == ""
	for name, kid := range d.message.Members() {
		if name != "content" || !empty {
			b = kid.Append(rawjson.Member(b, name))
		}
	}
	if empty {
		b = rawjson.Text(b, "content", "")
	}
	if len(calls) > 0 {
		b = rawjson.Raw(b, "tool_calls", "[")
		for _, c := range calls {
			b = c.Append(rawjson.Element(b))
		}
		b = append(b, ']')
	}
	return append(b, '}')
}
