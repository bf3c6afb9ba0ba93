// Package wire is the bridge's view of bytes: JSON-RPC messages split without decoding them,
// the framings they travel in, and the names and rules of MCP that both its ends share.
//
// A message is scanned once. The scan proves that it is JSON to the last byte, finds the spans
// that a bridge routes on, and refuses what two readers could understand in two ways;
// everything else is carried as the bytes received. Line breaks between tokens become spaces,
// so that a message is one line on any carrier.
//
// # Files
//
//   - Messages: message.go (Message, Split), split.go (the pass that finds the members routed on),
//     scan.go (the JSON scanner), plain_amd64.s and plain_other.go (its way through long strings),
//     params.go and edit.go (Params and changes to them), append.go and quote.go (writing), json.go (reading and changing validated JSON), canonical.go (JSON to be compared),
//     size.go (numbers of bytes).
//   - Framings: buffer.go (pooled buffers, bodies), line.go and linewriter.go (a message a line),
//     sse.go (server-sent events), ws.go (WebSocket).
//   - Messages that cannot be used: the package lenient.
//   - MCP: mcp.go (its names and codes, which are those of mcp-go, and rules for tasks, log levels
//     and URIs), paramheader.go (arguments in headers).
//
// # Concurrency
//
// Functions keep nothing and may be called from many goroutines, as long as no two of them
// are given the same bytes to change: Split, SplitParams and Valid blank line breaks. A Message
// and its Params may be read by many. A Buffer and the readers belong to one goroutine at a
// time. A LineWriter may be used by many; its one goroutine ends with Close or the stream's
// first error. Its mutex is held only while the queue changes, never during a write.
package wire
