package config

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
)

// API is one entry of "apis": a backend of native tools.
type API struct {
	Name   string // lower case, as names match in any letter case
	Type   string
	Config json.RawMessage // the entry with its variables filled in, without the keys of Import
	Import *Import         // only of type openapi, whose operations become tools; else nil
	Line   int
}

// Import is an OpenAPI document, and a choice of its operations that become tools.
type Import struct {
	File   string // absolute; "" for an inline document
	Inline []byte // JSON

	Tags       []string // globs of tags; empty means all
	Include    []string // globs of operations; empty means all
	Exclude    []string // globs of operations; overrides Include
	Deprecated bool     // include deprecated operations
}

// readAPIs reads "apis": an object of APIs by name, or a single API, whose name is then default
// (Acorn's configuration has both forms).
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
		d.errorf(n, `expected an object with a "type", such as "rest"`)
		return api, false
	}
	if api.Type == "openapi" {
		api.Import, members = d.readImport(n, members)
	}
	api.Config = appendMembers(nil, members, d)
	return api, true
}

// readImport reads the keys that only an API of type openapi has, and returns the other members,
// which are those of type rest.
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
