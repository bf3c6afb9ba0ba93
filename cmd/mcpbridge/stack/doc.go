// Package stack turns a config into running sources.
//
// [New] returns a [Stack]: the servers, the native tools and the models of a [config.Config]. It is
// one [bridge.Source], which can be opened, or given to mcpserver.New or providers.NewToolbox. The
// command mcpbridge uses nothing else.
//
// Files: stack.go (New, Close, the states of servers), layer.go (the wrappers, in their order), why.go (what
// they do to one tool), pool.go (the clients that Stacks share), live.go (a Stack whose config changes), calls.go (the record of calls), native.go
// (native tools; a new kind is a line in nativeKinds), definition.go (their definitions: files, checks,
// OpenAPI documents), api.go (the states of APIs), oauth.go (their access tokens, and those of
// servers), exchange.go and forward.go (those of callers), key.go (keys of definitions that are misspelled,
// misplaced or unknown), provider.go (a new provider is a row of providerKinds), cloud.go (the credentials
// of clouds), models.go (the choice of a model), recorder.go (conversations that native tools save).
//
// All methods of a Stack and of its [Models] may be called from many goroutines, but Close once and
// last. A Stack owns its native tools and the goroutine of its recorder, which ends in Close. Its pool
// owns clients and processes; the last Stack to close ends them. The locks of the recorder, of the
// pool and of its record of calls are taken alone, or in that of a Live.
package stack
