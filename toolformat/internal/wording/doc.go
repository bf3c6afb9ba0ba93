// Package wording makes the texts that people and models read: it cuts what is too long, lists
// names, finds the name that was meant, and holds the notes that conversions and checks write.
// The package has no state; every function may be called from many goroutines.
package wording
