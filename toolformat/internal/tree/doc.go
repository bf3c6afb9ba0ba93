// Package tree reads and writes JSON as a tree that keeps what a Go map would lose: the order of
// members, and each string and number as it was written.
//
//   - node.go: Node and the ways to read it, to change it, and to write it as JSON; exact numbers
//     within bounds
//   - parse.go: Parse and ParseAll, which refuse what could be read in two ways
//   - pointer.go: Path, JSON Pointers (RFC 6901), and Index for large objects
//
// Nodes may be read from many goroutines at once, but changed only by one that does not share them.
package tree
