// Package bridge is the centre: whatever has tools is a Source, a caller opens a
// source and gets its own view of it, a Session, and the Bridge, which makes one
// source of many, is a Source itself.
//
// Definitions flow up (List), calls flow down (Do), and what belongs to a call flows
// back along it (Request.Back). Nothing flows sideways.
//
// # Native tools
//
// A Native is the source that tools of this program become, and the one place where the
// rules for their calls stand: arguments are bound to the schema (toolformat.Binder), hidden
// values filled in, limits on time and concurrency kept, results checked and cut. Func
// makes a Tool of a Go function, a kind makes one of a definition in a file, and a Tool with
// Client set is carried out by the caller (Functions).
//
// # Adding a kind
//
// A kind of native tool is one folder below this one and one line in cmd/mcpbridge. The
// folder exports a NativeKind, called Kind:
//
//	// Kind is the kind clock.
//	var Kind = bridge.NativeKind{Name: "clock", Open: open}
//
// Its Open makes a Backend of an API of the config, and the Backend a Tool of each
// definition that stands on that API; DecodeSpec reads what both say, strictly. The Tool
// needs no more than a Call: it is given arguments that are valid, and ends with its ctx.
// The example of NativeKind is such a kind, whole. The line in cmd/mcpbridge, in the list
// nativeKinds, is
//
//	clock.Kind,
//
// From then on a config can say {"apis": {"utc": {"type": "clock", …}}}, and a definition
// {"name": …, "kind": "clock", "api": "utc", "clock": {…}}. A test of the folder holds its
// tools to the contract of a Source with sourcetest.Run.
package bridge
