// Package config reads mcpbridge.json: its types, its keys, and errors with file, line and column.
//
// [Load] reads the file, and package stack turns the [Config] into running sources. Every mistake
// in the file is reported at once. An entry of "mcpServers" or "providers" that lacks a part of the
// environment gets a Fault instead, so that the others work without it.
//
// Files: config.go (the top level, Load), server.go, native.go, provider.go and log.go (the sections of
// the file), read.go (readers of values), env.go (variables, paths), reference.go (${keychain:…}, ${file:…}, ${command:…}), decode.go
// (objects, errors and warnings by place), syntax.go (mistakes in the JSON), foreign.go (configs of other
// programs), secret.go (secrets in files that other users can read), stateful.go (servers whose clients
// need a process each).
//
// A new key is a field, a row in the keys method of its type, and a case in testdata. The package
// imports leaves only, so that every program can load the file without the rest of the bridge. A
// Config is plain data: it may be read by many goroutines.
package config
