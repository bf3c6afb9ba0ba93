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

// prepare returns a prepared statement and its release function.
func (p *pool) prepare(ctx context.Context, text string) (stmt *sql.Stmt, release func() error, err error) {
	keep := func() error { return nil }
	db, err := p.open()
	if err != nil {
		return nil, nil, err
	}
	p.mu.Lock()
	stmt = p.stmts[text]
	p.mu.Unlock()
	if stmt != nil {
		return stmt, keep, nil
	}
	if stmt, err = db.PrepareContext(ctx, text); err != nil {
		return nil, nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stmts[text] != nil || len(p.stmts) >= maxStmts {
		return stmt, stmt.Close, nil
	}
	p.stmts[text] = stmt
	return stmt, keep, nil
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
	stmt, release, err := p.prepare(ctx, q.text)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
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
