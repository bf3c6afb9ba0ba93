// Package vocabulary knows the drafts and keywords of JSON Schema: which of them hold schemas,
// which can refuse a value, which apply to the same value as the schema that has them.
//
//   - keyword.go: keywords, and EachSchema and EachChild, which walk schemas
//   - draft.go: the drafts and what a schema declares
//
// A new keyword is a row in each table of keyword.go that it belongs to.
package vocabulary
