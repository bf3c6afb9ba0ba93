// Package toolargs makes command-line flags of a tool's input schema, and the tool's arguments of them.
//
// Files: property.go (what a schema says of a property, and how a word becomes its value), toolargs.go
// (the flags).
package toolargs
