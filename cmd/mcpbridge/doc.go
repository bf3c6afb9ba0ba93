// Command mcpbridge serves many MCP servers, and native tools, as a single MCP server.
//
// Each command is a function run… that parses its flags, opens the stack of a config, and returns
// an error that decides the exit code. A new command is a row in commands (main.go).
//
// # Files
//
//   - main.go: commands, exit codes, version. program.go: flags, the config that they name, and the stack that
//     runs it. start.go: connecting its servers. once.go: connecting those that a command has added.
//   - serve.go, with reload.go (a config that changes), entry.go (who is let in), serve_models.go (/v1 and
//     /chat), console*.go (the console). stdio.go. lend.go.
//   - daemon.go, windows.go, replace.go: the daemon. service_*.go: systemd starts it.
//   - control.go, control_policy.go: the commands that a daemon or serve carries out. ps*.go, open.go,
//     approvals.go, stop_calls.go: sending them. noted.go: what servers with "pin" define is noted.
//   - cluster.go, nodes.go: this process as a node. cluster_*.go: what the nodes of a cluster share.
//   - tools.go, tools_call.go, prompts.go, resources.go, lists.go: what servers have. args.go: their arguments
//     as flags. check*.go, policy.go, pins.go, audit.go: what is wrong, allowed, held back, and was called.
//   - ask*.go: a question to a model. chat*.go: conversations at a console, approval of calls.
//   - servers.go, add*.go: the servers of the config. clients.go, connect.go, import.go, init.go: config files
//     of MCP clients. login.go, token.go, secret.go: credentials. git.go: whether git would commit one.
//   - convert.go, lint.go, gen.go: definitions of tools. completion*.go: what shells complete.
//   - browser.go: opening a page. memory.go: memory that is returned after a load.
//
// # Packages
//
// config has the file, stack its sources. Below internal, terminal, markdown and output have what is shown; daemon
// the windows that share servers, logbook the latest lines of a log; clients the config files of MCP clients, edit
// changes of them and of the config, registry the servers of the MCP Registry; gen tools of Go functions, toolargs
// their arguments as flags; secret and tokens what is kept of either; diagnosis why a server does not work, findings
// what its definitions should not say; watch, envfile, hint and file what several of them need. main may import
// everything, and nothing imports main.
package main
