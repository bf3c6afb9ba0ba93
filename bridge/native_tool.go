package bridge

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// toolset is an immutable set of tools.
type toolset struct {
	tools  []*nativeTool // in order
	byName map[string]*nativeTool
	plain  *List // for callers without functions
	all    *List // for an Operator
}

// A nativeTool is a Tool that is ready for calls.
type nativeTool struct {
	Tool
	item    Item
	bind    *toolformat.Binder
	output  *toolformat.Checker // of results; nil means no output schema
	loose   bool                // results may have structured content other than an object
	free    bool                // its schema takes every object: arguments pass byte for byte
	limiter *Limiter            // of its own; nil means no limit
}

func (n *Native) newToolset(tools []Tool) (*toolset, error) {
	set := &toolset{byName: make(map[string]*nativeTool, len(tools))}
	for _, t := range tools {
		own, err := n.prepare(t)
		if err != nil {
			return nil, err
		}
		if set.byName[t.Name] != nil {
			return nil, fmt.Errorf("bridge: tool %s: there is another tool of this name", t.Name)
		}
		set.addTool(own)
	}
	return set.finish(), nil
}

func (set *toolset) addTool(t *nativeTool) {
	set.byName[t.Name] = t
	set.tools = append(set.tools, t)
}

// finish makes the lists of a set with all its tools.
func (set *toolset) finish() *toolset {
	set.plain = set.list(func(string) bool { return false })
	set.all = set.list(func(string) bool { return true })
	return set
}

// list returns the tools for a caller with some functions. The names of others stay taken.
func (set *toolset) list(has func(name string) bool) *List {
	items := make([]Item, 0, len(set.tools))
	var unlisted []Item
	for _, t := range set.tools {
		if t.Client && !has(t.Name) {
			unlisted = append(unlisted, t.item)
		} else {
			items = append(items, t.item)
		}
	}
	l := NewList(Tools, items)
	l.unlisted = unlisted
	return l
}

// prepare makes a tool ready for calls. The error says what is wrong with it.
func (n *Native) prepare(t Tool) (*nativeTool, error) {
	switch {
	case t.Name == "":
		return nil, fmt.Errorf("bridge: a tool has no name (its description is %.60q)", t.Description)
	case t.Client && t.Call != nil:
		return nil, t.fault("Client and Call are mutually exclusive: either the caller carries it out, or this program does")
	case !t.Client && t.Call == nil:
		return nil, t.fault("Call is nil: set it, or Client")
	}
	annotations, err := t.annotations()
	if err != nil {
		return nil, err
	}
	own := &nativeTool{Tool: t}
	var notes []toolformat.Note
	if own.bind, notes, err = toolformat.NewBinder(t.inputSchema(), t.Hidden, t.Placeholders); err != nil {
		return nil, t.fault("input schema: %w", err)
	}
	if err := own.hide(); err != nil {
		return nil, err
	}
	if own.item, err = own.newItem(annotations); err != nil {
		return nil, err
	}
	if t.OutputSchema != nil {
		var more []toolformat.Note
		if own.output, more, err = toolformat.NewChecker(t.OutputSchema); err != nil {
			return nil, t.fault("output schema: %w", err)
		}
		own.loose = string(wire.Lookup(t.OutputSchema, "type")) != `"object"`
		notes = append(notes, more...)
	}
	for _, note := range notes {
		n.opts.Log.Warn("a part of the schema is not checked", "tool", t.Name, "path", note.Path, "reason", note.Text)
	}
	own.free = len(t.Hidden) == 0 && takesAll(t.inputSchema())
	own.Timeout = cmp.Or(t.Timeout, 30*time.Second)
	if t.Concurrency > 0 {
		own.limiter = NewLimiter("tool "+t.Name+" is", t.Concurrency, n.opts.Queue).Among(n.opts.Principals)
	}
	return own, nil
}

