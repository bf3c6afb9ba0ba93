package local

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/process"
	"github.com/mcpbridge/mcpbridge/bridge/process/sandbox"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Spec describes the function, command or module of a tool: exactly one of the three, or none of
// them for the Go function with the name of the tool.
type Spec struct {
	// Function is the name of a Go function that the program has registered.
	Function string `json:"function,omitempty"`

	// Command is a program and its arguments, run without a shell. The program is looked up in
	// PATH; one with a path separator is relative to the folder of the config. In the following
	// elements, {name} stands for the text of that argument: a string as it is, anything else as
	// JSON. {{name}} stands for {name}; other braces stay. An element is never split or joined:
	//
	//   - An element that begins with a placeholder is positional: the argument is required and
	//     must not make the element begin with a dash (on Windows, also a slash), which would
	//     be an option, except after an element "--" of the program that gets it: the one of env or
	//     kubectl exec is not. For the value of an option, write "--name={name}".
	//   - Any other element is omitted if an argument in it is absent or null.
	//
	// An argument that contains a NUL, or makes an element longer than 128 KiB, is refused. A
	// placeholder where the program would execute the argument is an error: in the text or script
	// of an interpreter (sh -c, python -m, awk, sed, sqlite3), in an option such as find -exec or
	// git -c, in place of the program that env or xargs, the package that npx or pipx, or the image
	// that docker runs, or of a package whose scripts run as npm or pip installs it. So is a program
	// that would execute the arguments on standard input. The programs in common use are known.
	//
	// Other users of the machine may see the elements: secrets belong on standard input.
	Command []string `json:"command,omitempty"`

	// Wasm is the file of a WebAssembly module, relative to the folder of the config. It must be
	// a command for WASI preview 1, which exports _start. It gets the arguments as JSON on
	// standard input.
	Wasm string `json:"wasm,omitempty"`

	// For a command.
	Stdin *bool             `json:"stdin,omitempty"` // all arguments as JSON on standard input, which is empty otherwise; default true
	Dir   string            `json:"dir,omitempty"`   // working directory, relative to the folder of the config, its default
	Env   map[string]string `json:"env,omitempty"`   // in addition to the variables that process.Environ passes on: PATH, HOME, locale and the like, never a key

	// Limits bound the resources of each process of a command; Linux only.
	Limits *Limits `json:"limits,omitempty"`

	// Sandbox bounds what the processes of a command may do; Linux only.
	Sandbox *Sandbox `json:"sandbox,omitempty"`

	// For a command and a module.
	MaxBytes   bridge.Size `json:"maxBytes,omitempty"`   // bounds standard output; the rest is dropped, and the result says so; default 1 MiB
	MaxRunning int         `json:"maxRunning,omitempty"` // concurrent calls, further ones wait (bridge.Tool.Concurrency); default 4

	// MaxMemory bounds the linear memory of a run of a module, rounded up to pages of 64 KiB;
	// default 64 MiB. A Go module near the limit collects garbage until the timeout.
	MaxMemory bridge.Size `json:"maxMemory,omitempty"`

	Timeout bridge.Duration `json:"timeout,omitempty"` // bounds a call; default 5 s
}

// Limits are the process.Limits of a spec, which apply to each process of a command. 0 means no
// limit.
type Limits struct {
	Memory   bridge.Size     `json:"memory,omitempty"`   // address space in bytes; Go, Java and Node reserve far more than they use
	CPU      bridge.Duration `json:"cpu,omitempty"`      // CPU time, rounded up to seconds
	Files    int             `json:"files,omitempty"`    // open files at a time
	FileSize bridge.Size     `json:"fileSize,omitempty"` // size of a file that it writes, in bytes
}

// A Sandbox is the sandbox.Policy of a spec; {} grants nothing but what programs need. Paths are
// relative to the folder of the config.
type Sandbox struct {
	Read      []string    `json:"read,omitempty"`      // files and folders that it may read
	Write     []string    `json:"write,omitempty"`     // files and folders that it may read and change
	Network   bool        `json:"network,omitempty"`   // whether it may use the network
	Processes int         `json:"processes,omitempty"` // most processes and threads at a time
	Memory    bridge.Size `json:"memory,omitempty"`    // most memory of each process
}

