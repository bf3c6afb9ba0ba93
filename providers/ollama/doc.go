// Package ollama speaks Ollama's own API: POST /api/chat, always streamed, a JSON object a
// line (github.com/ollama/ollama, docs/api.md and api/types.go).
//
// The raw items of a turn are the message as the API sends it when it is not streamed.
//
// client.go has the Provider and its errors, encode.go writes requests, decode.go reads
// responses. The package has no goroutines; encoders and decoders belong to one turn.
package ollama
