// Package registry reads a server.json of the MCP Registry (schema 2025-12-11) and says how its server
// is run or reached.
//
// What a server.json says is not trusted: only the programs that packages are run with are run, and its
// texts refer to no variable of the environment but those that the result names.
//
// Files: registry.go (the file), entry.go (what becomes of a package or a remote), input.go (values that
// the file asks for).
package registry
