package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// lentTool is a tool of a client.
type lentTool struct {
	name      string
	raw       []byte // MCP's definition
	untrusted bool   // its results have words of others
	debugging bool   // not for models

	alone    toolformat.Tool // of one tab
	several  toolformat.Tool // of several, with an argument more that chooses one
	argument string          // the name of that argument
}

// metaUntrusted marks the definition and the results of a tool whose results have words of others.
const metaUntrusted = "mcpbridge/untrustedContent"

// lentDefinition is the definition of a lent tool, with the annotations of WebMCP or those of MCP.
type lentDefinition struct {
	Name, Title, Description string
	InputSchema              json.RawMessage
	Annotations              lentAnnotations
}

type lentAnnotations struct {
	UntrustedContentHint, ConsequentialHint, Debugging           bool
	ReadOnlyHint, DestructiveHint, IdempotentHint, OpenWorldHint *bool
}

// newLentTool reads the definition of a tool. The error is for its author; the tool has its name, as far as that is known.
func newLentTool(raw []byte, maxBytes int) (tool *lentTool, err error) {
	tool = &lentTool{}
	var d lentDefinition
	if err := json.Unmarshal(raw, &d); err != nil {
		return tool, fmt.Errorf("its definition is malformed: %w", err)
	}
	tool.name = d.Name
	switch {
	case !isName(d.Name):
		return tool, fmt.Errorf("a name has 1 to 128 of A-Z a-z 0-9 _ . -")
	case d.Description == "":
		return tool, fmt.Errorf("it has no description")
	case len(raw) > maxBytes:
		return tool, fmt.Errorf("its definition has more than %d bytes (lending.toolBytes in the bridge's config)", maxBytes)
	}
	if d.InputSchema == nil {
		d.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	if _, _, err := toolformat.NewBinder(d.InputSchema, nil, nil); err != nil {
		return tool, fmt.Errorf("its input schema: %w", err)
	}
	tool.untrusted, tool.debugging = d.Annotations.UntrustedContentHint, d.Annotations.Debugging
	it, err := bridge.NewItem(bridge.Tools, d.mcp())
	if err == nil {
		it, _, err = bridge.Visible(bridge.Tools, it)
	}
	if err != nil {
		return tool, err
	}
	tool.define(it)
	return tool, nil
}

// mcp returns the definition as MCP has it, compact, as the nodes of a cluster tell each other.
func (d *lentDefinition) mcp() []byte {
	b := wire.AppendString([]byte(`{"name":`), d.Name)
	if d.Title != "" {
		b = wire.AppendString(append(b, `,"title":`...), d.Title)
	}
	b = wire.AppendString(append(b, `,"description":`...), d.Description)
	b = append(append(b, `,"inputSchema":`...), d.InputSchema...)
	if hints := d.Annotations.hints(); len(hints) > len("{}") {
		b = append(append(b, `,"annotations":`...), hints...)
	}
	if d.Annotations.UntrustedContentHint {
		b = append(append(b, `,"_meta":`...), untrustedMeta...)
	}
	var compact bytes.Buffer
	json.Compact(&compact, append(b, '}')) // cannot fail: it is JSON
	return compact.Bytes()
}

// hints returns the annotations of MCP, an object. Those of WebMCP stand in for the ones that are missing.
func (a lentAnnotations) hints() []byte {
	if a.DestructiveHint == nil && a.ConsequentialHint {
		a.DestructiveHint = &a.ConsequentialHint
	}
	if a.OpenWorldHint == nil && a.UntrustedContentHint {
		a.OpenWorldHint = &a.UntrustedContentHint
	}
	hints := []byte("{}")
	for _, h := range []struct {
		name  string
		value *bool
	}{
		{"readOnlyHint", a.ReadOnlyHint}, {"destructiveHint", a.DestructiveHint}, {"idempotentHint", a.IdempotentHint}, {"openWorldHint", a.OpenWorldHint},
	} {
		if h.value != nil {
			hints = wire.SetMember(hints, h.name, fmt.Append(nil, *h.value))
		}
	}
	return hints
}

// define sets what callers see of the tool, whose definition is an item of a list.
func (l *lentTool) define(it bridge.Item) {
	l.name, l.raw, l.alone = it.Key, it.Raw, it.Tool()
	l.chooses()
}

const untrustedMeta = `{"` + metaUntrusted + `":true}`

func isName(name string) bool {
	return name != "" && len(name) <= 128 && !strings.ContainsFunc(name, func(r rune) bool {
		return !('0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || strings.ContainsRune("_.-", r))
	})
}

// chooses sets the definition with an argument that chooses a tab.
func (l *lentTool) chooses() {
	schema := wire.Lookup(l.raw, "inputSchema")
	properties := wire.Lookup(schema, "properties")
	if len(properties) == 0 || properties[0] != '{' {
		properties = []byte("{}")
	}
	for l.argument = "tab"; wire.Lookup(properties, l.argument) != nil; {
		l.argument = "browser_" + l.argument
	}
	properties = wire.SetMember(properties, l.argument, []byte(tabSchema))
	it, _ := bridge.NewItem(bridge.Tools, wire.SetMember(l.raw, "inputSchema", wire.SetMember(schema, "properties", properties))) // cannot fail: it was one before
	l.several = it.Tool()
}

const tabSchema = `{"type":"string","description":"The tab that carries it out, of the resource ` + tabsURI + `; without it, the one that was looked at last."}`

// result returns the result of a call.
func (l *lentTool) result(raw json.RawMessage) *toolformat.Result {
	if l.untrusted && len(raw) > 0 && raw[0] == '{' {
		meta := wire.Lookup(raw, "_meta")
		if len(meta) == 0 || meta[0] != '{' {
			meta = []byte("{}")
		}
		raw = wire.SetMember(raw, "_meta", wire.SetMember(meta, metaUntrusted, []byte("true")))
	}
	return &toolformat.Result{JSON: raw}
}
