// Package wording makes the texts that people and models read: it cuts what is too long, lists
// names, finds the name that was meant, and holds the notes that conversions and checks write.
//
//   - closest.go: Closest and Nearest, the one rule behind "did you mean"
//   - cut.go: Cut and List, for errors and notes
//   - name.go: Shorten and Hash, for names with a limit
//   - note.go: Note
//
// The package has no state; every function may be called from many goroutines.
package wording
