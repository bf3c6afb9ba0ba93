// Command mcpbridge serves many MCP servers, and native tools, as a single MCP server.
//
// Each command is a function run… that parses its flags, opens the stack of a config, and returns
// an error that decides the exit code. A new command is a row in commands (main.go).
//
// Files: main.go (commands, exit codes, version), program.go (flags, the config that they name, and
// the stack that runs it), serve.go, serve_models.go (/v1 and /chat), stdio.go, daemon.go, windows.go and replace.go
// (the daemon), control.go and ps.go (commands to what runs), service_*.go, memory.go (memory that is returned after a load),
// tools.go (tools, check), convert.go, lint.go, gen.go, ask*.go (a model), chat*.go (conversations at
// a console, approval of calls), clients.go, connect.go, import.go and init.go (config files of MCP clients),
// servers.go and add*.go (the servers of the config).
//
// Packages: config (the file), stack (its sources), internal/terminal, internal/markdown and
// internal/output (what is shown), internal/daemon (windows that share servers), internal/gen,
// internal/clients (the config files of MCP clients), internal/edit (changes of config files),
// internal/registry (servers of the MCP Registry),
// internal/envfile, internal/hint and internal/file (env files, words, files).
// main may import everything, and nothing imports main.
package main
