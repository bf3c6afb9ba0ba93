package sql

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
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

// jdbcPostgres names the parameters of PostgreSQL's JDBC driver: see jdbcDriver.
var jdbcPostgres = map[string]string{
	"ssl": "sslmode", "sslmode": "sslmode", "sslrootcert": "sslrootcert", "sslcert": "sslcert", "sslkey": "sslkey",
	"currentSchema": "search_path", "ApplicationName": "application_name", "connectTimeout": "connect_timeout",
	"loginTimeout": "", "tcpKeepAlive": "", "reWriteBatchedInserts": "", "stringtype": "",
}

// encryptPostgres gives ssl=true its meaning in JDBC, to verify the server's certificate and name.
func encryptPostgres(p url.Values) {
	switch mode := p.Get("sslmode"); {
	case mode == "true", mode == "" && p.Has("sslmode"):
		p.Set("sslmode", "verify-full")
	case mode == "false":
		p.Set("sslmode", "disable")
	}
}

// newPostgres returns an engine. rest is the URL after postgres:.
func (b *backend) newPostgres(rest string) (*postgresEngine, error) {
	u, err := b.address("postgres", rest, jdbcDriver{jdbcPostgres, encryptPostgres})
	if err != nil {
		return nil, err
	}
	c, err := pgx.ParseConfig(u.String())
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	b.secrets.Add(c.Password)                   // from the environment or a file
	c.RuntimeParams["client_encoding"] = "UTF8" // else it is that of the database
	c.RuntimeParams["datestyle"] = "ISO"
	c.RuntimeParams["standard_conforming_strings"] = "on" // as the scanner expects
	if !hasZone(c.RuntimeParams) {
		c.RuntimeParams["timezone"] = "UTC" // else it is that of the server
	}
	c.MaxProtocolMessageBodyLen = maxValue
	for _, settings := range append(c.Fallbacks, &pgconn.FallbackConfig{TLSConfig: c.TLSConfig}) {
		if settings.TLSConfig != nil && settings.TLSConfig.RootCAs == nil { // no sslrootcert
			settings.TLSConfig.RootCAs = b.roots
		}
	}
	c.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler { return &canceler{conn: conn} }
	return &postgresEngine{
		pool:     pool{config: b.api.pool(), connector: connector{Connector: stdlib.GetConnector(*c)}},
		prepares: c.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement,
	}, nil
}

// hasZone reports whether the parameters of a connection, from its URL or the environment, set its time zone.
func hasZone(parameters map[string]string) bool {
	for name, value := range parameters {
		if strings.EqualFold(name, "timezone") || name == "options" && zoneOption().MatchString(value) {
			return true
		}
	}
	return false
}

