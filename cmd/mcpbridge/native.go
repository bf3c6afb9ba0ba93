package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/graphql"
	"github.com/mcpbridge/mcpbridge/bridge/local"
	"github.com/mcpbridge/mcpbridge/bridge/process"
	"github.com/mcpbridge/mcpbridge/bridge/rest"
	"github.com/mcpbridge/mcpbridge/bridge/sql"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// nativeKinds are the kinds of native tools, a line each.
func nativeKinds(supervisor *process.Supervisor) []bridge.NativeKind {
	return []bridge.NativeKind{
		rest.Kind,
		graphql.Kind,
		sql.Kind,
		local.Kind(local.Options{Supervisor: supervisor}),
	}
}

// natives makes the native tools of a config. What cannot be one is left out and said.
type natives struct {
	cfg      *Config
	log      *slog.Logger
	kinds    []bridge.NativeKind
	backends map[string]bridge.Backend // by kind and API
	tools    []bridge.Tool
	leftOut  []string // a line each
	warnings []string
}

func loadNatives(cfg *Config, log *slog.Logger, supervisor *process.Supervisor) *natives {
	n := &natives{cfg: cfg, log: log, kinds: nativeKinds(supervisor), backends: map[string]bridge.Backend{}}
	for _, d := range cfg.Tools {
		if d.Inline != nil {
			n.read(fmt.Sprintf("%s:%d", cfg.Path, d.Line), d.Inline, false)
			continue
		}
		pattern := d.Files
		if !filepath.IsAbs(pattern) {
			pattern = filepath.Join(cfg.Dir, pattern)
		}
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			n.fault("%s:%d: no file is called %s", cfg.Path, d.Line, d.Files)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				n.fault("%s:%d: %v", cfg.Path, d.Line, err)
				continue
			}
			if short, err := filepath.Rel(cfg.Dir, file); err == nil && !filepath.IsAbs(d.Files) {
				file = short
			}
			n.read(file, data, true)
		}
	}
	return n
}

func (n *natives) fault(format string, args ...any) {
	n.leftOut = append(n.leftOut, fmt.Sprintf(format, args...))
}

// read takes the definitions of a file, or the one that stands in the config.
func (n *natives) read(where string, data []byte, isFile bool) {
	reading, err := toolformat.Read(data, "")
	if err != nil {
		n.fault("%s:%v", where, err)
		return
	}
	for _, f := range reading.Faults {
		for _, note := range f.Notes {
			note.Tool = ""
			n.fault("%s: tool %s: %s", where, f.Tool, note)
		}
	}
	for _, t := range reading.Tools {
		at := where
		if offset := bytes.Index(data, t.Extra); isFile && offset >= 0 {
			at = fmt.Sprintf("%s:%d", where, 1+bytes.Count(data[:offset], []byte("\n")))
		}
		notes, err := n.add(t)
		if err != nil {
			n.fault("%s: tool %s: %v", at, t.Name, err)
		}
		for _, note := range notes {
			note.Tool = ""
			n.warnings = append(n.warnings, fmt.Sprintf("%s: tool %s: %s", at, t.Name, note))
		}
	}
}

// add makes the tool of a definition.
func (n *natives) add(t toolformat.Tool) ([]toolformat.Note, error) {
	if slices.ContainsFunc(n.tools, func(other bridge.Tool) bool { return other.Name == t.Name }) {
		return nil, fmt.Errorf("there is another tool of this name before it")
	}
	if name := strings.ToLower(t.Name); name == "internalsavechatmessage" || name == "internalgetchatmessages" {
		return nil, nil // Acorn's own, which nobody lists or calls by name
	}
	kind, api, spec, err := n.owner(t)
	if err != nil {
		return nil, err
	}
	backend, err := n.backend(kind, api)
	if err != nil {
		return nil, err
	}
	tool, notes, err := backend.Tool(t, spec)
	if err != nil {
		return notes, err
	}
	tool.Context, notes = n.context(t, notes)
	n.tools = append(n.tools, tool)
	return notes, nil
}

