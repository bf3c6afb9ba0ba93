package sql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/stdlib"
)

// A postgresEngine runs statements on a PostgreSQL server.
//
// The pool is database/sql's, but a statement goes through the connection's own interface, for two
// features that database/sql lacks: the transaction around a statement that reads comes in the same
// round trip, and values pass as the server's text, without loss.
type postgresEngine struct {
	pool     pool
	prepares bool // prepare statements; off for proxies that do not support it
}

// jdbcPostgres maps the parameters of PostgreSQL's JDBC driver: see rename.
var jdbcPostgres = map[string]string{
	"ssl": "sslmode", "sslmode": "sslmode", "sslrootcert": "sslrootcert", "sslcert": "sslcert", "sslkey": "sslkey",
	"currentSchema": "search_path", "ApplicationName": "application_name", "connectTimeout": "connect_timeout",
	"loginTimeout": "", "tcpKeepAlive": "", "reWriteBatchedInserts": "", "stringtype": "",
}

// newPostgres returns an engine. rest is the URL after postgres:.
func (b *backend) newPostgres(rest string, jdbc bool, config poolConfig) (*postgresEngine, error) {
	var names map[string]string
	if jdbc {
		names = jdbcPostgres
	}
	u, err := b.address("postgres", rest, names)
	if err != nil {
		return nil, err
	}
	if jdbc {
		verify(u)
	}
	c, err := pgx.ParseConfig(u.String())
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	b.secrets.Add(c.Password) // from the environment or a file
	c.RuntimeParams["datestyle"] = "ISO"
	c.RuntimeParams["standard_conforming_strings"] = "on" // as the scanner expects
	c.MaxProtocolMessageBodyLen = maxValue
	c.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler { return &canceler{conn: conn} }
	e := &postgresEngine{prepares: c.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement}
	e.pool = pool{config: config, connector: marking{stdlib.GetConnector(*c)}}
	return e, nil
}

// verify gives ssl=true its meaning in JDBC: the server's certificate and name are verified.
func verify(u *url.URL) {
	p := u.Query()
	switch p.Get("sslmode") {
	case "true", "":
		if p.Has("sslmode") {
			p.Set("sslmode", "verify-full")
		}
	case "false":
		p.Set("sslmode", "disable")
	}
	u.RawQuery = p.Encode()
}

// A marking connector wraps its errors in a connectError.
type marking struct{ driver.Connector }

// Connect implements driver.Connector.
func (m marking) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := m.Connector.Connect(ctx)
	if err != nil {
		return nil, &connectError{err}
	}
	return c, nil
}

func (e *postgresEngine) close() error { return e.pool.close() }

func (e *postgresEngine) run(ctx context.Context, q query, out *output) error {
	db, err := e.pool.open()
	if err != nil {
		return err
	}
	for retry := false; ; retry = true {
		c, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		err = c.Raw(func(c any) error {
			s := session{c.(*stdlib.Conn).Conn().PgConn(), e.prepares}
			return s.restore(ctx, s.run(ctx, q, out))
		})
		c.Close() // returns it to the pool
		if again := pgconn.SafeToRetry(err) || isStale(err); !again || retry || ctx.Err() != nil {
			return err
		}
	}
}

// isStale reports whether a statement failed before it ran because its tables have changed since it
// was prepared, or because it is no longer prepared.
func isStale(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "26000" || pg.Code == "0A000" && pg.Routine == "RevalidateCachedQuery")
}

// A session is a connection while a statement uses it.
type session struct {
	conn     *pgconn.PgConn
	prepares bool
}

// rollbackTimeout bounds the rollback of a failed transaction and the closing of a connection.
const rollbackTimeout = 5 * time.Second

// restore returns the connection to its state before the statement, or else closes it. It returns
// the statement's error.
func (s session) restore(ctx context.Context, err error) error {
	switch {
	case s.conn.IsClosed():
	case ctx.Err() != nil, err == errUnread, isStale(err): // a late cancel request may follow, and other statements may be stale
		s.close()
	case s.conn.TxStatus() != 'I':
		s.rollback()
	}
	if s.conn.IsClosed() {
		<-s.conn.CleanupDone() // at most 15 s
	}
	if err == errUnread {
		return nil
	}
	return err
}

