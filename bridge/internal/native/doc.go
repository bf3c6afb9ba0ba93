// Package native holds what kinds of native tool share, whatever protocol they speak:
//
//   - notes.go: Notes, the properties of a definition and what is odd about it
//   - pointer.go: Pointer, a JSON Pointer into an answer or a document
//   - text.go: Result, the result that a text becomes; arguments as text, numbers digit by digit,
//     and the part of a text that a message repeats
//
// A Notes belongs to one goroutine; everything else may be called from many at once. What only
// kinds that speak HTTP share is in bridge/internal/httpapi.
package native
