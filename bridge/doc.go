// Package bridge is the center of the program. Anything that has tools is a Source; a caller opens
// a source and gets its own view of it, a Session; a Bridge makes one source of many. Definitions
// flow up (List), calls flow down (Do), and what precedes the reply of a call flows back along it
// (Request.Back). Nothing flows sideways.
//
// # Files
//
//   - source.go: Source, Session, Request, Reply, Caller. list.go: List and its items.
//   - bridge.go, do.go, tasks.go: a Bridge and where its requests go. catalog.go: merging lists,
//     names, conflicts, patterns of names. apps.go: URIs of MCP Apps. selection.go: the members that a caller may use.
//     via.go: the bridges that a client comes through.
//     visible.go: hidden characters.
//   - wrap.go: Wrap. guard.go, overlay.go: wrappers.
//   - native.go: Tool and Native. native_tool.go, native_call.go, native_client.go,
//     native_worker.go: a tool, a call and its result, calls that the caller carries out,
//     goroutines. func.go: a Tool of a Go function.
//   - kind.go: what the kinds below this package share.
//   - timer.go, limiter.go, throttle.go: a timeout, a limit, a log of bounded rate. hidden.go,
//     secrets.go, secret_forms.go, scalars.go: hidden values, and what no error shows.
//
// # Native tools
//
// A Native is a source of tools of this program, and applies the rules for their calls: arguments
// are bound to the schema (toolformat.Binder), hidden values are set, time and concurrency are
// limited, results are checked and cut. Func makes a Tool of a Go function, a kind makes a Tool of
// a definition in a file, and a Tool with Client set is carried out by the caller (Functions).
//
// # Adding a kind or a wrapper
//
// CONTRIBUTING.md has the steps. The example of NativeKind is a whole kind, that of Wrap a whole
// wrapper.
//
// # Concurrency
//
// Sources, sessions and lists may be used from many goroutines. A Bridge starts goroutines only to
// ask several members at once, and waits for them; a timer that gathers list changes does nothing
// after its session was closed. The workers of a Native run the calls that are not Cancelable;
// Close waits for those that run and ends those that are idle.
//
// Lock order: an overlay's session, then its Native, then Caller.Notify; a native call, then
// Back.Notify. All other mutexes are taken alone, except that of a List, which is held while its
// items are changed for Derive.
package bridge
