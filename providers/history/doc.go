// Package history stores conversations in a file: an SQLite database that several programs
// may use at once, and that a crash does not corrupt.
//
// A Store may be used from many goroutines, one of which uses the database at a time. A new
// version of the schema is a further element of versions.
package history
