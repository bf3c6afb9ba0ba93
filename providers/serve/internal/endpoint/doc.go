// Package endpoint has what the HTTP APIs of the bridge's models share: an API reads the requests of its
// clients into one neutral form (Request) and writes what the loop tells in its own (Answer, Writer).
//
// endpoint.go has the interfaces, answering.go what runs an Answer, writer.go what it writes with, and read.go what
// several APIs read alike.
package endpoint
