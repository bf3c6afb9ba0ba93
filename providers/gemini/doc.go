// Package gemini speaks Google's Gemini API: POST /v1beta/models/…:streamGenerateContent
// (ai.google.dev/api/generate-content; go-genai v1.77).
//
// The raw items of a turn are the candidate as the API sends it when it is not streamed. Its
// content goes back unchanged, with the signatures of its thoughts and the parts of tools
// that Google runs itself.
//
// client.go has the Provider and its errors, encode.go writes requests, settings.go their
// generationConfig. decode.go reads
// responses into parts, of which part.go makes a turn; partial.go joins arguments that are
// streamed. The package has no goroutines; encoders and decoders belong to one turn.
package gemini
