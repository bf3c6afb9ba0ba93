package sql

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Kind is the kind sql. An API of the config, a database, is an [API], the spec of a definition a
// [Spec].
var Kind = bridge.NativeKind{Name: "sql", Aliases: []string{"jdbc"}, Spec: reflect.TypeFor[Spec](), Open: open}

// backend is a database. It implements bridge.Backend.
type backend struct {
	name    string // name of the API
	api     API
	jdbc    bool // the URL of the API is one of JDBC
	dialect dialect
	engine  engine
	secrets bridge.Secrets
	roots   *x509.CertPool // trusted certificate authorities; nil means the system's
	hidden  []string       // names of the config's hidden values
	specs   bridge.SpecDecoder[Spec]
}

// An engine runs statements on a database. It may be used from many goroutines, and connects when
// it is first used.
type engine interface {
	// run runs a statement and writes its rows or effects to out. An error may be the driver's
	// own.
	run(ctx context.Context, q query, out *output) error

	// close closes the connections. It comes after the last run.
	close() error
}

// A query is a statement with the values of one call.
type query struct {
	*statement
	text   string // as the driver gets it
	values []any  // nil, bool, string, int64, float64 or jsonText
	write  bool   // the statement may write
}

// open returns a backend without connecting.
func open(c bridge.BackendConfig) (bridge.Backend, error) {
	api, err := bridge.DecodeSpec[API](c.Subject("sql"), c.Config)
	if err != nil {
		return nil, err
	}
	b := &backend{name: c.Name, api: api, roots: c.Roots, hidden: c.Hidden}
	if err := b.connect(c.Dir); err != nil {
		return nil, fmt.Errorf("%s: %w", c.Subject("sql"), err)
	}
	if api.DriverClass != "" {
		c.Log.Info("driverClass is not needed and has no effect", "api", c.Name)
	}
	return b, nil
}

// Tool implements bridge.Backend. The notes name properties that are not parameters.
func (b *backend) Tool(definition toolformat.Tool, raw json.RawMessage) (bridge.Tool, []toolformat.Note, error) {
	spec, err := b.specs.Decode("sql", raw)
	if err != nil {
		return bridge.Tool{}, nil, err
	}
	t := &tool{backend: b, write: spec.Write, limits: limits{
		rows:  cmp.Or(spec.MaxRows, b.api.MaxRows, defaultRows),
		bytes: int(cmp.Or(spec.MaxBytes, b.api.MaxBytes, defaultBytes)),
	}}
	if t.statement, err = parse(b.dialect, spec.Query); err == nil {
		err = b.check(t.statement, spec)
	}
	var notes []toolformat.Note
	if err == nil {
		notes, err = compare(t.statement, native.NewNotes(definition, b.hidden))
	}
	if err != nil {
		return bridge.Tool{}, nil, fmt.Errorf("sql: %w", err)
	}
	return bridge.Tool{
		Tool: definition, Timeout: time.Duration(cmp.Or(spec.Timeout, b.api.Timeout)), ReadOnly: !spec.Write, Call: t.call,
		Placeholders: t.statement.names,
	}, notes, nil
}

// Close implements bridge.Backend.
func (b *backend) Close() error {
	if err := b.engine.close(); err != nil {
		return fmt.Errorf("sql: api %s: %s", b.name, b.secrets.Hide(err.Error()))
	}
	return nil
}

// A tool is a statement on a database.
type tool struct {
	*backend
	statement *statement
	limits    limits
	write     bool
}

// call implements bridge.Tool.Call.
func (t *tool) call(ctx context.Context, arguments json.RawMessage) (*toolformat.Result, error) {
	text, values, err := t.statement.bind(arguments)
	if err != nil {
		return nil, err
	}
	out := newOutput(t.limits)
	if err := t.engine.run(ctx, query{statement: t.statement, text: text, values: values, write: t.write}, out); err != nil {
		return nil, t.failure(ctx, err)
	}
	return out.result(), nil
}

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
	return toolformat.Errorf(toolformat.Unavailable, "the database %s cannot be reached or does not answer", t.name).Because(errors.New(t.secrets.Hide(err.Error())))
}

// statementFault returns the database's message about a faulty statement, or "" for any other
// error.
func statementFault(err error) string {
	var (
		conn *connectError
		lite *sqlite.Error
		pg   *pgconn.PgError
		my   *mysql.MySQLError
	)
	switch {
	case errors.As(err, &conn):
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
