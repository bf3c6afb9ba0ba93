// Package local is the kind of native tool that runs on this machine: a Go function that the
// program has registered, a command, or a WebAssembly module in a sandbox.
//
// A definition has one of the three:
//
//	{"function": "CurrentTime"}
//	{"command": ["git", "log", "--max-count={count}", "--", "{path}"], "dir": "site"}
//	{"wasm": "plugins/slug.wasm"}
//
// A command is an argument vector, never a shell, so that an argument of a call changes only the
// element that it stands in. It runs as this program's user and may do what that user may. A
// WebAssembly module has its standard streams, a clock and random numbers, and nothing else; see
// [Spec].
//
//   - local.go, spec.go: the kind, its backends, the spec of a definition, Go functions
//   - command.go, template.go: a command, its elements, and what is odd about it
//   - interpreter.go: which elements of a command are code
//   - wasm.go, module.go: a WebAssembly module and the reading of its file
//   - output.go: what a program writes becomes a result
//
// A backend and its tools may be used from many goroutines. A call of a command starts two
// goroutines, which it waits for, and its process group has ended when it returns. A module runs on
// the goroutine of its call. Close frees the compiled modules; it comes after the last call.
//
// # The library
//
// Modules run on github.com/tetratelabs/wazero: of the WebAssembly runtimes for Go it is the one
// without cgo, so that the bridge stays a single binary for every system, and it compiles to
// machine code. It bounds a module's memory and time; its tables are bounded in module.go.
package local
