// Package serve offers the loop as a service: OpenAI's Chat Completions with the bridge's
// tools (Server), and the answers to the sampling requests of MCP servers (Sampling).
//
// server.go has the Server. request.go reads its requests: request_content.go the content of
// messages, request_parameter.go what tunes the answer, request_tools.go the tools, and
// request_legacy.go functions, which were before tools. completion.go writes its responses.
// admission.go bounds how many are in progress.
// sampling.go and sampling_message.go do the same for Sampling. rounds.go keeps, for both, the
// rounds of calls that a client does not see.
//
// Server and Sampling may be used from many goroutines. They start none, except for the timer
// that keeps a silent stream alive, which ends with its request. No lock is held while another
// is taken; that of a completion is held while it is written.
package serve