// hide removes the hidden properties from the definition that callers see.
func (t *nativeTool) hide() error {
	if len(t.Hidden) == 0 {
		return nil
	}
	output, err := toolformat.HideProperties(t.OutputSchema, t.Hidden)
	if err != nil && t.OutputSchema != nil {
		return t.fault("output schema: %w", err)
	}
	verbatim := t.Extra != nil && (t.Format == "" || t.Format == toolformat.FormatMCP)
	if visible := t.bind.Visible(); !bytes.Equal(visible, t.inputSchema()) {
		if t.InputSchema = visible; verbatim {
			t.Extra = wire.SetMember(t.Extra, "inputSchema", visible)
		}
	}
	if t.OutputSchema != nil && !bytes.Equal(output, t.OutputSchema) {
		if t.OutputSchema = output; verbatim {
			t.Extra = wire.SetMember(t.Extra, "outputSchema", output)
		}
	}
	return nil
}

func (t *Tool) fault(format string, args ...any) error {
	return fmt.Errorf("bridge: tool %s: %w", t.Name, fmt.Errorf(format, args...))
}

// anyArguments is the schema of a tool without one.
const anyArguments = `{"type":"object"}`

func (t *Tool) inputSchema() json.RawMessage {
	if t.InputSchema == nil {
		return json.RawMessage(anyArguments)
	}
	return t.InputSchema
}

// takesAll reports whether a schema is {"type": "object"}, which admits any object.
func takesAll(schema json.RawMessage) bool {
	members := maps.Collect(wire.Members(schema))
	return len(members) == 1 && string(members["type"]) == `"object"`
}

// annotations returns the annotations of the tool's definition, with the hints that are known; nil
// without any.
func (t *Tool) annotations() (json.RawMessage, error) {
	said := wire.Lookup(t.Extra, "annotations")
	if string(said) == "null" {
		said = nil
	}
	if said != nil && said[0] != '{' {
		return nil, t.fault(`annotations: expected an object such as {"readOnlyHint": true}, got %.40s`, said)
	}
	all := said
	set := func(hint string, known bool) {
		if known && wire.Lookup(said, hint) == nil {
			if all == nil {
				all = []byte("{}")
			}
			all = wire.SetMember(all, hint, []byte("true"))
		}
	}
	set("idempotentHint", t.Idempotent)
	set("readOnlyHint", t.ReadOnly && string(wire.Lookup(said, "destructiveHint")) != "true")
	return all, nil
}

// newItem returns the tool's definition in MCP's format, with these annotations: Extra where that
// is one, else made of the fields.
func (t *Tool) newItem(annotations json.RawMessage) (Item, error) {
	raw := []byte(t.Extra)
	made := raw == nil || t.Format != "" && t.Format != toolformat.FormatMCP
	if made {
		raw = wire.AppendString([]byte(`{"name":`), t.Name)
		if t.Description != "" {
			raw = wire.AppendString(append(raw, `,"description":`...), t.Description)
		}
		raw = append(append(raw, `,"inputSchema":`...), t.inputSchema()...)
		if t.OutputSchema != nil {
			raw = append(append(raw, `,"outputSchema":`...), t.OutputSchema...)
		}
		if annotations != nil {
			raw = append(append(raw, `,"annotations":`...), annotations...)
		}
		raw = append(raw, '}')
		var lean bytes.Buffer // a file's schema is indented
		if err := json.Compact(&lean, raw); err == nil {
			raw = lean.Bytes()
		}
	}
	if err := wire.Valid(raw); err != nil {
		return Item{}, t.fault("its definition is not JSON: %w", err)
	}
	if !made && annotations != nil {
		raw = wire.SetMember(raw, "annotations", annotations)
	}
	it, err := NewItem(Tools, raw)
	if it.Key != t.Name {
		return Item{}, t.fault("its definition has another name: %.80s", raw)
	}
	if err != nil {
		return Item{}, t.fault("its definition: %w", err)
	}
	if t.Client {
		it.Function = t.Name
	}
	return it, nil
}

// arguments returns the arguments of a call. The error is for the model. A client function gets no
// hidden values.
func (t *nativeTool) arguments(raw json.RawMessage, value func(string) (json.RawMessage, bool)) (json.RawMessage, error) {
	if t.free && len(raw) > 0 && raw[0] == '{' {
		return raw, nil
	}
	if t.Client {
		value = nil
	}
	return t.bind.Bind(t.Name, raw, value)
}
