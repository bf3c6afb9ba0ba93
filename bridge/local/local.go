// Package local is the kind of native tool that runs on this machine: a Go function
// that the program has registered, a command, or a WebAssembly module in a sandbox.
//
// A definition says which of the three:
//
//	{"function": "CurrentTime"}
//	{"command": ["git", "log", "--max-count={count}", "--", "{path}"], "dir": "site"}
//	{"wasm": "plugins/slug.wasm"}
//
// A command is an argument vector, never a shell, so that an argument of a call changes
// nothing but the element that it stands in. It runs as this program's user and may do
// what that user may; a WebAssembly module has its standard streams, a clock and random
// numbers, and nothing else.
package local

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/process"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const kindName = "local"

// Kind is the kind local, without functions of the program and without a supervisor: see Options. It needs no API in
// the config; its spec is a Spec.
var Kind = Options{}.Kind()

// Options are what a program adds to the kind.
type Options struct {
	// Supervisor ends the groups of commands when the program is killed; nil means that nothing
	// does. Its owner closes it after the backends.
	Supervisor *process.Supervisor

	// Functions are the Go functions that definitions may name, such as those of bridge.Func, by
	// name. CurrentTime is always among them unless it is replaced here. The map must not change
	// any more.
	Functions map[string]bridge.Tool
}

// Kind returns the kind local with the options.
func (o Options) Kind() bridge.NativeKind {
	functions := map[string]bridge.Tool{"CurrentTime": currentTime()}
	maps.Copy(functions, o.Functions)
	return bridge.NativeKind{Name: kindName, Open: func(cfg bridge.BackendConfig) (bridge.Backend, error) {
		if cfg.Config != nil {
			if _, err := bridge.DecodeSpec[API](cfg.Subject(kindName), cfg.Config); err != nil {
				return nil, err
			}
		}
		return &backend{functions: functions, supervisor: o.Supervisor, dir: cfg.Dir, log: cfg.Log, cache: wazero.NewCompilationCache()}, nil
	}}
}

// An API is what a config may say of the kind, which has no settings.
type API struct {
	Type string `json:"type,omitempty" enum:"local"`
}

// A backend makes local tools.
type backend struct {
	functions  map[string]bridge.Tool
	supervisor *process.Supervisor
	dir        string
	log        *slog.Logger

	specs bridge.SpecDecoder[Spec]
	cache wazero.CompilationCache // tools that share a file share what it compiles to

	mu      sync.Mutex // guards what follows
	modules []*module
}

// Tool implements bridge.Backend. A spec that is nil names the function that is called
// as the tool is, as Acorn's type local does. A module is compiled here, which takes a
// moment: about a second for one of 3 MB. The notes name placeholders that are no
// properties.
func (b *backend) Tool(definition toolformat.Tool, spec json.RawMessage) (bridge.Tool, []toolformat.Note, error) {
	if len(spec) == 0 || string(spec) == "null" {
		spec = json.RawMessage("{}")
	}
	s, err := b.specs.Decode(kindName, spec)
	if err == nil {
		err = s.check()
	}
	if err != nil {
		return bridge.Tool{}, nil, about(err)
	}
	var t bridge.Tool
	var notes []toolformat.Note
	switch {
	case s.Command != nil:
		t, notes, err = b.command(definition, &s)
	case s.Wasm != "":
		t, err = b.wasm(definition, &s)
	default:
		t, err = b.function(definition, &s)
	}
	if err != nil {
		return bridge.Tool{}, nil, about(err)
	}
	return t, notes, nil
}

// about says which kind an error is about, once.
func about(err error) error {
	if strings.HasPrefix(err.Error(), kindName) {
		return err
	}
	return fmt.Errorf("%s: %w", kindName, err)
}

// function is the tool of a registered Go function. What the definition leaves open is
// as the function has it.
func (b *backend) function(definition toolformat.Tool, s *Spec) (bridge.Tool, error) {
	name := cmp.Or(s.Function, definition.Name)
	f, found := b.functions[name]
	if !found || f.Call == nil {
		return bridge.Tool{}, fmt.Errorf("there is no Go function %q; those that there are: %s (a program has a command, a WebAssembly module has wasm)",
			name, strings.Join(slices.Sorted(maps.Keys(b.functions)), ", "))
	}
	definition.Description = cmp.Or(definition.Description, f.Description)
	if definition.InputSchema == nil {
		definition.InputSchema = f.InputSchema
	}
	if definition.OutputSchema == nil {
		definition.OutputSchema = f.OutputSchema
	}
	f.Tool, f.Timeout = definition, cmp.Or(time.Duration(s.Timeout), f.Timeout, defaultTimeout)
	return f, nil
}

// Close frees the modules.
func (b *backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for _, m := range b.modules {
		errs = append(errs, m.close())
	}
	b.modules = nil
	return errors.Join(append(errs, b.cache.Close(context.Background()))...)
}