// The defaults and bounds of a Spec.
const (
	defaultTimeout   = 5 * time.Second
	defaultMaxBytes  = 1 << 20
	defaultRunning   = 4
	defaultMaxMemory = 64 << 20
	highestMemory    = 1<<31 - 1 // 2 GiB, half of what WebAssembly can address
	highestBytes     = 1 << 30
	highestRunning   = 1000
)

// check refuses keys that are mutually exclusive or out of range, and fills in the defaults.
func (s *Spec) check() error {
	forms := 0
	for _, given := range []bool{s.Function != "", s.Command != nil, s.Wasm != ""} {
		if given {
			forms++
		}
	}
	isCommand, isFunction := s.Command != nil, s.Command == nil && s.Wasm == ""
	switch {
	case forms > 1:
		return errors.New("function, command and wasm are mutually exclusive: expected one of them, got more than one")
	case !isCommand && (s.Stdin != nil || s.Dir != "" || s.Env != nil || s.Limits != nil || s.Sandbox != nil):
		return errors.New("stdin, dir, env, sandbox and limits are for a command")
	case isFunction && (s.MaxBytes != 0 || s.MaxRunning != 0):
		return errors.New("maxBytes and maxRunning are for a command or a WebAssembly module")
	case s.Wasm == "" && s.MaxMemory != 0:
		return errors.New("maxMemory is for a WebAssembly module")
	}
	if err := s.Limits.check(); err != nil {
		return fmt.Errorf("limits: %w", err)
	}
	if s.Sandbox != nil && s.Limits != nil && s.Limits.Memory != 0 {
		return errors.New("limits.memory and sandbox are mutually exclusive: a sandbox has a memory of its own")
	}
	if s.Sandbox != nil && s.Sandbox.Processes < 0 {
		return fmt.Errorf("sandbox.processes: expected a number above 0, got %d", s.Sandbox.Processes)
	}
	for name, value := range s.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			return fmt.Errorf("env: %q is not a valid variable: its name must not be empty or contain =, and neither name nor value may contain a NUL", native.Shorten(name))
		}
	}
	s.MaxBytes = cmp.Or(s.MaxBytes, defaultMaxBytes)
	s.MaxRunning = cmp.Or(s.MaxRunning, defaultRunning)
	s.MaxMemory = cmp.Or(s.MaxMemory, defaultMaxMemory)
	for _, limit := range []struct {
		key            string
		value, highest int
	}{
		{"maxBytes", int(s.MaxBytes), highestBytes},
		{"maxRunning", s.MaxRunning, highestRunning},
		{"maxMemory", int(s.MaxMemory), highestMemory},
	} {
		if limit.value < 0 || limit.value > limit.highest {
			return fmt.Errorf("%s: expected 1 to %d, got %d", limit.key, limit.highest, limit.value)
		}
	}
	return nil
}

// tool returns the tool of a command or a module that call runs.
func (s *Spec) tool(definition toolformat.Tool, call func(context.Context, json.RawMessage) (*toolformat.Result, error)) bridge.Tool {
	return bridge.Tool{Tool: definition, Timeout: cmp.Or(time.Duration(s.Timeout), defaultTimeout), Concurrency: s.MaxRunning, Call: call}
}

func (l *Limits) check() error {
	if l == nil {
		return nil
	}
	if !process.CanLimit {
		return errors.New("not supported on this system: remove them, or run on Linux")
	}
	if l.Files < 0 {
		return fmt.Errorf("files: expected a number above 0, got %d", l.Files)
	}
	return nil
}

// ofProcess returns the limits as package process has them.
func (l *Limits) ofProcess() process.Limits {
	if l == nil {
		return process.Limits{}
	}
	return process.Limits{Memory: uint64(l.Memory), CPU: time.Duration(l.CPU), Files: uint64(l.Files), FileSize: uint64(l.FileSize)}
}

// policy returns the policy of a sandbox, whose paths are relative to dir.
func (s *Sandbox) policy(dir string) (*sandbox.Policy, error) {
	if s == nil {
		return nil, nil
	}
	if err := sandbox.Supported(); err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	p := &sandbox.Policy{Network: s.Network, Processes: s.Processes, Memory: int64(s.Memory)}
	for _, grant := range []struct {
		from []string
		to   *[]string
	}{{s.Read, &p.Read}, {s.Write, &p.Write}} {
		for _, path := range grant.from {
			path, err := filepath.Abs(below(dir, path))
			if err != nil {
				return nil, fmt.Errorf("sandbox: %w", err)
			}
			*grant.to = append(*grant.to, path)
		}
	}
	return p, nil
}
