package sql

// A dialect is the SQL of a database system: its lexical rules and its placeholders.
type dialect uint8

const (
	sqliteDialect dialect = iota
	postgresDialect
	mysqlDialect // also MariaDB
)

func (d dialect) String() string { return [...]string{"SQLite", "PostgreSQL", "MySQL"}[d] }

// reads returns the statements that a tool may run that must not write. The database enforces that
// they do not write; this check shows a mistake before the first call.
func (d dialect) reads() []string {
	switch d {
	case postgresDialect:
		return []string{"SELECT", "VALUES", "TABLE", "SHOW", "EXPLAIN"}
	case mysqlDialect:
		return []string{"SELECT", "VALUES", "TABLE", "SHOW", "EXPLAIN", "DESCRIBE", "DESC"}
	}
	return []string{"SELECT", "VALUES", "EXPLAIN"}
}

// writes are the other statements that a tool may run. Statements that begin a transaction, change
// a setting or leave the database are not among them, since another tool uses the connection next.
var writes = []string{"INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE", "CALL", "CREATE", "ALTER", "DROP", "TRUNCATE", "REFRESH"}
