// Package observe is the record of calls: a wrapper of a source makes a Call of each request that
// has ended, and any number of readers get them, off the path of the call.
//
// A Stream wraps the source (Wrap) and has the readers (Read), which may come and go while sessions
// are open. While there is none, a request costs one atomic load more. With readers it costs one
// allocation and two looks at the clock, and each reader has a queue of its own: one that is too slow
// loses Calls and is told how many, and no call waits for a reader, but for one that is to get all (Reading.All).
//
// A Call has what the caller sent and was told. It never has hidden values, which are set further
// inside, arguments and results only for a reader that asks for them.
//
// # Files
//
//   - call.go: Call, its caller, its Outcome.
//   - stream.go: Stream, the sessions of its wrapper. way.go: what is noted of a request on its way.
//   - reader.go: Reader, its queue and goroutine.
//   - line.go: a Call as a line of JSON. file.go: OpenFile writes lines to a file.
//   - log.go: Log, a line of the program's log for each Call.
//   - counts.go: Counts, what each server has been called, and the latest calls.
//
// # Concurrency
//
// Everything may be used from many goroutines. Each Reader has a goroutine, which ends in its Close.
// Lock order: Reader.reading, then Reader.mu; Counts.mu inside of the former, all others alone.
package observe
