package stack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/graphql"
	"github.com/mcpbridge/mcpbridge/bridge/local"
	"github.com/mcpbridge/mcpbridge/bridge/process"
	"github.com/mcpbridge/mcpbridge/bridge/rest"
	"github.com/mcpbridge/mcpbridge/bridge/sql"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/mcpclient/oauth"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// nativeKinds returns the kinds of native tools. A new kind is a line here.
func nativeKinds(supervisor *process.Supervisor) []bridge.NativeKind {
	return []bridge.NativeKind{
		rest.Kind,
		graphql.Kind,
		sql.Kind,
		local.Options{Supervisor: supervisor}.Kind(),
	}
}

// A nativeLoader makes the native tools of a config, and reports invalid definitions.
type nativeLoader struct {
	cfg      *config.Config
	own      func() []string // cfg.Own, which costs a look at each file of definitions
	log      *slog.Logger
	roots    trust
	store    oauth.Store // of the access tokens of APIs; nil means that they are not kept
	kinds    []bridge.NativeKind
	apis     []config.API
	backends map[string]bridge.Backend // by kind and name of the API
	logins   map[string]*oauth.Client  // by API, of those whose access tokens the bridge gets for itself
	tools    []bridge.Tool
	names    map[string]bool // of tools
	users    map[string]int  // of tools, by the name of their API
	uses     []string        // names of hidden values that tools have
	chat     chatFunctions
	leftOut  []string          // one line each
	broken   map[string]string // those of leftOut that are whole files, by what names these
	warnings []string
	advice   []string // what could be better, although nothing is wrong
	unused   []string // the same of hidden values, which only check says, as a server that uses one may be disabled
}

func loadNatives(cfg *config.Config, log *slog.Logger, roots trust, supervisor *process.Supervisor, store oauth.Store) *nativeLoader {
	n := &nativeLoader{cfg: cfg, own: sync.OnceValue(cfg.Own), log: log, roots: roots, store: store, logins: map[string]*oauth.Client{}, kinds: nativeKinds(supervisor), apis: slices.Clone(cfg.APIs), backends: map[string]bridge.Backend{}, names: map[string]bool{}, users: map[string]int{}, broken: map[string]string{}}
	imported := n.importAll() // first, as definitions may use the same APIs
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
	misspelt, unused := cfg.UnusedContext(n.uses)
	n.warnings, n.unused = append(n.warnings, misspelt...), unused
	return n
}

func (n *nativeLoader) fault(format string, args ...any) {
	n.leftOut = append(n.leftOut, fmt.Sprintf(format, args...))
}

// faultOfFile is fault for a whole file, or a pattern of files.
func (n *nativeLoader) faultOfFile(name, format string, args ...any) {
	n.fault(format, args...)
	n.broken[name] = n.leftOut[len(n.leftOut)-1]
}

func (n *nativeLoader) add(t toolformat.Tool) ([]toolformat.Note, error) {
	word := kindWord(t)
	if err := n.validate(t, word); err != nil {
		return nil, err
	}
	notes, err := n.addValid(t, word)
	if err != nil {
		return notes, err
	}
	return slices.Concat(n.ignored(t, word), notes), nil
}

func (n *nativeLoader) addValid(t toolformat.Tool, word string) ([]toolformat.Note, error) {
	if word == kindClient {
		return n.keep(bridge.Tool{Tool: t, Client: true}, nil)
	}
	kind, api, spec, err := n.owner(t, word)
	if err != nil {
		return nil, err
	}
	return n.make(t, kind, api, spec)
}

// make adds a tool of a kind, on an API unless that is nil.
func (n *nativeLoader) make(t toolformat.Tool, kind *bridge.NativeKind, api *config.API, spec json.RawMessage) ([]toolformat.Note, error) {
	backend, err := n.backend(kind, api)
	if err != nil {
		return nil, err
	}
	tool, notes, err := backend.Tool(t, spec)
	if err != nil {
		return notes, err
	}
	before := len(n.tools)
	notes, err = n.keep(tool, notes)
	if api != nil {
		n.users[api.Name] += len(n.tools) - before
	}
	return notes, err
}

// keep adds a tool, unless it is invalid beside the others.
func (n *nativeLoader) keep(tool bridge.Tool, notes []toolformat.Note) ([]toolformat.Note, error) {
	var err error
	if tool.Tool, err = objectSchema(tool.Tool); err != nil {
		return nil, err
	}
	more := n.hide(&tool)
	tool.Extra = listed(tool.Tool)
	if _, err := bridge.NewNative(bridge.NativeOptions{}, tool); err != nil { // alone, so that the others do not fail with it
		return notes, errors.New(strings.TrimPrefix(err.Error(), "bridge: tool "+tool.Name+": "))
	}
	if is, err := n.chat.add(tool); is {
		return nil, err // its schema need not describe the arguments
	}
	if n.names[tool.Name] {
		return nil, errTwice
	}
	n.names[tool.Name] = true
	n.tools = append(n.tools, tool)
	return slices.Concat(notes, more, unchecked(tool.Tool), unknownRequired(tool.InputSchema)), nil
}

// listed returns the members of a definition that clients see. Those of MCP's format are passed on
// verbatim, without the keys for the bridge.
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

