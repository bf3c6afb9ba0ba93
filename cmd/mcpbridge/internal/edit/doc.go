// Package edit changes single values of config files, of mcpbridge and of other programs, and keeps
// every other byte: comments, order, layout, line ends, a byte order mark.
//
// [Set] and [Remove] find the value in the syntax tree of the file, which is a library's, and change
// the text at its place. Each result is read again: if anything else than the wanted value has
// changed, or the layout is one that they cannot edit, they return an error and no text.
//
// Files: edit.go (Set, Remove), read.go (Read), tree.go (the tree that the formats share), bracket.go
// (values between brackets in every format), json.go, toml.go and yaml.go (the formats), toml_write.go
// and yaml_write.go (their layout), lines.go (lines of a text).
package edit
