package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
)

// A chatCall is a call that comes in pieces.
type chatCall struct {
	node                  // as it came
	index int             // the server's; -1: none
	given string          // the id that the server gave it, "" so far for none
	id    string          // the one that it has
	name  string          // as the model wrote it, "" so far for none
	last  int             // the delta that its last piece was in
	told  *providers.Call // for events
}

// A fragment is what a piece of a call says.
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
			f.index = index(value)
		case "id":
			f.id = textOf(value)
		case "function":
			for name, value := range wire.Members(value) {
				switch name {
				case "name":
					f.name = textOf(value)
				case "arguments":
					f.arguments = value
				}
			}
		}
	}
	return f
}

// piece adds a piece to the call that it is of.
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
		c.name, c.told = f.name, &providers.Call{ID: c.id, Name: d.tools.OwnName(d.format, f.name)}
	}
	c.merge(f.call)
	if text := textOf(f.arguments); text != "" {
		d.emit(providers.Event{Type: providers.EventArgumentsDelta, Call: cmp.Or(c.told, &providers.Call{ID: c.id}), Text: text})
	}
}

// callOf finds the call that a piece goes on with; nil when it begins one. By the letter
// that is the call of its index. But there are servers that leave the index out, send -1,
// or 0 for every call; that send the id again, another one with each piece, or none; and
// that repeat the name or send "".
func (d *chatDecoder) callOf(f *fragment) *chatCall {
	var c *chatCall
	recent := d.calls[max(0, len(d.calls)-among):]
	for _, one := range slices.Backward(recent) {
		if f.index >= 0 && one.index == f.index || f.index < 0 && f.id != "" && one.given == f.id {
			c = one
			break
		}
	}
	if c == nil && f.index < 0 && len(recent) > 0 && (f.id == "" || f.name == "") {
		c = recent[len(recent)-1]
	}
	if c == nil || f.name == "" {
		return c
	}
	switch { // a name that is there already: said again, or the next call's
	case c.last == d.deltas, // what stands side by side is never one call
		f.id != "" && c.given != "" && f.id != c.given,
		c.name != "" && f.name != c.name,
		textOf(f.arguments) != "" && c.complete():
		return nil
	}
	return c
}

// arguments is the text of them so far. They are an object where a server does not keep
// to the API.
func (c *chatCall) arguments() string {
	arguments := c.get("function").get("arguments").json()
	if len(arguments) > 0 && arguments[0] == '{' {
		return string(arguments)
	}
	return textOf(arguments)
}

// complete reports whether the arguments are all there.
func (c *chatCall) complete() bool {
	arguments := c.get("function").get("arguments")
	return arguments != nil && bytes.HasSuffix(arguments.raw, []byte("}")) && json.Valid([]byte(c.arguments()))
}

// settle makes the item of the call what the API would have sent whole, and what can be
// sent back: with the id that the call has, arguments, and no index that only a stream
// has. It reports whether anything had to be changed.
func (c *chatCall) settle(streamed bool) (changed bool) {
	if streamed {
		c.cut("index")
		if t := c.child("type"); t.text() == "" {
			t.setText("function")
		}
	}
	if c.get("id").text() != c.id {
		c.child("id").setText(c.id)
		changed = true
	}
	if c.arguments() == "" {
		c.child("function").child("arguments").setText("{}")
		changed = true
	}
	return changed
}

// become makes a call the first of those that were wrapped in it, and returns the others.
func (d *chatDecoder) become(c *chatCall, all []inner) []*chatCall {
	calls := []*chatCall{c}
	for range all[1:] {
		next := &chatCall{id: d.ids.Next("")}
		next.child("id").setText(next.id)
		next.child("type").setText("function")
		calls = append(calls, next)
	}
	for i, in := range all {
		calls[i].name = in.name
		calls[i].child("function").child("name").setText(in.name)
		calls[i].child("function").child("arguments").setText(in.arguments)
	}
	return calls
}
