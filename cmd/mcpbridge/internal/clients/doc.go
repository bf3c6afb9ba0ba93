// Package clients knows the config files of MCP clients: where they lie on each system, how the
// bridge is registered in them, and how their servers are taken over.
//
// A client is an entry of a table, as data: a new one needs no code. The functions take the text of a
// file and return the new one, so that nothing is written here; package edit keeps every other byte.
//
// Files: client.go (what a client is), table.go (all of them), machine.go (systems, and the files of
// clients there), entry.go (the bridge's entry, and moved servers), server.go (reading servers),
// bundle.go (those of MCP bundles), variable.go (the variables in them), import.go (what a config takes
// over), secret.go (the secrets in it).
package clients