// rollback ends a failed transaction, or else closes the connection.
func (s session) rollback() {
	ctx, cancel := context.WithTimeout(context.Background(), rollbackTimeout)
	defer cancel()
	if _, err := s.conn.Exec(ctx, rollback).ReadAll(); err != nil {
		s.close()
	}
}

func (s session) close() {
	ctx, cancel := context.WithTimeout(context.Background(), rollbackTimeout)
	defer cancel()
	s.conn.Close(ctx)
}

// errUnread means that rows were left unread, as the result was full.
var errUnread = errors.New("unread rows")

// The transaction around a statement that reads. It is rolled back, which also resets settings that
// functions have changed.
const (
	begin    = "begin read only"
	rollback = "rollback"
)

func (s session) run(ctx context.Context, q query, out *output) error {
	var batch pgconn.Batch
	if !q.write {
		if err := s.queue(ctx, &batch, begin, nil); err != nil {
			return err
		}
	}
	if err := s.queue(ctx, &batch, q.text, q.values); err != nil {
		return err
	}
	if !q.write {
		if err := s.queue(ctx, &batch, rollback, nil); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := s.conn.ExecBatch(ctx, &batch)
	if q.write || results.NextResult() { // the result of begin
		if results.NextResult() && !readRows(results.ResultReader(), q, out) {
			cancel() // the server can stop
			_ = results.Close()
			return errUnread
		}
	}
	return results.Close()
}

// queue adds a statement to a batch.
func (s session) queue(ctx context.Context, batch *pgconn.Batch, text string, values []any) error {
	if !s.prepares {
		batch.ExecParams(text, parameters(values, nil), nil, nil, nil)
		return nil
	}
	st, err := s.prepared(ctx, text)
	if err != nil {
		return err
	}
	batch.ExecStatement(st, parameters(values, st.ParamOIDs), nil, nil)
	return nil
}

// readRows reads the rows of a statement and reports whether it reached the end.
func readRows(r *pgconn.ResultReader, q query, out *output) bool {
	fields := r.FieldDescriptions()
	names, formats := make([]string, len(fields)), make([]pgFormat, len(fields))
	for i, f := range fields {
		names[i], formats[i] = f.Name, postgresFormat(f.DataTypeOID)
	}
	if len(fields) > 0 || q.givesRows() {
		out.columns(names)
	}
	var row [][]byte
	value := func(dst []byte, i int) []byte { return formats[i].append(dst, row[i]) }
	for count := 0; r.NextRow(); count++ {
		if row = r.Values(); out.cut == "" {
			out.row(value)
		} else if !q.write && count > out.rows+maxSkipped {
			return false
		}
	}
	if tag, err := r.Close(); err == nil && q.write && !tag.Select() {
		out.affected = tag.RowsAffected()
	}
	return true
}

// statements are the prepared statements of a connection.
type statements struct {
	count  int // prepared so far, for their names
	byText map[string]*pgconn.StatementDescription
}

// customKey is the key of a connection's statements in its custom data.
const customKey = "github.com/mcpbridge/mcpbridge/bridge/sql"

// prepared returns the statement with that text, prepared on the first call.
func (s session) prepared(ctx context.Context, text string) (*pgconn.StatementDescription, error) {
	known, _ := s.conn.CustomData()[customKey].(*statements)
	if known == nil {
		known = &statements{byText: map[string]*pgconn.StatementDescription{}}
		s.conn.CustomData()[customKey] = known
	}
	if st := known.byText[text]; st != nil {
		return st, nil
	}
	for text, old := range known.byText {
		if len(known.byText) < maxStmts {
			break
		}
		if text == begin || text == rollback {
			continue
		}
		if err := s.conn.Deallocate(ctx, old.Name); err != nil {
			return nil, err
		}
		delete(known.byText, text)
	}
	known.count++
	st, err := s.conn.Prepare(ctx, "mcpbridge_"+strconv.Itoa(known.count), text, nil)
	if err != nil {
		return nil, err
	}
	known.byText[text] = st
	return st, nil
}
