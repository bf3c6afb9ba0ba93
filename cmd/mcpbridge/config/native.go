package config

import (
	"encoding/json"
	"os"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
)

// Definitions is one entry of "tools": a glob of files with definitions of native tools, or an
// inline definition.
type Definitions struct {
	Files  string // relative to Config.Dir, or absolute; "" for an inline definition
	Inline []byte // JSON
	Line   int    // of the entry
}

// ContextValue is one entry of "context": a value that no model sees or sets. One field is set; none
// if only profiles have a value.
type ContextValue struct {
	Value   json.RawMessage // "config": the value
	Env     string          // "env:NAME": the environment variable
	Header  string          // "header:NAME": the header of each caller's request
	Claim   string          // "claim:NAME": the claim of each caller
	Session bool            // "session": part of the request for a WebSocket ticket
}

// HasNatives reports whether the config has native tools.
func (c *Config) HasNatives() bool {
	return len(c.Tools) > 0 || slices.ContainsFunc(c.APIs, func(api API) bool { return api.Import != nil })
}

func readTools(d *decoder, n node) ([]Definitions, bool) {
	elements, ok := elementsOf(d, n, "file names and definitions")
	if !ok {
		return nil, false
	}
	var list []Definitions
	for _, m := range elements {
		switch m.value.Kind() {
		case '"':
			if files, ok := readFiles(d, m); ok {
				list = append(list, Definitions{Files: files, Line: d.line(m.offset)})
			}
		case '{':
			list = append(list, Definitions{Inline: m.json(nil), Line: d.line(m.offset)})
		default:
			d.expected(m, "a file name or a definition")
		}
	}
	return list, true
}

// readFiles reads a pattern of files, of which ~/ is the home folder.
func readFiles(d *decoder, n node) (string, bool) {
	text, ok := readText(d, n)
	if below, inHome := strings.CutPrefix(text, "~/"); ok && inHome {
		text, ok = d.home(n)
		text = file.Below(text, below)
	}
	return text, ok
}

// readContext reads "context": the source of each hidden value.
func readContext(d *decoder, n node) (map[string]ContextValue, bool) {
	members, ok := d.members(n, "an object of context values")
	fields := make(map[string]ContextValue, len(members))
	for _, m := range d.distinct(members, strings.ToLower) {
		fields[m.name] = readContextValue(d, m)
		d.hidden = append(d.hidden, hiddenName{m.name, m.path, d.line(m.at), true})
	}
	return fields, ok
}

// distinct returns members with their folded names, and reports names that were folded to the same.
func (d *decoder) distinct(members []node, fold func(string) string) (all []node) {
	seen := map[string]string{}
	for _, m := range members {
		name := fold(m.name)
		if other, taken := seen[name]; taken {
			d.errorf(m.key(), "the same as %s: names match in any letter case", hint.Quote(other))
			continue
		}
		seen[name] = m.name
		m.name = name
		all = append(all, m)
	}
	return all
}

func readContextValue(d *decoder, n node) (field ContextValue) {
	const sources = `expected "from": "config" with a "value", "env:NAME", "header:NAME", "claim:NAME" or "session"`
	if n.value.Kind() != '{' {
		d.errorf(n, sources)
		return field
	}
	var from string
	before := len(d.problems)
	d.object(n, keySet{
		"from":  {take: into(&from, readText)},
		"value": {take: func(d *decoder, v node) { field.Value = v.json(d) }},
	})
	if len(d.problems) > before {
		return field
	}
	source, name, _ := strings.Cut(from, ":")
	switch {
	case from != "" && !slices.Contains([]string{"config", "env", "header", "claim", "session"}, source):
		d.errorf(n, "unknown source %s: %s", hint.Quote(source), sources)
	case from == "config" && field.Value == nil:
		d.errorf(n, `"from": "config" needs a "value"`)
	case from == "config":
	case field.Value != nil:
		d.errorf(n, `only "from": "config" takes a "value"`)
	case source == "env" && checkEnvName(name) == "":
		field.Env = name
		d.getenv(name) // as one that the file refers to
	case source == "header" && checkHeaderName(name) == "":
		field.Header = name
	case source == "claim" && name != "":
		field.Claim = name
		d.claims = append(d.claims, n)
	case from == "session":
		field.Session = true
	default:
		d.errorf(n, sources)
	}
	return field
}

