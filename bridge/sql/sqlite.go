package sql

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"time"

	"modernc.org/libc"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// A sqliteEngine runs statements on a file or on a database in memory.
type sqliteEngine struct {
	pools
	file string // "" for a database in memory

	memory bool
	mu     sync.Mutex // guards held
	held   *sql.Conn  // see hold
}

// newSQLite returns an engine. rest is the URL after sqlite:.
func newSQLite(rest, dir string, config poolConfig) (*sqliteEngine, error) {
	e := &sqliteEngine{memory: rest == "" || rest == ":memory:"}
	name := &url.URL{Scheme: "file", Path: strings.TrimPrefix(rest, "//")}
	switch {
	case e.memory:
		name.Path = "/" + rand.Text() // a name that the connections of this engine share
	case strings.ContainsAny(rest, "?\x00"):
		return nil, errors.New("url: parameters are not supported for SQLite: expected sqlite:file")
	default:
		if !filepath.IsAbs(name.Path) {
			name.Path = filepath.Join(dir, name.Path)
		}
		path, err := filepath.Abs(name.Path)
		if err != nil {
			return nil, fmt.Errorf("url: %w", err)
		}
		e.file = path
		if name.Path = filepath.ToSlash(path); name.Path[0] != '/' {
			name.Path = "/" + name.Path // C:/…
		}
	}
	for _, p := range []*pool{&e.readers, &e.writers} {
		parameters := url.Values{"_busy_timeout": {"5000"}, "_defensive": {"1"}, "_error_rc": {"1"}, "mode": {"rw"}, "_foreign_keys": {"1"}}
		if p == &e.readers {
			parameters.Set("mode", "ro")
			parameters.Set("_query_only", "1")
		}
		if e.memory {
			parameters.Set("vfs", "memdb")
		}
		name.RawQuery = parameters.Encode()
		inner, err := sqlite.NewConnector(name.String())
		if err != nil {
			return nil, fmt.Errorf("url: %w", err)
		}
		*p = pool{config: config, connector: connector{inner, setupSQLite, forgetInsert}, formatOf: sqliteFormat}
	}
	e.writers.config.open = 1 // SQLite has one writer at a time
	return e, nil
}

func (e *sqliteEngine) run(ctx context.Context, q query, out *output) error {
	if err := e.hold(ctx); err != nil {
		return err
	}
	if err := e.pools.run(ctx, q, out); err != nil {
		return fmt.Errorf("%s: %w", cmp.Or(e.file, ":memory:"), err)
	}
	return nil
}

// hold keeps a connection to a database in memory open until close. Without one, the database would
// be lost whenever no call runs.
func (e *sqliteEngine) hold(ctx context.Context) error {
	if !e.memory {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.held != nil {
		return nil
	}
	db, err := e.writers.open()
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(2) // one is held
	e.held, err = db.Conn(ctx)
	return err
}

func (e *sqliteEngine) close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var err error
	if e.held != nil {
		err = e.held.Close()
	}
	return errors.Join(err, e.pools.close())
}

// maxValue bounds a string or a blob that SQLite makes, in bytes.
const maxValue = 64 << 20

// setupSQLite keeps a connection from attaching other files, and returns a stopper that interrupts
// it.
func setupSQLite(_ context.Context, c driver.Conn) (stopper, error) {
	db := handleOf(c)
	if db == 0 {
		return nil, errors.New("sqlite: the driver's connection has no handle: queries could not be stopped")
	}
	tls := libc.NewTLS() // the connection's own may be in use
	defer tls.Close()
	sqlite3.Xsqlite3_limit(tls, db, sqlite3.SQLITE_LIMIT_ATTACHED, 0)
	sqlite3.Xsqlite3_limit(tls, db, sqlite3.SQLITE_LIMIT_LENGTH, maxValue)
	return func(over <-chan struct{}) {
		tls := libc.NewTLS()
		defer tls.Close()
		again := time.NewTicker(interruptEvery)
		defer again.Stop()
		for {
			sqlite3.Xsqlite3_interrupt(tls, db)
			select {
			case <-over:
				return
			case <-again.C:
			}
		}
	}, nil
}

// handleOf returns SQLite's handle of a connection, which the driver does not export; 0 without one.
func handleOf(c driver.Conn) uintptr {
	handle := reflect.Indirect(reflect.ValueOf(c)).FieldByName("db")
	if !handle.IsValid() || !handle.CanUint() {
		return 0
	}
	return uintptr(handle.Uint())
}

// forgetInsert makes a connection forget the id of the last row inserted. An upsert that updates, or a
// table without such ids, leaves it as it was.
func forgetInsert(c driver.Conn) {
	tls := libc.NewTLS()
	defer tls.Close()
	sqlite3.Xsqlite3_set_last_insert_rowid(tls, handleOf(c), 0)
}

// interruptEvery is the interval of interrupts until a statement ends: SQLite forgets an interrupt
// that comes before the first step.
const interruptEvery = 10 * time.Millisecond

// sqliteFormat returns the format of a column by its declared type. SQLite itself does not have
// booleans, dates or JSON.
func sqliteFormat(declared string) format {
	switch declared {
	case "BOOLEAN", "BOOL":
		return boolean
	case "DATE":
		return date
	case "JSON":
		return object
	}
	return asIs
}
