package config

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
)

// API is one entry of "apis": what native tools are made on.
type API struct {
	Name   string // lower case: names match in any letter case
	Type   string
	Config json.RawMessage // the whole entry, filled in, but for the keys of Import
	Import *Import         // of type openapi, which brings tools of its own; nil for others
	Line   int
}

// Import is a document whose operations become tools, and which of them.
type Import struct {
	File   string // absolute; "" for one that stands in the config
	Inline []byte // JSON

	Tags       []string // patterns of tags
	Include    []string // patterns of names
	Exclude    []string // patterns of names
	Deprecated bool     // deprecated operations as well
}

// readAPIs is apis: an object of named ones, or a single one, which is then called
// default (Acorn's configuration has both forms).
func readAPIs(d *decoder, n node) ([]API, bool) {
	members, ok := d.members(n, "an object of APIs")
	if !ok {
		return nil, false
	}
	if slices.ContainsFunc(members, func(m node) bool { return m.name == "type" && m.value.Kind() == '"' }) {
		n.name = "default"
		members = []node{n}
	}
	var apis []API
	seen := map[string]string{}
	for _, m := range members {
		name := strings.ToLower(strings.TrimSpace(m.name))
		if other, taken := seen[name]; taken {
			d.errorf(m.key(), "the same as %s: names match in any letter case", hint.Quote(other))
			continue
		}
		seen[name] = m.name
		if api, ok := readAPI(d, m); ok {
			api.Name = name
			apis = append(apis, api)
		}
	}
	return apis, true
}

func readAPI(d *decoder, n node) (API, bool) {
	api := API{Line: d.line(n.offset)}
	members, _ := d.membersOf(n)
	for _, m := range members {
		if m.name == "type" && m.value.Kind() == '"' {
			api.Type, _ = readText(d, m)
		}
	}
	if api.Type = strings.ToLower(api.Type); api.Type == "" {
		d.errorf(n, `expected an object with a "type": rest, graphql, sql or openapi`)
		return api, false
	}
	if api.Type == "openapi" {
		api.Import, members = d.readImport(n, members)
	}
	api.Config = appendMembers(nil, members, d)
	return api, true
}

// readImport takes the keys that only an API of type openapi has, and returns the other
// members: those of rest.
func (d *decoder) readImport(n node, members []node) (*Import, []node) {
	i := &Import{}
	keys := keySet{
		"document":   {take: i.readDocument},
		"tags":       {take: into(&i.Tags, listOf(readGlob))},
		"include":    {take: into(&i.Include, listOf(readGlob))},
		"exclude":    {take: into(&i.Exclude, listOf(readGlob))},
		"deprecated": {take: into(&i.Deprecated, readBool)},
	}
	var others []node
	named := false
	for _, m := range members {
		k, ours := keys[m.name]
		switch {
		case !ours:
			others = append(others, m)
		case !m.null():
			named = named || m.name == "document"
			k.take(d, m)
		}
	}
	if !named {
		d.errorf(n, `type openapi needs a "document": the name of a file, or the document itself`)
	}
	return i, others
}

func (i *Import) readDocument(d *decoder, n node) {
	switch n.value.Kind() {
	case '"':
		i.File, _ = readPath(d, n)
	case '{':
		i.Inline = n.json(nil)
	default:
		d.expected(n, "the name of a file, or an OpenAPI document")
	}
}
