// Package openapi turns OpenAPI documents, 3.0 to 3.2, and those of Swagger 2.0 into definitions of
// REST tools: every operation becomes a definition with a spec of the kind rest.
//
// It is not a kind of native tool and makes no calls. In the config it is an import, an API of type
// openapi whose other keys are those of rest. It lives beside the kinds because it writes what rest
// reads, and reads JSON with bridge/wire, which toolformat must not import.
//
//   - openapi.go: [Import] and its options
//   - operation.go, security.go: which operations are imported, which auth they require
//   - definition.go, encoding.go, body.go: an operation becomes a definition, its parameters and
//     bodies become arguments in the styles of the document
//   - schema.go, members.go: its schemas become JSON Schema 2020-12
//   - yaml.go: a document becomes JSON
//   - swagger.go: what Swagger 2.0 has in other places than OpenAPI
//
// Import may be called from many goroutines; it starts none.
//
// A document is read part by part, as it is written: what is wrong in one operation, or in what it
// refers to, costs that operation. Answers are not read at all.
//
// # Libraries
//
// github.com/getkin/kin-openapi, the most used library for such documents in Go, is not used: one
// broken reference makes it refuse a document, it loses the order of properties and the digits of
// numbers, and it links a second validator that takes 5 ms of every start of a program. The conversion
// of YAML to JSON is this package's own, on the parser go.yaml.in/yaml, since libraries for it lose the
// same, or expand aliases without a limit.
package openapi
