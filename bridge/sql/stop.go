package sql

import (
	"context"
	"database/sql/driver"
)

// A connector opens connections whose statements end with their context. With database/sql alone
// they do not: SQLite's driver ignores the context after the first row, and MySQL's leaves the
// statement running on the server.
type connector struct {
	driver.Connector

	// setup prepares a new connection and returns its stopper.
	setup func(context.Context, driver.Conn) (stopper, error)
}

// A stopper ends the statement that runs on a connection. It is called concurrently with that, and
// must return soon after over is closed, which says that the statement has ended.
type stopper func(over <-chan struct{})

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

// A conn is a connection of a connector. It implements what this package uses of database/sql:
// prepared statements without transactions.
type conn struct {
	driver.Conn
	stop stopper
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
	stop stopper
}

// QueryContext implements driver.StmtQueryContext.
func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	w := newWatch(ctx, s.stop)
	inner, err := s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
	if err != nil {
		w.end()
		return nil, err
	}
	return &rows{inner, w}, nil
}

// ExecContext implements driver.StmtExecContext.
func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	defer newWatch(ctx, s.stop).end()
	return s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
}

// rows are the rows of a stmt.
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

// A watch stops a statement when its context ends.
type watch struct {
	ctx        context.Context
	stop       stopper
	cancel     func() bool   // reports whether it kept the stopper from being called
	over, done chan struct{} // closed when the statement and its stopper have ended
}

func newWatch(ctx context.Context, stop stopper) watch {
	w := watch{ctx: ctx, stop: stop, over: make(chan struct{}), done: make(chan struct{})}
	w.cancel = context.AfterFunc(ctx, func() {
		defer close(w.done)
		stop(w.over)
	})
	return w
}

// end ends the watch and waits for the stopper if that runs.
func (w watch) end() {
	switch close(w.over); {
	case !w.cancel():
		<-w.done
	case w.ctx.Err() != nil: // the driver noticed before the stopper was called
		w.stop(w.over)
	}
}
