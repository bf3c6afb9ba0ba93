// Package toolformat holds tools as data: how providers, MCP and Acorn write a tool down, how its
// schema is made to fit each of them, how arguments and results are validated, and how failures are
// put into words for a model. It does no I/O, starts no goroutine and knows no protocol library.
//
// What a caller starts with:
//
//   - [Read] reads tool definitions of any [Format], [Encode] writes them in one, and [Lint] tells
//     beforehand how they will fare with each.
//   - [NewChecker] validates values against a schema. [NewBinder] does so for the arguments of a
//     tool, and adds defaults and hidden values.
//   - [SchemaFor] describes a Go type.
//   - [Tool], [Call], [Result] and [Error] are what sources, fronts and providers exchange.
//
// Files:
//
//   - tool.go, error.go: the data
//   - name.go: names that formats allow, and "did you mean"
//   - visible.go: hidden characters
//   - format.go: the formats, wired in one table; a file for each: internal.go, mcp.go,
//     anthropic.go, openai.go, responses.go, ollama.go, gemini.go, acorn.go
//   - read.go: definitions in any format become tools
//   - encode.go, set.go: tools become a [Set] in one format, with notes
//   - lint.go: reports
//   - schema.go: validation and binding, schemas of Go types
//
// Packages below, each importing only those before it:
//
//   - internal/wording: texts for errors and notes
//   - internal/tree: JSON that keeps its order and its spelling
//   - internal/vocabulary: keywords and drafts of JSON Schema
//   - internal/rewrite: the passes that make a schema fit a provider; schema.go lists them
//   - internal/check: validation, repair and binding, on jsonschema/v5
//   - internal/gotype: schemas of Go types
//
// A new format is a file with its format value, a constant and a row of formats in format.go, and a
// rewrite.Dialect if its provider restricts schemas. A new restriction is a pass in
// internal/rewrite and a row of the dialects that need it.
//
// All types are safe for concurrent reading. [Checker], [Binder] and [Set] are immutable.
package toolformat
