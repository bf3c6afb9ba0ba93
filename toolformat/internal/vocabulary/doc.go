// Package vocabulary knows the drafts and keywords of JSON Schema: which of them hold schemas,
// which can refuse a value, which apply to the same value as the schema that has them. It walks
// schemas and values.
//
// A new keyword is a row in each table that it belongs to.
package vocabulary
