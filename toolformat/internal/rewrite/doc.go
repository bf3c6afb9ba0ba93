// Package rewrite makes a JSON Schema fit a provider. A [Dialect] lists passes; each changes a schema
// in place, notes what it did, and keeps every value valid that was valid before. Only strict mode and
// renamed keys change which values are valid; a [KeyMap] undoes the latter in arguments.
//
//   - schema.go: Schema, its bounds and budget, and the passes of each provider, in order
//   - draft.go, type.go: older drafts, foreign type names and OpenAPI
//   - reference.go: what references lead to, and the schemas above one that accepts more than before
//   - inline.go, pathreference.go: references replaced by copies, or made pointers to definitions;
//     schemas that move
//   - root.go, fold.go: an object at the root, without combinators
//   - intersect.go, combine.go: two schemas that both apply, or one of which does, as one
//   - boolean.go: the schemas true and false
//   - keyword.go, describe.go: keywords that a provider requires, and those that it refuses, which
//     become descriptions
//   - key.go, keymap.go: property keys that a provider refuses
//   - hide.go: properties that no caller sees
//   - strict.go: OpenAI's strict mode
//
// A Schema belongs to one goroutine. A new pass is a func(*Schema) in a file of its own and a row in
// the dialects that need it; TestAcceptsWhatItAccepted tries it on made-up and real schemas.
package rewrite
