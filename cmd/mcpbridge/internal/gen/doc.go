// Package gen generates tool definitions from Go functions that are marked //mcpbridge:tool.
//
// [Generate] loads packages, checks the marked functions, and returns a file for each package. The
// schemas come from toolformat, by the same rules as bridge.Func: a function's types are mirrored
// as reflect types.
//
// Files: gen.go (Generate, doc comments, Go source), func.go (functions and their directives),
// mirror.go (types), recursive.go (types that contain themselves), source.go (the generated file).
//
// Packages are loaded by golang.org/x/tools/go/packages, without the bodies of functions. Nothing
// here is used by two goroutines, and none outlives Generate.
package gen
