// Package ledger is a wrapper that keeps a book of the calls that may change something: that a call was
// made is written to a file before it leaves, and how it has ended after it. So it is known after a crash
// which calls may have run, and a client that repeats one does not double its effect.
//
// A [Book] is one file, which several processes may share: the order of its lines decides which of two calls
// with one idempotency key was first. What others write is read before a call is made, and an empty line at the end of
// an old file tells them that it was moved. A call without an outcome is under way, if this process has made it, else it
// is unknown whether it ran.
//
// # Files
//
//   - ledger.go: Book, its options and its wrapper. session.go: the view of a caller, which calls are written down.
//   - book.go: what the Book knows of calls, and which of them may be made. batch.go: lines that are written at once.
//   - line.go: the lines of the file. read.go: Read, all calls of a file.
//   - errors.go: what a caller is told whose call is not made.
//
// # Concurrency
//
// Everything may be used from many goroutines. Lines that come while others are written are written together, by the
// goroutine of the first of them. Book.writing is held meanwhile, and Book.mu for what a Book knows.
// Outcomes that nobody waits for are written by a timer, at the latest.
package ledger
