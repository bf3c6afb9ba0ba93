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
// The pool is that of database/sql. On a connection of it the protocol is spoken below
// that, for two things that database/sql has no words for: the transaction around a
// statement that reads comes in the same round trip, and values pass as the text that
// the server writes, with nothing lost.
type postgresEngine struct {
	pool     pool
	prepares bool // statements are prepared; off for a proxy that cannot have that
}

// jdbcPostgres are the parameters of PostgreSQL's JDBC driver.
var jdbcPostgres = map[string]string{
	"ssl": "sslmode", "sslmode": "sslmode", "sslrootcert": "sslrootcert", "sslcert": "sslcert", "sslkey": "sslkey",
	"currentSchema": "search_path", "ApplicationName": "application_name", "connectTimeout": "connect_timeout",
	"loginTimeout": "", "tcpKeepAlive": "", "reWriteBatchedInserts": "", "stringtype": "",
}

// newPostgres makes an engine. rest is the URL behind postgres:.
func (b *backend) newPostgres(rest string, jdbc bool, config poolConfig) (*postgresEngine, error) {
	u, err := b.address("postgres", rest)
	if err != nil {
		return nil, err
	}
	if jdbc {
		if err := rename(u, jdbcPostgres); err != nil {
			return nil, err
		}
		verify(u)
	}
	c, err := pgx.ParseConfig(u.String())
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	b.secrets.Add(c.Password) // of the environment, of a file
	c.RuntimeParams["datestyle"] = "ISO"
	c.RuntimeParams["standard_conforming_strings"] = "on" // as the scanner reads them
	c.MaxProtocolMessageBodyLen = maxValue
	c.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler { return &canceler{conn: conn} }
	e := &postgresEngine{prepares: c.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement}
	e.pool = pool{config: config, connector: marking{stdlib.GetConnector(*c)}}
	return e, nil
}

// verify makes JDBC's ssl=true what it means there.
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

// A marking connector marks its errors.
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
	for try := 0; ; try++ {
		c, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		err = c.Raw(func(c any) error {
			s := session{c.(*stdlib.Conn).Conn().PgConn(), e.prepares}
			return s.keep(ctx, s.run(ctx, q, out))
		})
		c.Close() // gives it back to the pool
		if again := pgconn.SafeToRetry(err) || isStale(err); !again || try == 1 || ctx.Err() != nil {
			return err
		}
	}
}

// isStale reports whether a statement failed before it ran because the tables have
// changed since it was prepared, or because it is not prepared any more.
func isStale(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "26000" || pg.Code == "0A000" && pg.Routine == "RevalidateCachedQuery")
}

// A session is one connection while one statement uses it.
type session struct {
	conn     *pgconn.PgConn
	prepares bool
}

// rollbackTimeout bounds how long it takes to end a transaction that has failed, and to
// close a connection.
const rollbackTimeout = 5 * time.Second

// keep leaves the connection as it was before the statement, or else closes it. It gives
// back the statement's error.
func (s session) keep(ctx context.Context, err error) error {
	switch {
	case s.conn.IsClosed():
	case ctx.Err() != nil, err == errUnread, isStale(err): // a late request to cancel may follow; others may be stale as well
		s.close()
	case s.conn.TxStatus() != 'I':
		s.rollback()
	}
	if s.conn.IsClosed() {
		<-s.conn.CleanupDone() // it gives up after 15 s
	}
	if err == errUnread {
		return nil
	}
	return err
}

// rollback ends a transaction that has failed, or else closes the connection.
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

// errUnread says that there are more rows than a result may have.
var errUnread = errors.New("more rows than are read")

// The transaction around a statement that reads. It is rolled back, so that settings
// that functions have changed go with it.
const (
	begin    = "begin read only"
	rollback = "rollback"
)

func (s session) run(ctx context.Context, q query, out *output) error {
	var batch pgconn.Batch
	if !q.write {
		if err := s.add(ctx, &batch, begin, nil); err != nil {
			return err
		}
	}
	if err := s.add(ctx, &batch, q.text, q.values); err != nil {
		return err
	}
	if !q.write {
		if err := s.add(ctx, &batch, rollback, nil); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := s.conn.ExecBatch(ctx, &batch)
	if q.write || results.NextResult() { // that of begin
		if results.NextResult() && !readRows(results.ResultReader(), q, out) {
			cancel() // the server need not go on
			_ = results.Close()
			return errUnread
		}
	}
	return results.Close()
}

// add adds a statement to a batch.
func (s session) add(ctx context.Context, batch *pgconn.Batch, text string, values []any) error {
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

// readRows reads the rows of a statement. It reports whether it has come to their end.
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
	for all := 0; r.NextRow(); all++ {
		if row = r.Values(); out.cut == "" {
			out.row(value)
		} else if !q.write && all > out.rows+spare {
			return false
		}
	}
	if tag, err := r.Close(); err == nil && q.write && !tag.Select() {
		out.affected = tag.RowsAffected()
	}
	return true
}

// statements are those that a connection has prepared, by their text.
type statements struct {
	made   int
	byText map[string]*pgconn.StatementDescription
}

// customKey is where a connection keeps its statements.
const customKey = "github.com/mcpbridge/mcpbridge/bridge/sql"

func (s session) prepared(ctx context.Context, text string) (*pgconn.StatementDescription, error) {
	all, _ := s.conn.CustomData()[customKey].(*statements)
	if all == nil {
		all = &statements{byText: map[string]*pgconn.StatementDescription{}}
		s.conn.CustomData()[customKey] = all
	}
	if st := all.byText[text]; st != nil {
		return st, nil
	}
	for text, old := range all.byText {
		if len(all.byText) < maxStmts {
			break
		}
		if text == begin || text == rollback {
			continue
		}
		if err := s.conn.Deallocate(ctx, old.Name); err != nil {
			return nil, err
		}
		delete(all.byText, text)
	}
	all.made++
	st, err := s.conn.Prepare(ctx, "mcpbridge_"+strconv.Itoa(all.made), text, nil)
	if err != nil {
		return nil, err
	}
	all.byText[text] = st
	return st, nil
}
