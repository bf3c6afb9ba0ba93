// Package sql is the kind of native tool whose call is one SQL statement: on SQLite, which is built
// in, on PostgreSQL, or on MySQL and MariaDB.
//
// An API of the config is a database, and a tool on it a statement with named parameters, each of
// which is an argument of the tool:
//
//	{"type": "sql", "url": "sqlite:shop.db"}
//	{"query": "SELECT name, price FROM product WHERE category = :category AND id IN (:ids)"}
//
// Arguments are bound. They never become part of the SQL text, except for the number of values in
// an IN list. A tool can only read unless both its API and the tool itself say "write": true, and
// the database enforces that: by a connection that cannot write to the file (SQLite), a read-only
// transaction that is rolled back (PostgreSQL), or a session whose transactions are read-only
// (MySQL). What a role may do besides, such as to read the server's files, is up to its rights.
//
// A result is an array of objects, one for each row, with the keys in the order of the columns and
// all digits of numbers; see [API] and [Spec].
//
//   - sql.go: the kind, its backends and tools, and which errors the caller may see
//   - config.go: what the config says; a URL becomes an engine
//   - scan.go, statement.go, check.go: a query is read, rewritten and checked, in three dialects
//   - arguments.go: the arguments of a call become values
//   - pool.go, sqlite.go, mysql.go: the engines on database/sql
//   - postgres.go, pgvalue.go: the engine on pgx
//   - output.go: values become JSON, and rows a result
//
// A backend and its tools may be used from many goroutines. Its goroutines, those of the drivers'
// pools and one for each statement that is being canceled, end with Close, which comes after the
// last call. The locks of a pool and of a database in memory are leaves: nothing else is locked
// under a pool's, and only a pool's under the database's.
//
// # Libraries
//
// modernc.org/sqlite is SQLite itself, translated to Go, so that the bridge stays one binary
// without cgo; go-sql-driver/mysql is the driver that MySQL and MariaDB users know. Of
// PostgreSQL's, pgx is the maintained one, and the only one that sends a transaction in one round
// trip and passes on the server's own text. The scanner of statements is this package's own: it has
// to know only what quotes, comments and parameters are, in three dialects, and none of the SQL
// parsers in Go reads all three.
package sql
