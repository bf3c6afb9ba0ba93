package sql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync"
)

// A pool is the connections to a database that are for one purpose. It opens them when
// they are needed, and keeps the statements that it has prepared.
type pool struct {
	config    poolConfig
	connector driver.Connector
	formatOf  func(typeName string) format // how a column becomes JSON, by its type
	drains    bool                         // the driver reads rows to the end that nobody wants

	mu     sync.Mutex // guards what follows
	db     *sql.DB
	stmts  map[string]*sql.Stmt
	closed bool
}

// maxStmts bounds the statements that a pool keeps prepared, which each of its
// connections may hold. Tools come with one each, and lists with a few more.
const maxStmts = 200

var errClosed = errors.New("the database has been closed")

// open is the pool's database.
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

// prepare is a prepared statement, and what to call when it is not needed any more.
func (p *pool) prepare(ctx context.Context, text string) (*sql.Stmt, func() error, error) {
	keep := func() error { return nil }
	db, err := p.open()
	if err != nil {
		return nil, nil, err
	}
	p.mu.Lock()
	stmt := p.stmts[text]
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

// close ends the connections, when no statement runs any more.
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

// spare is how many rows are read and dropped when a result has all that it may have,
// before the connection is given up instead: a driver reads to the end, however far that
// is.
const spare = 1000

// run runs a statement on one of the pool's connections.
func (p *pool) run(ctx context.Context, q query, out *output) (err error) {
	stmt, done, err := p.prepare(ctx, q.text)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
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

// read runs a statement that answers with rows.
func (p *pool) read(ctx context.Context, stmt *sql.Stmt, q query, out *output) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends a statement that has more rows than anybody reads
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
	all := 0
	for ; rows.Next(); all++ {
		switch {
		case out.cut == "":
			if err := rows.Scan(into...); err != nil {
				return err
			}
			out.row(value)
		case q.write: // all that it does comes before it ends
		case !p.drains:
			return nil
		case all > out.rows+spare:
			cancel()
			return nil
		}
	}
	if q.write && q.returning {
		out.affected = int64(all)
	}
	return rows.Err()
}
