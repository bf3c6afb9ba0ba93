// Package anthropic speaks Anthropic's Messages API: POST /v1/messages, always streamed
// (platform.claude.com/docs, Messages; anthropic-sdk-go v1.84).
//
// The raw items of a turn are the message as the API sends it when it is not streamed. Its
// content goes back unchanged: thinking with its signatures, the blocks of tools that
// Anthropic runs itself, and the id of the container in which they run.
//
// client.go has the Provider and its errors, encode.go writes requests, and cache.go their marks of
// what to cache; count.go counts the tokens of one. decode.go makes a turn of a response, whose
// blocks block.go assembles. The package has no goroutines; encoders and
// decoders belong to one turn.
package anthropic