// LookupEnv returns a variable of the environment that the config was loaded in, or of the env file beside
// it.
func (c *Config) LookupEnv(name string) (value string, set bool) {
	if c.getenv == nil {
		return os.LookupEnv(name)
	}
	return c.getenv(name)
}

// HiddenValue returns a hidden value that is the same for all callers.
func (c *Config) HiddenValue(name string) ([]byte, bool) {
	field := c.Context[strings.ToLower(name)]
	if field.Env != "" {
		value, set := c.LookupEnv(field.Env)
		return wire.AppendString(nil, value), set
	}
	return field.Value, field.Value != nil
}

// HiddenHeaders returns the request headers of hidden values, by the names of the values, and the names of
// those that come with a WebSocket ticket.
func (c *Config) HiddenHeaders() (headers map[string]string, ofTickets []string) {
	headers = map[string]string{}
	for name, field := range c.Context {
		if field.Header != "" {
			headers[name] = field.Header
		}
		if field.Session {
			ofTickets = append(ofTickets, name)
		}
	}
	return headers, ofTickets
}

// Claims returns the claims of callers that are hidden values, by the names of the values.
func (c *Config) Claims() map[string]string {
	claims := map[string]string{}
	for name, field := range c.Context {
		if field.Claim != "" {
			claims[name] = field.Claim
		}
	}
	return claims
}

// hideValues hides what profiles and the console have a value of.
func (c *Config) hideValues() {
	all := []map[string]json.RawMessage{c.Console.Context}
	for _, p := range c.Profiles {
		all = append(all, p.Context)
	}
	for _, values := range all {
		for name := range values {
			if c.Context == nil {
				c.Context = map[string]ContextValue{}
			}
			if _, there := c.Context[name]; !there {
				c.Context[name] = ContextValue{}
			}
		}
	}
}

// SetHidden overrides hidden values with pairs NAME=VALUE.
func (c *Config) SetHidden(pairs []string) {
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		if c.Context == nil {
			c.Context = map[string]ContextValue{}
		}
		c.Context[strings.ToLower(name)] = ContextValue{Value: wire.AppendString(nil, value)}
		for _, p := range c.Profiles {
			delete(p.Context, strings.ToLower(name))
		}
	}
}

// json returns n as plain JSON, with its strings filled in if d is not nil.
func (n node) json(d *decoder) json.RawMessage {
	return n.appendJSON(nil, d)
}

func (n node) appendJSON(b []byte, d *decoder) []byte {
	switch v := n.value.(type) {
	case *hujson.Object:
		members, _ := d.membersOf(n)
		return appendMembers(b, members, d)
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
			d.secret(n, false)
			return wire.AppendString(b, text)
		}
	}
	return append(b, n.value.(hujson.Literal)...)
}

// appendMembers appends an object with these members.
func appendMembers(b []byte, members []node, d *decoder) []byte {
	b = append(b, '{')
	for i, m := range members {
		if i > 0 {
			b = append(b, ',')
		}
		b = m.appendJSON(append(wire.AppendString(b, m.name), ':'), d)
	}
	return append(b, '}')
}

// API is one entry of "apis": a backend of native tools.
type API struct {
	Name    string // lower case, as names match in any letter case
	Type    string
	Config  json.RawMessage // the entry with its variables filled in, without those of Import and OAuth
	Import  *Import         // only of type openapi, whose operations become tools; else nil
	OAuth   *OAuth          // how its access tokens are come by; nil means that Config has all credentials
	Secrets []string        // the values of references, which stand in Config
	Line    int
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
	for _, m := range d.distinct(members, func(s string) string { return strings.ToLower(strings.TrimSpace(s)) }) {
		if api, ok := readAPI(d, m); ok {
			apis = append(apis, api)
		}
	}
	return apis, true
}

func readAPI(d *decoder, n node) (API, bool) {
	api := API{Name: n.name, Line: d.line(n.offset)}
	filledIn := len(d.filledIn)
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
	members = api.takeOAuth(d, members)
	api.Config = appendMembers(nil, members, d)
	api.Secrets = slices.Clone(d.filledIn[filledIn:])
	return api, true
}

// readImport reads the keys of type openapi, and returns the others, which are those of type rest.
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
		text, ok := d.textIf(n, "expected a path, got an empty string", isNotEmpty)
		if i.File = text; !IsServerURL(text) { // the stack refuses a URL
			i.File, _ = d.absolute(n, text, ok)
		}
	case '{':
		i.Inline = n.json(nil)
	default:
		d.expected(n, "the name of a file, or an OpenAPI document")
	}
}
