// Package providers lets a language model use a bridge's tools: what a provider of models is,
// conversations, and the loop that runs the tools that a model calls. Each vendor's API is a
// folder below.
//
// # Adding a provider
//
// CONTRIBUTING.md has the steps. The files of a provider's folder, of which ollama's is the
// shortest:
//
//   - encode.go turns a Request into a body. A message whose Raw is the provider's own goes back
//     unchanged, any other is written from its Parts; tools are Tools.Encoded(format).JSON(),
//     unchanged, with names from Tools.WireName.
//   - decode.go has the Decoder, which reads the Response with Events, Lines or, for another
//     framing, Read. Calls get their ids from NewCallIDs and their names from Tools.OwnName.
//     Raw is the message as the API sends it when it is not streamed. One switch maps the
//     API's stop reasons.
//   - client.go has New, which completes the Options' Client with Client.For, and Turn, which
//     calls Client.Turn. Refuse reads what the API's errors say beyond ReadError: ErrNoTools, or
//     the Code context_length_exceeded. Auth signs requests, if a header with a key is not
//     enough. ResultPlace lets package replay check recordings. Turn begins with Client.Check,
//     which refuses what the API lacks.
//
// # Files
//
//   - provider.go is the contract: Provider, Request, Turn, Stop. settings.go, message.go and
//     toolset.go are the data in it.
//   - client.go, turn.go and error.go are the HTTP client of the providers.
//   - memo.go keeps what was made of messages for the next request.
//   - loop.go begins and ends a run of the loop. loop_turn.go gets a turn from the model,
//     loop_round.go the results of its calls, which loop_call.go runs. loop_policy.go decides which
//     calls run, loop_result.go writes results for the model and counts equal ones,
//     loop_window.go shortens what does not fit the context window, and loop_summary.go has the model summarize
//     it. loop_task.go is what a run is given, loop_run.go what it returns.
//   - conversation.go is the API for programs, over the loop, and chooses the model;
//     conversation_tools.go has its tools, transcript.go saves it. repair.go keeps its messages
//     valid.
//   - thinking.go is what providers have in common about thinking, answer.go the formats of answers,
//     cost.go prices and budgets, loop_answer.go, loop_select.go and fallback.go what a run makes of them.
//   - embed.go passes on requests for embeddings.
//   - event.go tells a program what happens.
//
// # Concurrency
//
// A Provider, Toolbox, Loop, Conversation, ToolSet or Store may be used by many goroutines.
// Loop.Run has no goroutine of its own: Provider.Turn, Task.Approve and Task.Emit are called
// from the goroutine of Run. Each call of a tool has one goroutine, and a round has up to
// Limits.Parallel that wait for them. Run returns when all have ended; a call whose source
// ignores cancellation is abandoned after five seconds, which is logged.
//
// Locks nest only like this: that of a conversation's tools before that of the list of open
// ones, that of a call in progress before that of the queue of events.
package providers
