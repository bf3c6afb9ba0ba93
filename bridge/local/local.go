package local

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/process"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const kindName = "local"

// Kind is the kind local without Options. It needs no API in the config; the spec of a definition
// is a [Spec].
var Kind = Options{}.Kind()

// Options are what a program adds to the kind.
type Options struct {
	// Supervisor ends the process groups of commands when the program is killed; nil means that
	// they go on. Its owner closes it after the backends.
	Supervisor *process.Supervisor

	// Functions are the Go functions that definitions may use, by name; see bridge.Func. They
	// come in addition to CurrentTime, which they may replace. The map must not change afterwards.
	Functions map[string]bridge.Tool
}

// Kind returns the kind local with the options.
func (o Options) Kind() bridge.NativeKind {
	functions := map[string]bridge.Tool{"CurrentTime": currentTime()}
	maps.Copy(functions, o.Functions)
	return bridge.NativeKind{Name: kindName, Spec: reflect.TypeFor[Spec](), Open: func(cfg bridge.BackendConfig) (bridge.Backend, error) {
		if cfg.Config != nil {
			type api struct { // has no settings
				Type string `json:"type,omitempty" enum:"local"`
			}
			if _, err := bridge.DecodeSpec[api](cfg.Subject(kindName), cfg.Config); err != nil {
				return nil, err
			}
		}
		return &backend{functions: functions, supervisor: o.Supervisor, dir: cfg.Dir, own: cfg.Own, log: cfg.Log, hidden: cfg.Hidden, cache: wazero.NewCompilationCache()}, nil
	}}
}

// A backend makes local tools.
type backend struct {
	functions  map[string]bridge.Tool
	supervisor *process.Supervisor
	dir        string
	own        func() []string // as in bridge.BackendConfig
	log        *slog.Logger
	hidden     []string // names of the config's hidden values

	specs bridge.SpecDecoder[Spec]
	cache wazero.CompilationCache // tools that share a file share what it compiles to

	mu      sync.Mutex // guards what follows
	modules []*module
}

// Tool implements bridge.Backend. A nil spec stands for the function with the name of the tool, as
// Acorn's type local does. A module is compiled here, which takes about a second for one of 3 MB.
// The notes name placeholders that are not properties.
func (b *backend) Tool(definition toolformat.Tool, spec json.RawMessage) (bridge.Tool, []toolformat.Note, error) {
	if len(spec) == 0 || string(spec) == "null" {
		spec = json.RawMessage("{}")
	}
	s, err := b.specs.Decode(kindName, spec)
	if err != nil {
		return bridge.Tool{}, nil, err
	}
	var t bridge.Tool
	var notes []toolformat.Note
	err = s.check()
	switch {
	case err != nil:
	case s.Command != nil:
		t, notes, err = b.command(definition, &s)
	case s.Wasm != "":
		t, err = b.wasm(definition, &s)
	default:
		t, err = b.function(definition, &s)
	}
	if err != nil {
		return bridge.Tool{}, nil, fmt.Errorf("%s: %w", kindName, err)
	}
	return t, notes, nil
}

// function returns the tool of a registered Go function, which also provides what the definition
// leaves open.
func (b *backend) function(definition toolformat.Tool, s *Spec) (bridge.Tool, error) {
	name := cmp.Or(s.Function, definition.Name)
	f, found := b.functions[name]
	if !found || f.Call == nil {
		return bridge.Tool{}, fmt.Errorf("unknown Go function %q (known: %s); a program needs a command, a WebAssembly module needs wasm",
			native.Shorten(name), strings.Join(slices.Sorted(maps.Keys(b.functions)), ", "))
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

// currentTime returns the function CurrentTime, with Acorn's description. It ignores arguments,
// such as context that every tool gets.
func currentTime() bridge.Tool {
	return bridge.Tool{
		Tool: toolformat.Tool{
			Name:        "CurrentTime",
			Description: "Current date and time in ISO 8601 format",
			InputSchema: json.RawMessage(`{"type":"object","properties":{}}`),
		},
		Timeout:  defaultTimeout,
		ReadOnly: true,
		Call: func(context.Context, json.RawMessage) (*toolformat.Result, error) {
			return toolformat.TextResult(time.Now().Format(time.RFC3339), false), nil
		},
	}
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
