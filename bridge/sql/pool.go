package sql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync"
)

// pools are the connections of an engine: those of readers cannot write.
type pools struct{ readers, writers pool }

func (p *pools) run(ctx context.Context, q query, out *output) error {
	if q.write {
		return p.writers.run(ctx, q, out)
	}
	return p.readers.run(ctx, q, out)
}

func (p *pools) close() error { return errors.Join(p.readers.close(), p.writers.close()) }

// A pool holds connections to a database, which it opens on demand, and the statements prepared on
// them.
type pool struct {
	config    poolConfig
	connector driver.Connector
	formatOf  func(typeName string) format // of a column, by its type
	drains    bool                         // closing rows makes the driver read them to the end

	mu     sync.Mutex // guards the fields below
	db     *sql.DB
	stmts  map[string]*sql.Stmt
	closed bool
}

// maxStmts bounds the statements that a pool keeps prepared, on each of its connections. A tool has
// one, and a few more if it has lists.
const maxStmts = 200

var errClosed = errors.New("the database has been closed")

// open returns the pool's database, opened on the first call.
func (p *pool) open() (*sql.DB, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	if p.db == nil {
		p.db = sql.OpenDB(p.connector)
		p.db.SetMaxOpenConns(p.config.open)
		p.db.SetMaxIdleConns(p.config.open)
		p.db.SetConnMaxIdleTime(p.config.idle)
		p.db.SetConnMaxLifetime(p.config.lifetime)
		p.stmts = map[string]*sql.Stmt{}
	}
	return p.db, nil
}

// prepare returns a prepared statement, which the caller closes unless it is kept.
func (p *pool) prepare(ctx context.Context, text string) (stmt *sql.Stmt, kept bool, err error) {
	db, err := p.open()
	if err != nil {
		return nil, false, err
	}
	p.mu.Lock()
	stmt = p.stmts[text]
	p.mu.Unlock()
	if stmt != nil {
		return stmt, true, nil
	}
	if stmt, err = db.PrepareContext(ctx, text); err != nil {
		return nil, false, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if kept = p.stmts[text] == nil && len(p.stmts) < maxStmts; kept {
		p.stmts[text] = stmt
	}
	return stmt, kept, nil
}

// close closes the connections. It comes after the last run.
func (p *pool) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.db == nil {
		return nil
	}
	var errs []error
	for _, stmt := range p.stmts {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, p.db.Close())...)
}

// maxSkipped bounds the rows that are read and dropped after a full result. Beyond it the statement
// is canceled, as a driver would read to the end, however far that is.
const maxSkipped = 1000

// run runs a statement on a connection of the pool.
func (p *pool) run(ctx context.Context, q query, out *output) (err error) {
	stmt, kept, err := p.prepare(ctx, q.text)
	if err != nil {
		return err
	}
	if !kept {
		defer func() { err = errors.Join(err, stmt.Close()) }()
	}
	for i, value := range q.values {
		if text, ok := value.(jsonText); ok {
			q.values[i] = string(text)
		}
	}
	if q.givesRows() {
		return p.read(ctx, stmt, q, out)
	}
	result, err := stmt.ExecContext(ctx, q.values...)
	if err != nil {
		return err
	}
	if out.affected, err = result.RowsAffected(); err != nil {
		return err
	}
	if q.defines() {
		out.affected = 0
	}
	if q.inserts() && out.affected > 0 {
		out.lastID, err = result.LastInsertId()
	}
	return err
}

// read runs a statement that returns rows.
func (p *pool) read(ctx context.Context, stmt *sql.Stmt, q query, out *output) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends a statement with more rows than are read
	rows, err := stmt.QueryContext(ctx, q.values...)
	if err != nil {
		return err
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		return err
	}
	names, formats := make([]string, len(types)), make([]format, len(types))
	values, into := make([]any, len(types)), make([]any, len(types))
	for i, t := range types {
		names[i], formats[i], into[i] = t.Name(), p.formatOf(t.DatabaseTypeName()), &values[i]
	}
	out.columns(names)
	value := func(dst []byte, i int) []byte { return appendValue(dst, formats[i], values[i]) }
	count := 0
	for ; rows.Next(); count++ {
		switch {
		case out.cut == "":
			if err := rows.Scan(into...); err != nil {
				return err
			}
			out.row(value)
		case q.write: // it has to run to its end
		case !p.drains:
			return nil
		case count > out.rows+maxSkipped:
			cancel()
			return nil
		}
	}
	if q.write && q.returning {
		out.affected = int64(count)
	}
	return rows.Err()
}

// A connector opens connections whose statements end with their context. With database/sql alone
// they do not: SQLite's driver ignores the context after the first row, and MySQL's leaves the
// statement running on the server.
type connector struct {
	driver.Connector

	// setup prepares a new connection and returns its stopper. Without one, the connection is the
	// driver's.
	setup func(context.Context, driver.Conn) (stopper, error)

	// begin prepares a connection for a statement that has effects instead of rows; may be nil.
	begin func(driver.Conn)
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
	if c.setup == nil {
		return inner, nil
	}
	stop, err := c.setup(ctx, inner)
	if err != nil {
		inner.Close()
		return nil, &connectError{err}
	}
	return &conn{inner, stop, c.begin}, nil
}

// A conn is a connection of a connector. It implements what this package uses of database/sql:
// prepared statements without transactions.
type conn struct {
	driver.Conn
	stop  stopper
	begin func(driver.Conn)
}

// PrepareContext implements driver.ConnPrepareContext.
func (c *conn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	s, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	return &stmt{s, c}, nil
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
	conn *conn
}

// QueryContext implements driver.StmtQueryContext.
func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	w := newWatch(ctx, s.conn.stop)
	inner, err := s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
	if err != nil {
		w.end()
		return nil, err
	}
	return &rows{inner, w}, nil
}

// ExecContext implements driver.StmtExecContext.
func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if s.conn.begin != nil {
		s.conn.begin(s.conn.Conn)
	}
	defer newWatch(ctx, s.conn.stop).end()
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
