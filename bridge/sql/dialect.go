package sql

// A dialect is the SQL of one database system: how its text is read, and how parameters
// stand in it.
type dialect uint8

const (
	sqliteDialect dialect = iota
	postgresDialect
	mysqlDialect // MariaDB too
)

func (d dialect) String() string { return [...]string{"SQLite", "PostgreSQL", "MySQL"}[d] }

// reads are the statements that a tool may run which is not allowed to write. That they
// do not write is for the database to enforce; this is so that an operator hears of a
// mistake before the first call.
func (d dialect) reads() []string {
	switch d {
	case postgresDialect:
		return []string{"SELECT", "VALUES", "TABLE", "SHOW", "EXPLAIN"}
	case mysqlDialect:
		return []string{"SELECT", "VALUES", "TABLE", "SHOW", "EXPLAIN", "DESCRIBE", "DESC"}
	}
	return []string{"SELECT", "VALUES", "EXPLAIN"}
}

// writes are the other statements that a tool may run. What begins a transaction, changes
// a setting or leads out of the database is not among them: the connection is another
// tool's next.
var writes = []string{"INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE", "CALL", "CREATE", "ALTER", "DROP", "TRUNCATE", "REFRESH"}
