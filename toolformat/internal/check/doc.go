// Package check validates values against JSON Schema with jsonschema/v5, repairs the arguments of
// models, and puts failures into words.
//
//   - checker.go: Checker
//   - prepare.go, drop.go: a schema made fit for jsonschema/v5; what cannot be checked is dropped
//   - engine.go: a compiled schema that counts the work of a check; most schemas of tools are simple
//     and checked without it
//   - failure.go, explain.go: errors of jsonschema/v5 become an Error. Their messages are parsed:
//     TestLibraryMessages pins them
//   - metaschema.go: the validity of schemas themselves
//   - plain.go: most schemas of tools are seen to be valid without jsonschema/v5
//   - arguments.go: arguments repaired
//   - binder.go, hidden.go: arguments bound to defaults and to hidden values
//
// A Checker keeps compiled engines in a pool, since an engine runs one check at a time. No function
// keeps a goroutine or a lock.
package check
