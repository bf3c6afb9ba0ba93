// Package pins is a wrapper that keeps the tools, the prompts and the instructions of a server as they were
// first seen. A definition that is new, or has changed since then, is held back until a person accepts it, so
// that a server cannot change what a model reads after it has been looked at.
//
// # Files
//
// pins.go (New, what is seen of a list, and its record), session.go (the view of a caller), book.go (Book,
// the text of a store, and the changes in it), digest.go (when two definitions are the same), text.go (a
// definition for a person to read).
//
// # What is held back
//
// A tool or prompt that is new is not listed and cannot be called. One that has changed is listed as it
// was accepted, and its calls are refused with the reason: the model reads none of the new words, the
// server gets no arguments that were made for the old ones, and the name stays taken, so that no other
// server can put a tool in its place. What has not changed goes on. Instructions that have changed are told to
// clients as they were accepted.
//
// All members of a definition count but _meta and icons, which some servers change at each start; the
// order of members and how a text is escaped do not. Resources are not held back: a list of data changes
// in ordinary use.
//
// A definition is accepted only as it was shown: [Accept] refuses one that has changed since [Show]. What is
// held back is forgotten once the server lists it no more: the accepted definition again, or none of that name.
//
// The first list of a kind is accepted as it is, except that a list without tools may be that of a server
// which waits for a login. A server that shows its callers different lists has one Book for all, and what is
// held back of it is not forgotten ([Options.PerCaller]), nor what was once, and is listed again.
//
// # The store
//
// A [Store] has the text of a Book, which several processes may change. A Pins reads it again while
// something is held back, so that what is accepted elsewhere is seen by the next list or call; who wants
// callers to be notified of it opens a new Pins. A text that cannot be read holds everything back. Pins
// are for what servers say: a program that may write the store can accept what it wants.
//
// # Locks
//
// Memory.mu is held while a list is taken into the store. Pins.mu, which may be taken while Memory.mu is held, is
// held while the store is read or changed.
package pins
