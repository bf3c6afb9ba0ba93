// Package serve offers the loop as a service: OpenAI's Chat Completions with the bridge's
// tools (Server), conversations of web pages (Chat), and the answers to the sampling requests of MCP
// servers (Sampling).
//
// server.go has the Server. request.go reads its requests: request_content.go the content of
// messages, request_parameter.go what tunes the answer, request_tools.go the tools, and
// request_legacy.go functions, which were before tools. completion.go writes its responses.
// admission.go bounds how many are in progress.
// sampling.go and sampling_message.go do the same for Sampling. rounds.go keeps, for both, the
// rounds of calls that a client does not see.
//
// chat.go has the Chat, chat_page.go a connection of a page, chat_talk.go a conversation, which
// outlives connections, chat_message.go what they send each other.
//
// Server, Chat and Sampling may be used from many goroutines. They start none, except for the timer
// that keeps a silent stream alive, which ends with its request, and the writers of pages and the prompts
// in progress, for which Chat.Close waits. The lock of a completion and of a page is held while it is
// written. Those of a Chat and of a page are taken before that of a conversation.
package serve
