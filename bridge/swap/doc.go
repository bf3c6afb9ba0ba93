// Package swap makes a source whose inner source can be replaced while sessions are open.
//
// A session of a [Source] has a generation, which is a session of the current inner source. When that
// is replaced, each session is given another generation: it is opened for the same caller, is asked for
// what the caller has asked the former one to remember (subscriptions, the log level), and reads its
// lists. Then it takes all further requests, and the caller is notified of the lists that differ. The
// former generation keeps the requests that it has, and is closed with the last of them. The former
// source is unused when all its generations have been closed.
//
// # Files
//
// swap.go (Source, Replace), session.go (a session, and how it moves to another generation), generation.go
// (a generation and its requests), remembered.go (what the inner source remembers of a caller),
// notify.go (which generation's notifications pass).
//
// # Goroutines
//
// Replace has one for each session, which it waits for. Source.Close waits for those in which
// subscriptions are repeated or ended, which end with their generation, and in which the owner of a
// former source is told that it is unused.
//
// # Locks
//
// A request takes no lock. Source.mu, session.mu and notifier.mu are taken alone, but for notifier.mu in
// session.mu. The inner source may hold its own locks when it calls Notify, which takes notifier.mu; so
// does the caller's Notify in notifier.mu.
package swap
