// Package rewrite makes a JSON Schema fit a provider. A [Dialect] lists passes; each changes a schema
// in place, notes what it did, and keeps every value valid that was valid before. Only strict mode and
// renamed keys change which values are valid; a [KeyMap] undoes the latter in arguments.
//
//   - dialect.go: the passes of each provider, in order
//   - schema.go: Schema, the bounds and the budget
//   - draft.go, typename.go, nullable.go: older drafts, foreign type names and OpenAPI
//   - reference.go, move.go: what references lead to, and schemas that move
//   - inline.go, pathreference.go: references replaced by copies, or made pointers to definitions
//   - root.go, fold.go, union.go: an object at the root, without combinators
//   - intersect.go, group.go, sibling.go: two schemas that both apply, as one
//   - combine.go, boolean.go, shape.go: allOf, oneOf, const; true and false; required keywords
//   - keyword.go, describe.go: unsupported keywords, moved into descriptions
//   - relax.go: schemas above one that accepts more than before
//   - key.go, state.go, keymap.go: property keys that a provider refuses
//   - strict.go: OpenAI's strict mode
//   - hide.go, type.go: hidden properties, types
//
// A Schema belongs to one goroutine. A new pass is a func(*Schema) in a file of its own and a row in
// the dialects that need it; TestAcceptsWhatItAccepted tries it on made-up and real schemas.
package rewrite
