// Package openapi turns OpenAPI documents, 3.0 or 3.1, into definitions of REST tools: every
// operation becomes a definition with a spec of the kind rest.
//
// It is not a kind of native tool and makes no calls. In the config it is an import, an API of type
// openapi whose other keys are those of rest. It lives beside the kinds because it writes what rest
// reads, and reads JSON with bridge/wire, which toolformat must not import.
//
//   - openapi.go: [Import] and its options; which operations are imported, which auth they require
//   - definition.go: an operation becomes a definition
//   - schema.go: its schemas become JSON Schema 2020-12
//   - yaml.go: a document becomes JSON
//
// Import may be called from many goroutines; it starts none.
//
// # Libraries
//
// github.com/getkin/kin-openapi parses the document, resolves its references and knows the defaults
// of the standard: it is the most used library for that in Go, supports 3.1, and requires little
// more than a YAML parser and JSON Schema. It loses the order of properties and the digits of
// numbers, which are therefore read from the document itself. The conversion of YAML to JSON is
// this package's own, on the parser that kin-openapi brings, since libraries for it lose the same,
// or expand aliases without a limit.
package openapi
