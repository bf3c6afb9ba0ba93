// Package gotype describes Go types as JSON Schema, as encoding/json decodes and encodes them.
//
//   - gotype.go: types
//   - field.go: which fields of a struct are in JSON, and what their tags say
//
// It does not build on github.com/google/jsonschema-go (v0.4.2), which mcp-go links. Of the 24
// schemas in the tests that package returns one: it expands a struct that is embedded under a name of
// its own, describes []byte, json.RawMessage, json.Number and types with UnmarshalText by their Go
// structure, ignores the option string, makes slices of arguments nullable, and bounds small integers. It
// accepts interfaces with methods, does not name the field in an error, and does not bound a type of
// 2^17 parts. Fields, tags, refusals and bounds would remain here; it would replace 15 lines.
package gotype
