// Package audit is a reader of the record of calls that loses none: each is a line of JSON in a file, which has
// the hash of the line before it, so that a line that was changed, removed or added later is found.
//
// The chain goes on across restarts, rotation and the processes that write to one file: a lock beside it lets
// them write one after the other. The hash of the last line and the number of lines stand in a file of their own,
// which tells a file that was cut at its end.
//
// audit.go has the [Log], line.go its lines, read.go reads them, verify.go checks their chain.
//
// A Log has the goroutine of its observe.Reader, which ends in Close.
package audit
