// Package stack turns a config into running sources.
//
// [New] returns a [Stack]: the servers, the native tools and the models of a [config.Config]. It is
// one [bridge.Source], which can be opened, or given to mcpserver.New or providers.NewToolbox. The
// command mcpbridge uses nothing else.
//
// Files:
//
//   - stack.go: New, Close, the states of servers. pool.go: the clients that Stacks share. live.go: a Stack
//     whose config changes.
//   - layer.go: the wrappers, in their order. why.go: what they do to one tool. access.go (profiles and
//     rates), policy.go, scan.go, intercept.go, pins.go, ledger.go: what the config says of each.
//     calls.go and audit.go: the record of calls.
//   - native.go: native tools; a new kind is a line in nativeKinds. definition.go: their definitions (files,
//     checks, OpenAPI documents). key.go: keys of definitions that are misspelled, misplaced or unknown.
//     api.go: the states of APIs.
//   - oauth.go: access tokens of APIs and servers. account.go: servers where each caller logs in.
//     exchange.go and forward.go: tokens of callers.
//   - lent.go: servers that others lend. placed.go: servers that one node of a cluster runs.
//   - provider.go: a new provider is a row of providerKinds. cloud.go: the credentials of clouds. models.go:
//     the choice of a model. price.go and spending.go: what models cost. approve.go: which calls of models
//     run. recorder.go: conversations that native tools save.
//
// All methods of a Stack and of its [Models] may be called from many goroutines, but Close once and
// last. A Stack owns its native tools and the goroutine of its recorder, which ends in Close. Its pool
// owns clients and processes; the last Stack to close ends them. The locks of the recorder, of the
// pool and of its record of calls are taken alone, or in that of a Live.
package stack
