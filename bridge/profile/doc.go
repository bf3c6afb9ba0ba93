// Package profile is a wrapper that gives each caller a profile: the servers, tools, prompts and resources
// that exist for it, and its hidden values.
//
// A caller has the first profile that fits its principal and its claims, or of those that fit the one that
// it asks for by name ([bridge.Caller.Profile]). One that does not fit answers like one that does not exist.
// What a profile leaves out does not exist either: it is not listed, is unknown by name, is suggested in no
// error, and its changes are not announced.
//
// # Files
//
// profile.go (Profile, its patterns and which callers it fits), source.go (New, and the choice for a
// caller), session.go (the view of a caller whose profile leaves out more than servers), changes.go
// (which list changes such a caller is told of), why.go (why a caller does not have a tool).
//
// # Servers and names
//
// The servers of a profile are the members of the Bridge below, which opens no others for the caller
// (bridge.Caller.Members). Tools, prompts and resources are left out here. A session of a profile that
// names servers alone is the session below.
//
// # Goroutines and locks
//
// A session has a goroutine for each kind of list that changes, which Close waits for. A request waits, for
// a bounded time, for those that look whether its caller is told of a change. session.mu is taken alone.
package profile
