package local

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Spec is what a definition says of its function, command or module: exactly one of
// the three, or nothing, which is the function that is called as the tool is.
type Spec struct {
	// Function is the name of a Go function that the program has registered.
	Function string `json:"function,omitempty"`

	// Command is a program and its arguments, run without a shell. The program is
	// looked up in PATH; one with a separator in it is relative to the folder of the
	// config. In the elements behind it {name} stands for the text of that argument: a
	// string as it is, anything else as JSON. {{name}} is {name} itself; other braces
	// stay. An element is never split and never joined:
	//
	//   - One that begins with a placeholder is positional: the argument must be there,
	//     and must not make it begin with a dash (on Windows nor with a slash), which
	//     would be an option. Behind an element "--" it may. For a value of an option
	//     write "--name={name}".
	//   - Any other one is left out when an argument of it is absent or null.
	//
	// An argument with a NUL in it, or one that makes an element longer than 128 KiB,
	// is refused. Program text for an interpreter (sh -c, python -c, perl -e) must not
	// have placeholders, as an argument would be code there.
	//
	// Other users of the machine may see the elements: secrets belong on standard input.
	Command []string `json:"command,omitempty"`

	// Wasm is the file of a WebAssembly module for WASI preview 1 that is a command,
	// one that exports _start. It is relative to the folder of the config. The
	// arguments are on its standard input.
	Wasm string `json:"wasm,omitempty"`

	// Of a command.
	Stdin *bool             `json:"stdin,omitempty"` // the arguments, all of them, as JSON on standard input; default true, else it is empty
	Dir   string            `json:"dir,omitempty"`   // working directory, relative to the folder of the config, which is the default
	Env   map[string]string `json:"env,omitempty"`   // beside what process.Environ lets through: PATH, HOME, locale and the like, never a key

	// Limits bound what each process of a command may take; on Linux alone.
	Limits *Limits `json:"limits,omitempty"`

	// Of a command and a module.
	MaxBytes   bridge.Size `json:"maxBytes,omitempty"`   // of standard output; what is more is dropped, and the result says so; default 1 MiB
	MaxRunning int         `json:"maxRunning,omitempty"` // at once, further calls wait (bridge.Tool.Concurrency); default 4

	// MaxMemory is how many bytes of linear memory a run of a module may have, rounded
	// up to pages of 64 KiB; default 64 MiB.
	MaxMemory bridge.Size `json:"maxMemory,omitempty"`

	Timeout bridge.Duration `json:"timeout,omitempty"` // of a call; default 5 s
}

// The defaults and bounds of a Spec.
const (
	defaultTimeout   = 5 * time.Second
	defaultMaxBytes  = 1 << 20
	defaultRunning   = 4
	defaultMaxMemory = 64 << 20
	mostMemory       = 1<<31 - 1 // 2 GiB, half of what WebAssembly can address
	mostBytes        = 1 << 30
	mostRunning      = 1000
)

// check says what does not go together, and fills in the defaults.
func (s *Spec) check() error {
	forms := 0
	for _, there := range []bool{s.Function != "", s.Command != nil, s.Wasm != ""} {
		if there {
			forms++
		}
	}
	isCommand, isFunction := s.Command != nil, s.Command == nil && s.Wasm == ""
	switch {
	case forms > 1:
		return errors.New("expected one of function, command and wasm, got more than one")
	case !isCommand && (s.Stdin != nil || s.Dir != "" || s.Env != nil || s.Limits != nil):
		return errors.New("stdin, dir, env and limits are for a command")
	case isFunction && (s.MaxBytes != 0 || s.MaxRunning != 0):
		return errors.New("maxBytes and maxRunning are for a command or a WebAssembly module")
	case s.Wasm == "" && s.MaxMemory != 0:
		return errors.New("maxMemory is for a WebAssembly module")
	}
	if err := s.Limits.check(); err != nil {
		return fmt.Errorf("limits: %w", err)
	}
	for name, value := range s.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			return fmt.Errorf("env: %.40q cannot be a variable: a name is not empty and without =, and neither has a NUL", name)
		}
	}
	s.MaxBytes = cmp.Or(s.MaxBytes, defaultMaxBytes)
	s.MaxRunning = cmp.Or(s.MaxRunning, defaultRunning)
	s.MaxMemory = cmp.Or(s.MaxMemory, defaultMaxMemory)
	for _, limit := range []struct {
		key            string
		value, highest int
	}{
		{"maxBytes", int(s.MaxBytes), mostBytes},
		{"maxRunning", s.MaxRunning, mostRunning},
		{"maxMemory", int(s.MaxMemory), mostMemory},
	} {
		if limit.value < 0 || limit.value > limit.highest {
			return fmt.Errorf("%s: expected 1 to %d, got %d", limit.key, limit.highest, limit.value)
		}
	}
	return nil
}

// tool is the tool of a command or a module, which call runs.
func (s *Spec) tool(definition toolformat.Tool, call func(context.Context, json.RawMessage) (*toolformat.Result, error)) bridge.Tool {
	return bridge.Tool{Tool: definition, Timeout: cmp.Or(time.Duration(s.Timeout), defaultTimeout), Concurrency: s.MaxRunning, Call: call}
}
