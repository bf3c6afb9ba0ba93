// Package mcpgo connects Go programs that are built on mcp-go (github.com/mark3labs/mcp-go)
// without a carrier: [NewSource] makes an mcp-go server a bridge.Source, and [AddTools] adds the
// tools of a bridge.Source to an mcp-go server.
//
// source.go is the first direction, tools.go the second one. Both may be used from many
// goroutines. A Source has no goroutines of its own; each of its sessions has one, which ends with
// Close, and one for each call. The Tools that AddTools returns have one, which Close waits for.
//
// # What mcp-go does not keep
//
// mcp-go decodes what passes and encodes it again. Arguments and structured content keep big
// numbers; everything else is kept by meaning only:
//
//   - A list of tools is sorted by name. A definition loses the members that mcp.Tool does not have,
//     and gets annotations.
//   - A result loses unknown members, and content of a type that mcp-go does not know is an error.
//   - An error of a tool handler is -32603 with its message: its code and data are lost.
//   - Arguments with numbers beyond the range of a float64 are refused (encoding/json).
//   - A list change is announced beside the call that caused it, not before its result.
//   - More than 1,000 notifications that a call sends faster than they are read are dropped.
//   - With AddTools all clients of the mcp-go server are one caller, which cannot be asked anything
//     (elicitation, sampling, roots): mcp-go's tools belong to the server, not to a client.
package mcpgo
