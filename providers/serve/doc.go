// Package serve offers the loop as a service: the APIs of OpenAI and Anthropic with the bridge's
// tools (Server), conversations of web pages (Chat), and the answers to the sampling requests of MCP
// servers (Sampling).
//
// server.go has the Server, complete.go what it does with a request of any of its APIs, which are a package
// each below internal: they read requests into one form and write responses. task.go makes of that form what the loop
// runs, admission.go bounds how many are in progress, stored.go gives out responses that are kept, embed.go passes on
// requests for embeddings, models.go lists the models. sampling.go and sampling_message.go have Sampling. rounds.go
// puts the rounds of calls that a client does not see into its conversations, for both, kept.go keeps them, shared.go
// tells the nodes of a fleet of answers, results.go puts the results of its own calls where providers expect them.
//
// chat.go has the Chat, chat_page.go a connection of a page, chat_talk.go a conversation, which
// outlives connections, chat_hidden.go its hidden values, chat_message.go what they send each other.
//
// Server, Chat and Sampling may be used from many goroutines. They start none, except for the timer
// that keeps a silent stream alive, which ends with its request, and the writers of pages and the prompts
// in progress, for which Chat.Close waits. The lock of a completion and of a page is held while it is
// written. Those of a Chat and of a page are taken before that of a conversation.
package serve
