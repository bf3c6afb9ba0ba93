package stack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/graphql"
	"github.com/mcpbridge/mcpbridge/bridge/local"
	"github.com/mcpbridge/mcpbridge/bridge/process"
	"github.com/mcpbridge/mcpbridge/bridge/rest"
	"github.com/mcpbridge/mcpbridge/bridge/sql"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// nativeKinds are the kinds of native tools, a line each.
func nativeKinds(supervisor *process.Supervisor) []bridge.NativeKind {
	return []bridge.NativeKind{
		rest.Kind,
		graphql.Kind,
		sql.Kind,
		local.Options{Supervisor: supervisor}.Kind(),
	}
}

// natives makes the native tools of a config. What cannot be one is left out and said.
type natives struct {
	cfg      *config.Config
	log      *slog.Logger
	kinds    []bridge.NativeKind
	apis     []config.API
	backends map[string]bridge.Backend // by kind and API
	tools    []bridge.Tool
	chat     chatFunctions
	leftOut  []string // a line each
	warnings []string
}

func loadNatives(cfg *config.Config, log *slog.Logger, supervisor *process.Supervisor) *natives {
	n := &natives{cfg: cfg, log: log, kinds: nativeKinds(supervisor), apis: slices.Clone(cfg.APIs), backends: map[string]bridge.Backend{}}
	imported := n.importAll() // first, since definitions may stand on the same APIs
	for _, d := range cfg.Tools {
		if d.Inline != nil {
			n.read(fmt.Sprintf("%s:%d", cfg.Path, d.Line), d.Inline, false)
		} else {
			n.readFiles(d)
		}
	}
	for _, i := range imported {
		n.addImported(i)
	}
	return n
}

func (n *natives) fault(format string, args ...any) {
	n.leftOut = append(n.leftOut, fmt.Sprintf(format, args...))
}

// add makes the tool of a definition.
func (n *natives) add(t toolformat.Tool) ([]toolformat.Note, error) {
	word := kindWord(t)
	if err := n.faulty(t, word); err != nil {
		return nil, err
	}
	if word == kindClient {
		return n.keep(bridge.Tool{Tool: t, Client: true}, nil)
	}
	kind, api, spec, err := n.owner(t, word)
	if err != nil {
		return nil, err
	}
	return n.make(t, kind, api, spec)
}

// make makes a tool of a kind, on an API if it has one.
func (n *natives) make(t toolformat.Tool, kind *bridge.NativeKind, api *config.API, spec json.RawMessage) ([]toolformat.Note, error) {
	backend, err := n.backend(kind, api)
	if err != nil {
		return nil, err
	}
	tool, notes, err := backend.Tool(t, spec)
	if err != nil {
		return notes, err
	}
	return n.keep(tool, notes)
}

// keep takes a tool that is made, unless it cannot be one of the others.
func (n *natives) keep(tool bridge.Tool, notes []toolformat.Note) ([]toolformat.Note, error) {
	var err error
	if tool.Tool, err = objectSchema(tool.Tool); err != nil {
		return nil, err
	}
	names, more := n.context(tool.Tool)
	tool.Hidden, tool.Extra = names, listed(tool.Tool)
	if _, err := bridge.NewNative(bridge.NativeOptions{}, tool); err != nil { // alone, so that others are not lost with it
		return notes, errors.New(strings.TrimPrefix(err.Error(), "bridge: tool "+tool.Name+": "))
	}
	if place := n.chat.place(tool.Name); place != nil {
		return nil, n.chat.take(place, tool) // its schema need not say what it is called with
	}
	if slices.ContainsFunc(n.tools, func(other bridge.Tool) bool { return other.Name == tool.Name }) {
		return nil, errTwice
	}
	n.tools = append(n.tools, tool)
	return slices.Concat(notes, more, unchecked(tool.Tool), unknownRequired(tool.InputSchema)), nil
}

