// Package openai speaks OpenAI's two APIs: Chat Completions, which most other vendors and
// servers of local models speak too, and Responses.
//
// The raw items of a turn are the message of Chat Completions, or the output of Responses, as
// the API sends it when it is not streamed.
//
// client.go has the two providers and their endpoint, error.go its errors. The files chat_* and
// responses_* write the requests and read the responses of either API; content.go is what
// both share. chat_calls.go assembles calls, since servers differ in how they stream them. The
// package has no goroutines; encoders and decoders belong to one turn.
package openai
