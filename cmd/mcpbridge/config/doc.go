// Package config reads mcpbridge.json: its types, its keys, and errors with file, line and column.
//
// [Load] reads the file, and package stack turns the [Config] into running sources. Every mistake
// in the file is reported at once. An entry of "mcpServers" or "providers" that lacks a part of the
// environment gets a Fault instead, so that the others work without it.
//
// Files: config.go (the top level, Load), a file for each section: server.go (with oauth.go and sandbox.go),
// native.go, provider.go, auth.go, profile.go, policy.go (with scan.go and intercept.go), lending.go,
// console.go, cluster.go, log.go and record.go ("ledger" and "audit"). read.go (readers of values), env.go
// (variables, paths), reference.go (${keychain:…}, ${file:…}, ${command:…}), decode.go (objects, errors and
// warnings by place), syntax.go (mistakes in the JSON), foreign.go (configs of other programs), secret.go
// (secrets in files that other users can read), stateful.go (servers whose clients need a process each),
// hidden.go (hidden values that nothing takes), meaning.go (what a config says, however it is written).
//
// A new key is a field, a row in the keys method of its type, and a case in testdata. The package
// imports leaves only, so that every program can load the file without the rest of the bridge. A
// Config is plain data: it may be read by many goroutines.
package config
