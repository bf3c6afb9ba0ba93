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

// A sqliteEngine runs statements on a file, or on a database in memory. Those that read
// have connections of their own, which cannot write.
type sqliteEngine struct {
	readers, writers pool
	file             string // "" for a database in memory

	memory bool
	mu     sync.Mutex // guards what follows
	anchor *sql.Conn  // keeps a database in memory while nothing else does
}

// newSQLite makes an engine. rest is the URL behind sqlite:.
func newSQLite(rest, dir string, config poolConfig) (*sqliteEngine, error) {
	e := &sqliteEngine{memory: rest == "" || rest == ":memory:"}
	name := &url.URL{Scheme: "file", Path: strings.TrimPrefix(rest, "//")}
	switch {
	case e.memory:
		name.Path = "/" + rand.Text() // shared by the connections of this process that know it
	case strings.ContainsAny(rest, "?\x00"):
		return nil, errors.New("url: SQLite has no parameters here: expected sqlite:file")
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
	for _, it := range []struct {
		pool  *pool
		write bool
	}{{&e.readers, false}, {&e.writers, true}} {
		parameters := url.Values{"_busy_timeout": {"5000"}, "_defensive": {"1"}, "_error_rc": {"1"}, "mode": {"rw"}, "_foreign_keys": {"1"}}
		if !it.write {
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
		*it.pool = pool{config: config, connector: connector{inner, setupSQLite}, formatOf: sqliteFormat}
	}
	e.writers.config.open = 1 // SQLite has one writer at a time
	return e, nil
}

func (e *sqliteEngine) run(ctx context.Context, q query, out *output) error {
	if err := e.hold(ctx); err != nil {
		return err
	}
	pool := &e.readers
	if q.write {
		pool = &e.writers
	}
	if err := pool.run(ctx, q, out); err != nil {
		return fmt.Errorf("%s: %w", cmp.Or(e.file, ":memory:"), err)
	}
	return nil
}

// hold keeps a database in memory.
func (e *sqliteEngine) hold(ctx context.Context) error {
	if !e.memory {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.anchor != nil {
		return nil
	}
	db, err := e.writers.open()
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(2) // with the anchor
	e.anchor, err = db.Conn(ctx)
	return err
}

func (e *sqliteEngine) close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var err error
	if e.anchor != nil {
		err = e.anchor.Close()
	}
	return errors.Join(err, e.readers.close(), e.writers.close())
}

// maxValue bounds a string or a blob that SQLite makes, in bytes.
const maxValue = 64 << 20

// setupSQLite prepares a connection: it reaches no other file than its own, and can be
// interrupted.
func setupSQLite(_ context.Context, c driver.Conn) (stopper, error) {
	// The driver does not show the handle, which sqlite3_interrupt needs.
	handle := reflect.Indirect(reflect.ValueOf(c)).FieldByName("db")
	if !handle.IsValid() || !handle.CanUint() || handle.Uint() == 0 {
		return nil, errors.New("sqlite: the driver's connection has no handle: a query could not be stopped")
	}
	db := uintptr(handle.Uint())
	tls := libc.NewTLS() // that of the connection may be in use
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

// interruptEvery is how often a statement is interrupted until it ends: SQLite forgets
// an interrupt that comes before the first step.
const interruptEvery = 10 * time.Millisecond

// sqliteFormat is how the values of a column become JSON, by the type that the table
// declares. SQLite itself has no booleans, dates or JSON.
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
