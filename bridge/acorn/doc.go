// Package acorn keeps conversations with an API of the user's, through the two functions that
// Acorn's tools files define for it (TOOLS_CONFIG.md, "Special Functions"). store.go calls the
// functions, message.go writes and reads messages. A Store has no state beside its Native, which
// owns all goroutines; it may be used from many.
package acorn
