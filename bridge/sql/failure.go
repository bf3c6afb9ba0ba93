package sql

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A connectError is the failure of a connection attempt.
type connectError struct{ err error }

func (e *connectError) Error() string { return e.err.Error() }
func (e *connectError) Unwrap() error { return e.err }

// failure returns the error of an engine as the caller may see it: the model gets the database's
// message about the statement, everything else goes to the log.
func (t *tool) failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if text := statementFault(err); text != "" {
		return fmt.Errorf("the query failed: %s", t.secrets.Hide(text))
	}
	return toolformat.Errorf(toolformat.Unavailable, "the database %s cannot be reached or does not answer", t.name).Because(t.secrets.HideError(err))
}

// statementFault returns the database's message about a faulty statement, or "" for any other
// error.
func statementFault(err error) string {
	var (
		away *connectError
		lite *sqlite.Error
		pg   *pgconn.PgError
		my   *mysql.MySQLError
	)
	switch {
	case errors.As(err, &away):
		return ""
	case errors.As(err, &lite):
		switch lite.Code() & 0xff {
		case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT:
			return ""
		}
		return lite.Error()
	case errors.As(err, &pg):
		if strings.HasPrefix(pg.Code, "08") || strings.HasPrefix(pg.Code, "57P") || strings.HasPrefix(pg.Code, "53") {
			return "" // connection, operator intervention, resources
		}
		return fmt.Sprintf("%s (SQLSTATE %s)", pg.Message, pg.Code)
	case errors.As(err, &my):
		return fmt.Sprintf("%s (error %d)", my.Message, my.Number)
	}
	return ""
}
