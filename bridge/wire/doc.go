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
// Messages:
//
//	message.go    Message, its envelope, Split and SplitBatch
//	split.go      the pass that finds the members routed on
//	scan.go       the JSON scanner, Valid
//	params.go     Params and the keys of params and _meta
//	edit.go       params with members replaced, added or cut
//	append.go     writing messages and strings
//	quote.go      writing JSON as a JSON string
//	iter.go       reading validated JSON: Elements, Members, Lookup
//	object.go     changing a member of validated JSON
//	text.go       decoding strings
//
// Framings:
//
//	buffer.go     pooled buffers, bodies
//	window.go     a stream cut into lines
//	line.go       reading a message a line
//	linewriter.go writing a message a line
//	sse.go        server-sent events
//	ws.go         WebSocket messages
//
// MCP, on the constants of mcp-go (the rest cites its specification):
//
//	method.go     methods and notifications
//	era.go        revisions and error codes
//	task.go       the task in a result
//	level.go      log levels
//	uri.go        a resource and its parts
//	paramheader.go arguments repeated in HTTP headers
//
// # Concurrency
//
// Functions keep nothing and may be called from many goroutines, as long as no two of them
// are given the same bytes to change: Split, SplitParams and Valid blank line breaks. A Message
// and its Params may be read by many. A Buffer and the readers belong to one goroutine at a
// time. A LineWriter may be used by many; its one goroutine ends with Close or the stream's
// first error. Its mutex is held only while the queue changes, never during a write.
package wire
