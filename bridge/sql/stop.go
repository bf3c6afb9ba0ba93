package sql

import (
	"context"
	"database/sql/driver"
)

// A connector opens connections whose statements end when their context does. With
// database/sql alone they do not: SQLite's driver stops heeding the context at the first
// row, and MySQL's leaves the statement running on the server.
type connector struct {
	driver.Connector

	// setup prepares a new connection. stop ends the statement that runs on it; it is
	// called from another goroutine, may block for a bounded time, and does nothing when
	// no statement runs.
	setup func(context.Context, driver.Conn) (stop func(), err error)
}

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	inner, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, &connectError{err}
	}
	stop, err := c.setup(ctx, inner)
	if err != nil {
		inner.Close()
		return nil, &connectError{err}
	}
	return &conn{inner, stop}, nil
}

// A conn is a connection of a connector. It has what this package needs of database/sql:
// prepared statements, without transactions.
type conn struct {
	driver.Conn
	stop func()
}

// PrepareContext implements driver.ConnPrepareContext.
func (c *conn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	s, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	return &stmt{s, c.stop}, nil
}

// ResetSession implements driver.SessionResetter.
func (c *conn) ResetSession(ctx context.Context) error {
	return c.Conn.(driver.SessionResetter).ResetSession(ctx)
}

// IsValid implements driver.Validator.
func (c *conn) IsValid() bool { return c.Conn.(driver.Validator).IsValid() }

// A stmt is a prepared statement of a conn.
type stmt struct {
	driver.Stmt
	stop func()
}

// QueryContext implements driver.StmtQueryContext.
func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	w := watchOver(ctx, s.stop)
	inner, err := s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
	if err != nil {
		w.end()
		return nil, err
	}
	return &rows{inner, w}, nil
}

// ExecContext implements driver.StmtExecContext.
func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	defer watchOver(ctx, s.stop).end()
	return s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
}

// rows are those of a stmt.
type rows struct {
	driver.Rows
	watch watch
}

// Close implements driver.Rows.
func (r *rows) Close() error {
	defer r.watch.end()
	return r.Rows.Close()
}

// ColumnTypeDatabaseTypeName implements driver.RowsColumnTypeDatabaseTypeName.
func (r *rows) ColumnTypeDatabaseTypeName(i int) string {
	return r.Rows.(driver.RowsColumnTypeDatabaseTypeName).ColumnTypeDatabaseTypeName(i)
}

// A watch calls a function when a context ends before it does.
type watch struct {
	cancel func() bool
	done   chan struct{} // closed when the function has returned
}

func watchOver(ctx context.Context, stop func()) watch {
	done := make(chan struct{})
	return watch{done: done, cancel: context.AfterFunc(ctx, func() {
		defer close(done)
		stop()
	})}
}

// end ends the watch. If the function has been called, it waits for that.
func (w watch) end() {
	if !w.cancel() {
		<-w.done
	}
}
