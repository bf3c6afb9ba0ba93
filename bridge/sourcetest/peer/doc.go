// Package peer has scripted MCP servers and clients for tests, over each carrier, and a network
// in memory for tests in a synctest bubble.
//
//   - server.go, call.go, state.go: a Server, the messages that it receives, what tests wait for
//   - carrier.go, http.go: a Server over lines, WebSocket, HTTP+SSE and streamable HTTP
//   - client.go: a Client over the same carriers
//   - network.go: the network in memory
//
// All types may be used from many goroutines. The goroutines of a Server end with the test that
// serves it, those of a Client with Close. A State is locked while its functions run, and the
// lock of a connection is taken after it.
package peer