// listed is what clients see of a definition in MCP's own spelling, which is passed on as it
// came: all but what it says for the bridge.
func listed(t toolformat.Tool) json.RawMessage {
	if t.Format != toolformat.FormatMCP {
		return t.Extra
	}
	public := t.Extra
	for _, key := range []string{"kind", "api", "context", kindWord(t)} {
		if wire.Lookup(public, key) != nil {
			public = wire.CutMember(public, key)
		}
	}
	return public
}

// errTwice is why of two tools of one name the second is left out.
var errTwice = errors.New("there is another tool of this name before it")

// kindClient is the kind of what the caller carries out: bridge.Tool.Client.
const kindClient = "client"

// kindWord says what carries a definition out: the name of a kind; "api" in an Acorn entry
// of that type; "" when nothing says it.
func kindWord(t toolformat.Tool) string {
	word, _ := wire.Text(wire.Lookup(t.Extra, "kind"))
	if word == "" && t.Format == toolformat.FormatAcorn {
		word, _ = wire.Text(wire.Lookup(t.Extra, "type"))
	}
	if word == "" && wire.Lookup(t.Extra, "parameters") != nil {
		return kindClient // a bare function, as Acorn's configuration lists those of the browser
	}
	return word
}

// owner is the kind of a definition whose word is known, the API that it is made on, and
// what it says for that kind. An Acorn entry says it in api, one of ours in api, the name of
// an API, and in a member that is called like the kind.
func (n *natives) owner(t toolformat.Tool, word string) (kind *bridge.NativeKind, api *config.API, spec json.RawMessage, err error) {
	entry := wire.Lookup(t.Extra, "api")
	name, named := wire.Text(entry)
	switch word {
	case "":
		return nil, nil, nil, fmt.Errorf(`nothing says what carries it out: expected a "kind" (known: %s)`, n.kindNames())
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
		if n.kind(api.Type) == nil {
			return nil, nil, nil, fmt.Errorf("its API %s is of an unknown type, %s (known: %s)", hint.Quote(name), hint.Quote(api.Type), n.typeNames())
		}
		if kind = n.kind(word); kind != nil && kind != n.kind(api.Type) {
			return nil, nil, nil, fmt.Errorf("its API %s is of type %s, and the tool of kind %s", hint.Quote(name), api.Type, word)
		}
		word = api.Type
	}
	if kind = n.kind(word); kind == nil {
		return nil, nil, nil, fmt.Errorf("unknown kind %s (known: %s)", hint.Quote(word), n.kindNames())
	}
	if api == nil { // it may be the one that is not named
		api, _ = n.api("default")
		if api != nil && n.kind(api.Type) != kind {
			api = nil
		}
	}
	return kind, api, spec, nil
}

func (n *natives) api(name string) (*config.API, error) {
	var names []string
	for i := range n.apis {
		api := &n.apis[i]
		if api.Name == strings.ToLower(strings.TrimSpace(name)) {
			if api.Type == "openapi" {
				return nil, fmt.Errorf("its API %s is left out", hint.Quote(name))
			}
			return api, nil
		}
		names = append(names, api.Name)
	}
	known := strings.Join(names, ", ")
	if names == nil {
		known = "there are none"
	}
	return nil, fmt.Errorf(`its API %s is not in "apis" of the config (%s)`, hint.Quote(name), known)
}

func (n *natives) kind(word string) *bridge.NativeKind {
	for i, k := range n.kinds {
		if k.Name == word || slices.Contains(k.Aliases, word) {
			return &n.kinds[i]
		}
	}
	return nil
}

// kindNames are the kinds of definitions, typeNames the types of APIs.
func (n *natives) kindNames() string { return n.namesWith(kindClient) }
func (n *natives) typeNames() string { return n.namesWith("openapi") }

func (n *natives) namesWith(another string) string {
	names := []string{another}
	for _, k := range n.kinds {
		names = append(names, k.Name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// backend is the backend of an API, made when its first tool needs it.
func (n *natives) backend(kind *bridge.NativeKind, api *config.API) (bridge.Backend, error) {
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

func (n *natives) close() {
	for _, b := range n.backends {
		b.Close()
	}
}