var errTwice = errors.New("an earlier tool has the same name")

// kindClient is the kind of tools that the caller runs (bridge.Tool.Client).
const kindClient = "client"

// kindWord returns the kind of a definition: the name of a kind, "api" for an Acorn entry of that
// type, or "".
func kindWord(t toolformat.Tool) string {
	word, _ := wire.Text(wire.Lookup(t.Extra, "kind"))
	if word == "" && t.Format == toolformat.FormatAcorn {
		word, _ = wire.Text(wire.Lookup(t.Extra, "type"))
	}
	if word == "" && wire.Lookup(t.Extra, "parameters") != nil {
		return kindClient // a bare function, as in Acorn's list of browser functions
	}
	return word
}

// owner returns the kind of a definition, its API, and its spec for that kind. In an Acorn entry,
// "api" has the API and the spec; in ours, "api" names the API and the key of the kind has the
// spec.
func (n *nativeLoader) owner(t toolformat.Tool, word string) (kind *bridge.NativeKind, api *config.API, spec json.RawMessage, err error) {
	entry := wire.Lookup(t.Extra, "api")
	name, named := wire.Text(entry)
	switch word {
	case "":
		return nil, nil, nil, fmt.Errorf(`no kind: expected a "kind" (known: %s)`, n.namesWith(kindClient))
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
			return nil, nil, nil, fmt.Errorf("its API %s has the unknown type %s (known: %s)", hint.Quote(name), hint.Quote(api.Type), n.namesWith("openapi"))
		}
		if kind = n.kind(word); kind != nil && kind != n.kind(api.Type) {
			return nil, nil, nil, fmt.Errorf("its API %s has type %s, but the tool has kind %s", hint.Quote(name), api.Type, word)
		}
		word = api.Type
	}
	if kind = n.kind(word); kind == nil {
		return nil, nil, nil, fmt.Errorf("unknown kind %s (known: %s)", hint.Quote(word), n.namesWith(kindClient))
	}
	if api == nil { // it may be the default one
		api, _ = n.api("default")
		if api != nil && n.kind(api.Type) != kind {
			api = nil
		}
	}
	return kind, api, spec, nil
}

func (n *nativeLoader) api(name string) (*config.API, error) {
	var names []string
	for i := range n.apis {
		api := &n.apis[i]
		if api.Name == strings.ToLower(strings.TrimSpace(name)) {
			if api.Type == "openapi" {
				return nil, fmt.Errorf("its API %s was left out", hint.Quote(name))
			}
			return api, nil
		}
		names = append(names, api.Name)
	}
	known := strings.Join(names, ", ")
	if names == nil {
		known = "there are no APIs"
	}
	return nil, fmt.Errorf(`its API %s is not in "apis" of the config (%s)`, hint.Quote(name), known)
}

func (n *nativeLoader) kind(word string) *bridge.NativeKind {
	for i, k := range n.kinds {
		if k.Name == word || slices.Contains(k.Aliases, word) {
			return &n.kinds[i]
		}
	}
	return nil
}

// namesWith lists the kinds and another word.
func (n *nativeLoader) namesWith(another string) string {
	names := []string{another}
	for _, k := range n.kinds {
		names = append(names, k.Name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// backend returns the backend of an API, which it opens for the first tool.
func (n *nativeLoader) backend(kind *bridge.NativeKind, api *config.API) (bridge.Backend, error) {
	cfg := bridge.BackendConfig{Dir: n.cfg.Dir, Own: n.own, Log: n.log, Roots: n.roots.pool, Hidden: slices.Sorted(maps.Keys(n.cfg.Context))}
	if api != nil {
		cfg.Name, cfg.Config, cfg.Secrets = api.Name, api.Config, api.Secrets
	}
	key := kind.Name + " " + cfg.Name
	if b, ok := n.backends[key]; ok {
		return b, nil
	}
	err := n.authorize(api, &cfg)
	var b bridge.Backend
	if err == nil {
		b, err = kind.Open(cfg)
	}
	if err != nil {
		if api != nil {
			err = fmt.Errorf("%s:%d: %w", n.cfg.Path, api.Line, err)
		}
		return nil, err
	}
	n.backends[key] = b
	return b, nil
}

// authorize sets the credentials of an API that wants OAuth.
func (n *nativeLoader) authorize(api *config.API, cfg *bridge.BackendConfig) error {
	if api == nil || api.OAuth == nil {
		return nil
	}
	url, _ := wire.Text(wire.Lookup(api.Config, "url"))
	access := accessTo(url, api.OAuth, n.roots)
	access.API, access.Store = true, n.store
	if api.OAuth.OfCaller {
		e, err := newExchange(n.cfg, access)
		if err != nil {
			return fmt.Errorf("api %s: oauth: %w", api.Name, err)
		}
		cfg.Credentials = e.ofCall()
		return nil
	}
	login, err := oauth.New(access)
	if err != nil {
		return fmt.Errorf("api %s: oauth: %w", api.Name, err)
	}
	cfg.Credentials, n.logins[api.Name] = login, login
	return nil
}

func (n *nativeLoader) close() {
	for _, b := range n.backends {
		b.Close()
	}
}