// zoneOption matches the option of a server that sets the time zone: -c timezone=UTC, --timezone=UTC.
var zoneOption = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:^|\s)(?:-c\s*|--)timezone=`)
})

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
			s := session{c.(*stdlib.Conn).Conn(), e.prepares}
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
	*pgx.Conn
	prepares bool
}

// restoreTimeout bounds the rollback of a failed transaction and the closing of a connection.
const restoreTimeout = 5 * time.Second

// restore returns the connection to its state before the statement, or else closes it. It returns
// the statement's error.
func (s session) restore(ctx context.Context, err error) error {
	conn := s.PgConn()
	dirty := ctx.Err() != nil || err == errUnread || isStale(err) // a late cancel request may follow, and other statements may be stale
	if !conn.IsClosed() && (dirty || conn.TxStatus() != 'I') {
		ctx, cancel := context.WithTimeout(context.Background(), restoreTimeout)
		defer cancel()
		if !dirty {
			_, failed := conn.Exec(ctx, rollback).ReadAll()
			dirty = failed != nil
		}
		if dirty {
			conn.Close(ctx)
		}
	}
	if conn.IsClosed() {
		<-conn.CleanupDone() // at most 15 s
	}
	if err == errUnread {
		return nil
	}
	return err
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
	if err := s.makeRoom(ctx, q.text); err != nil {
		return err
	}
	texts := []string{begin, q.text, rollback}
	if q.write {
		texts = texts[1:2]
	}
	var batch pgconn.Batch
	for _, text := range texts {
		var values []any
		if text == q.text {
			values = q.values
		}
		if !s.prepares {
			batch.ExecParams(text, parameters(values, nil, nil), nil, nil, nil)
			continue
		}
		st, err := s.Prepare(ctx, text, text) // once on each connection
		if err != nil {
			return err
		}
		if err := s.learnTypes(ctx, st); err != nil {
			return err
		}
		batch.ExecStatement(st, parameters(values, s.formatOf, st.ParamOIDs), nil, nil)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := s.PgConn().ExecBatch(ctx, &batch)
	if q.write || results.NextResult() { // the result of begin
		if results.NextResult() && !s.readRows(results.ResultReader(), q, out) {
			cancel() // the server can stop
			_ = results.Close()
			return errUnread
		}
	}
	return results.Close()
}

// preparedKey is the key of the texts of a connection's statements in its custom data.
const preparedKey = "github.com/mcpbridge/mcpbridge/bridge/sql"

// makeRoom bounds the prepared statements of the connection to maxStmts when it gets another one.
func (s session) makeRoom(ctx context.Context, text string) error {
	if !s.prepares {
		return nil
	}
	texts, _ := s.PgConn().CustomData()[preparedKey].(map[string]bool)
	if texts == nil {
		texts = map[string]bool{}
		s.PgConn().CustomData()[preparedKey] = texts
	}
	if !texts[text] && len(texts) >= maxStmts-2 { // and those of the transaction
		if err := s.DeallocateAll(ctx); err != nil {
			return err
		}
		clear(texts)
	}
	texts[text] = true
	return nil
}

// firstOwnType is the first object id of what a database defines (FirstNormalObjectId).
const firstOwnType = 16384

// typesKey is the key of the formats of types that the database defines, in a connection's custom
// data.
const typesKey = preparedKey + " types"

// formatOf returns the format of a type that is built in or that learnTypes has learned.
func (s session) formatOf(oid uint32) pgFormat {
	if oid >= firstOwnType {
		own, _ := s.PgConn().CustomData()[typesKey].(map[uint32]pgFormat)
		return own[oid] // text, unless it is known
	}
	return postgresFormat(s.TypeMap(), oid)
}

// learnTypes asks the database which of its own types in a statement are arrays, once on each
// connection.
func (s session) learnTypes(ctx context.Context, st *pgconn.StatementDescription) error {
	own, _ := s.PgConn().CustomData()[typesKey].(map[uint32]pgFormat)
	var unknown []uint32
	add := func(oid uint32) {
		if _, known := own[oid]; oid >= firstOwnType && !known {
			unknown = append(unknown, oid)
		}
	}
	for _, f := range st.Fields {
		add(f.DataTypeOID)
	}
	for _, oid := range st.ParamOIDs {
		add(oid)
	}
	if unknown == nil {
		return nil
	}
	if own == nil {
		own = map[uint32]pgFormat{}
		s.PgConn().CustomData()[typesKey] = own
	}
	text := "{"
	for i, oid := range unknown {
		if own[oid] = (pgFormat{}); i > 0 {
			text += ","
		}
		text += strconv.FormatUint(uint64(oid), 10)
	}
	r := s.PgConn().ExecParams(ctx, arraysQuery, [][]byte{[]byte(text + "}")}, nil, nil, nil).Read()
	for _, row := range r.Rows {
		array, _ := strconv.ParseUint(string(row[0]), 10, 32)
		item, _ := strconv.ParseUint(string(row[1]), 10, 32)
		own[uint32(array)] = pgFormat{s.formatOf(uint32(item)).format, row[2][0]}
	}
	return r.Err
}

// arraysQuery selects the array types of a list, the types of their items and the delimiters. An
// array of a domain has items of its base type.
const arraysQuery = `SELECT a.oid, coalesce(nullif(e.typbasetype, 0), e.oid), e.typdelim FROM pg_catalog.pg_type a
	JOIN pg_catalog.pg_type e ON e.oid = a.typelem WHERE a.typcategory = 'A' AND a.oid = ANY($1::oid[])`

// readRows reads the rows of a statement and reports whether it reached the end.
func (s session) readRows(r *pgconn.ResultReader, q query, out *output) bool {
	fields := r.FieldDescriptions()
	names, formats := make([]string, len(fields)), make([]pgFormat, len(fields))
	for i, f := range fields {
		names[i], formats[i] = f.Name, s.formatOf(f.DataTypeOID)
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

// A canceler asks the server to end the statement of a connection whose context has ended. It
// implements pgx's ctxwatch.Handler. The driver's own asks once, which has no effect if the request
// overtakes the statement.
type canceler struct {
	conn *pgconn.PgConn
	stop context.CancelFunc
	done chan struct{} // closed after the last request
}

const (
	cancelEvery   = 50 * time.Millisecond
	cancelTimeout = 5 * time.Second // after which the connection is closed
)

// HandleCancel implements ctxwatch.Handler.
func (c *canceler) HandleCancel(context.Context) {
	ctx, stop := context.WithTimeout(context.Background(), cancelTimeout)
	c.stop, c.done = stop, make(chan struct{})
	_ = c.conn.Conn().SetDeadline(time.Now().Add(cancelTimeout))
	go func() {
		defer close(c.done)
		again := time.NewTicker(cancelEvery)
		defer again.Stop()
		for ctx.Err() == nil {
			_ = c.conn.CancelRequest(ctx)
			select {
			case <-ctx.Done():
			case <-again.C:
			}
		}
	}()
}

// HandleUnwatchAfterCancel implements ctxwatch.Handler. By then the statement has ended.
func (c *canceler) HandleUnwatchAfterCancel() {
	c.stop()
	<-c.done
	_ = c.conn.Conn().SetDeadline(time.Time{})
}