// owner is the kind of a definition, the API that it is made on, and what it says for
// that kind. An Acorn entry says it in type and api, one of ours in kind, in api, the
// name of an API, and in a member that is called like the kind.
func (n *natives) owner(t toolformat.Tool) (kind *bridge.NativeKind, api *API, spec json.RawMessage, err error) {
	word, _ := wire.Text(wire.Lookup(t.Extra, "kind"))
	if word == "" && t.Format == toolformat.FormatAcorn {
		word, _ = wire.Text(wire.Lookup(t.Extra, "type"))
	}
	if word == "" && wire.Lookup(t.Extra, "parameters") != nil {
		word = "client" // a bare function, as Acorn's configuration lists those of the browser
	}
	entry := wire.Lookup(t.Extra, "api")
	name, named := wire.Text(entry)
	switch word {
	case "":
		return nil, nil, nil, fmt.Errorf(`nothing says what carries it out: expected a "kind" (known: %s)`, n.kindNames())
	case "client":
		return nil, nil, nil, fmt.Errorf("a client function, which the client of a connection carries out: this version of mcpbridge has no such clients")
	case "api":
		if name, named = wire.Text(wire.Lookup(entry, "name")); !named {
			name = "default"
		}
		spec = wire.CutMember(bytes.Clone(entry), "name")
	default:
		if spec = wire.Lookup(t.Extra, word); spec == nil {
			spec = json.RawMessage("{}")
		}
	}
	if word == "api" || named {
		if api, err = n.api(name); err != nil {
			return nil, nil, nil, err
		}
		word = api.Type
	}
	if kind = n.kind(word); kind == nil {
		return nil, nil, nil, fmt.Errorf("unknown kind %s (known: %s)", quoteShort(word), n.kindNames())
	}
	if api == nil { // it may be the one that is not named
		api, _ = n.api("default")
		if api != nil && n.kind(api.Type) != kind {
			api = nil
		}
	}
	return kind, api, spec, nil
}

func (n *natives) api(name string) (*API, error) {
	var names []string
	for i := range n.cfg.APIs {
		if n.cfg.APIs[i].Name == strings.ToLower(strings.TrimSpace(name)) {
			return &n.cfg.APIs[i], nil
		}
		names = append(names, n.cfg.APIs[i].Name)
	}
	known := strings.Join(names, ", ")
	if names == nil {
		known = "there are none"
	}
	return nil, fmt.Errorf(`its API %s is not in "apis" of the config (%s)`, quoteShort(name), known)
}

func (n *natives) kind(word string) *bridge.NativeKind {
	for i, k := range n.kinds {
		if k.Name == word || slices.Contains(k.Aliases, word) {
			return &n.kinds[i]
		}
	}
	return nil
}

func (n *natives) kindNames() string {
	names := []string{"client"}
	for _, k := range n.kinds {
		names = append(names, k.Name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// backend is the backend of an API, made when its first tool needs it.
func (n *natives) backend(kind *bridge.NativeKind, api *API) (bridge.Backend, error) {
	cfg := bridge.BackendConfig{Dir: n.cfg.Dir, Log: n.log}
	if api != nil {
		cfg.Name, cfg.Config = api.Name, api.Config
	}
	key := kind.Name + " " + cfg.Name
	if b, ok := n.backends[key]; ok {
		return b, nil
	}
	b, err := kind.Open(cfg)
	if err != nil {
		if api != nil {
			err = fmt.Errorf("%s:%d: %w", n.cfg.Path, api.Line, err)
		}
		return nil, err
	}
	n.backends[key] = b
	return b, nil
}

// context are the arguments of a tool that no model sees: those of its own list, and
// those that the config has a value for. It warns of one that is no property.
func (n *natives) context(t toolformat.Tool, notes []toolformat.Note) ([]string, []toolformat.Note) {
	var names, properties []string
	for name := range wire.Members(wire.Lookup(t.InputSchema, "properties")) {
		properties = append(properties, name)
	}
	isProperty := func(name string) bool {
		return slices.ContainsFunc(properties, func(p string) bool { return strings.EqualFold(p, name) })
	}
	for raw := range wire.Elements(wire.Lookup(t.Extra, "context")) {
		name, _ := wire.Text(raw)
		if !isProperty(name) {
			notes = append(notes, toolformat.Note{Path: "/context", Rule: "context", Text: fmt.Sprintf("%s is no property of the tool", quoteShort(name))})
		}
		names = append(names, name)
	}
	for _, property := range properties {
		_, global := n.cfg.Context[strings.ToLower(property)]
		if global && !slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, property) }) {
			names = append(names, property)
		}
	}
	return names, notes
}

// contextValue is a hidden value that is the same for all callers.
func (c *Config) contextValue(name string) ([]byte, bool) {
	field, ok := c.Context[strings.ToLower(name)]
	if field.Env != "" {
		value, set := os.LookupEnv(field.Env)
		return wire.AppendString(nil, value), set
	}
	return field.Value, ok
}

// setContext takes hidden values of the command line, NAME=VALUE each.
func (c *Config) setContext(pairs []string) {
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		if c.Context == nil {
			c.Context = map[string]ContextField{}
		}
		c.Context[strings.ToLower(name)] = ContextField{Value: wire.AppendString(nil, value)}
	}
}

func (n *natives) close() {
	for _, b := range n.backends {
		b.Close()
	}
}
