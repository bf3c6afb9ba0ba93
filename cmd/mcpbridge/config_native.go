package main

import (
	"encoding/json"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// Definitions is one entry of "tools": a file or a glob of files with definitions of
// native tools, or one that stands in the config.
type Definitions struct {
	Files  string // relative to Config.Dir; "" for an inline one
	Inline []byte // JSON
	Line   int    // of the entry
}

// API is one entry of "apis": what native tools are made on.
type API struct {
	Name   string // lower case: names match in any letter case
	Type   string
	Config json.RawMessage // the whole entry, filled in
	Line   int
}

// ContextField is one entry of "context": a value that no model sees or sets.
type ContextField struct {
	Value json.RawMessage // from "config"
	Env   string          // from "env:NAME"
}

func readDefinitionsList(d *configDecoder, n configNode) ([]Definitions, bool) {
	arr, ok := n.value.(*hujson.Array)
	if !ok {
		d.expected(n, "an array of files and definitions")
		return nil, false
	}
	var list []Definitions
	for i, e := range arr.Elements {
		m := n.element(i, e)
		switch m.value.Kind() {
		case '"':
			if text, ok := readText(d, m); ok {
				list = append(list, Definitions{Files: text, Line: d.line(m.offset)})
			}
		case '{':
			list = append(list, Definitions{Inline: m.json(nil), Line: d.line(m.offset)})
		default:
			d.expected(m, "the name of a file, or a definition")
		}
	}
	return list, true
}

// readAPIs is apis: an object of named ones, or a single one, which is then called
// default (Acorn's configuration has both forms).
func readAPIs(d *configDecoder, n configNode) ([]API, bool) {
	members, ok := d.members(n, "an object of APIs")
	if !ok {
		return nil, false
	}
	kinds := map[string]bool{}
	for _, m := range members {
		kinds[m.name] = m.value.Kind() == '"'
	}
	if kinds["type"] && kinds["url"] {
		n.name = "default"
		members = []configNode{n}
	}
	var apis []API
	seen := map[string]string{}
	for _, m := range members {
		name := strings.ToLower(strings.TrimSpace(m.name))
		if other, taken := seen[name]; taken {
			d.errorf(m.key(), "the same as %s: names match in any letter case", quoteShort(other))
			continue
		}
		seen[name] = m.name
		config := m.json(d)
		kind, ok := wire.Text(wire.Lookup(config, "type"))
		if m.value.Kind() != '{' || !ok {
			d.errorf(m, `expected an object with a "type", such as rest, graphql or sql`)
			continue
		}
		apis = append(apis, API{Name: name, Type: strings.ToLower(kind), Config: config, Line: d.line(m.offset)})
	}
	return apis, true
}

// readContext is context: where each hidden value comes from.
func readContext(d *configDecoder, n configNode) (map[string]ContextField, bool) {
	members, ok := d.members(n, "an object of context values")
	fields := make(map[string]ContextField, len(members))
	for _, m := range members {
		var field ContextField
		var from string
		value := json.RawMessage(nil)
		d.object(m, configKeys{
			"from":  {take: into(&from, readText)},
			"value": {take: func(d *configDecoder, v configNode) { value = v.json(d) }},
		})
		source, name, named := strings.Cut(from, ":")
		switch {
		case from == "config" && value == nil:
			d.errorf(m, `expected a "value" beside "from": "config"`)
		case from == "config":
			field.Value = value
		case source == "env" && named && name != "":
			field.Env = name
		case source == "header" || source == "claim":
			d.errorf(m, "from %s is not supported by this version of mcpbridge", source)
		default:
			d.errorf(m, `expected "from": "config" with a "value", or "env:NAME"`)
		}
		fields[strings.ToLower(m.name)] = field
	}
	return fields, ok
}

// json is a node as plain JSON. With a decoder its strings are filled in.
func (n configNode) json(d *configDecoder) json.RawMessage {
	return n.appendJSON(nil, d)
}

func (n configNode) appendJSON(b []byte, d *configDecoder) []byte {
	switch v := n.value.(type) {
	case *hujson.Object:
		b = append(b, '{')
		for i, m := range v.Members {
			if i > 0 {
				b = append(b, ',')
			}
			name := m.Name.Value.(hujson.Literal).String()
			b = append(wire.AppendString(b, name), ':')
			b = configNode{path: memberPath(n.path, name), name: name, at: m.Name.StartOffset, offset: m.Value.StartOffset, value: m.Value.Value}.appendJSON(b, d)
		}
		return append(b, '}')
	case *hujson.Array:
		b = append(b, '[')
		for i, e := range v.Elements {
			if i > 0 {
				b = append(b, ',')
			}
			b = n.element(i, e).appendJSON(b, d)
		}
		return append(b, ']')
	}
	if d != nil && n.value.Kind() == '"' {
		if text, ok := readText(d, n); ok {
			return wire.AppendString(b, text)
		}
	}
	return append(b, n.value.(hujson.Literal)...)
}
