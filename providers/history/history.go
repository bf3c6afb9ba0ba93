package history

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
)

// A Store is a providers.Store in a file.
type Store struct {
	db   *sql.DB
	path string
}

var _ providers.Store = (*Store)(nil)

// Open opens the file, or creates it and its folder, readable by their owner only. The Store
// must be closed. For a file of a newer version of this program Open returns an error, and
// leaves the file alone.
func Open(ctx context.Context, path string) (*Store, error) {
	s := &Store{path: path}
	if err := s.open(ctx); err != nil {
		if s.db != nil {
			s.db.Close()
		}
		return nil, s.named(err)
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	full, err := filepath.Abs(s.path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(full, os.O_RDWR|os.O_CREATE, 0o600) // SQLite gives the files beside it the same mode
	if err != nil {
		return err
	}
	if err := errors.Join(file.Chmod(0o600), file.Close()); err != nil {
		return err
	}
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(full), RawQuery: url.Values{
		"mode": {"rw"}, "_txlock": {"immediate"}, "_busy_timeout": {"10000"}, "_foreign_keys": {"1"}, "_defensive": {"1"},
		"_pragma": {"journal_mode(wal)", "synchronous(full)"},
	}.Encode()}
	if name.Path[0] != '/' {
		name.Path = "/" + name.Path // C:/…
	}
	connector, err := sqlite.NewConnector(name.String())
	if err != nil {
		return err
	}
	s.db = sql.OpenDB(connector)
	s.db.SetMaxOpenConns(1) // SQLite has one writer at a time
	return s.migrate(ctx)
}

// Close closes the file.
func (s *Store) Close() error { return s.db.Close() }

// versions are the steps from each version of the schema to the next. A step that was
// released must not change.
var versions = []string{
	`CREATE TABLE conversation (
		id TEXT PRIMARY KEY,
		title TEXT NOT NULL,
		provider TEXT NOT NULL,
		model TEXT NOT NULL,
		system TEXT NOT NULL,
		created INTEGER NOT NULL, -- Unix ms
		updated INTEGER NOT NULL, -- Unix ms
		run TEXT NOT NULL         -- JSON of the last run, without its messages
	) STRICT;
	CREATE INDEX conversation_updated ON conversation (updated);
	CREATE TABLE message (
		conversation TEXT NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
		place INTEGER NOT NULL,
		body TEXT NOT NULL,       -- JSON
		PRIMARY KEY (conversation, place)
	) STRICT, WITHOUT ROWID;`,
	`CREATE TABLE spent (
		day TEXT NOT NULL,
		caller TEXT NOT NULL,
		cost REAL NOT NULL,       -- US dollars
		PRIMARY KEY (day, caller)
	) STRICT, WITHOUT ROWID;`,
}

// migrate updates the file to the latest version of the schema.
func (s *Store) migrate(ctx context.Context) error {
	return s.change(ctx, func(tx *sql.Tx) error {
		var version int
		if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
			return err
		}
		if version > len(versions) {
			return fmt.Errorf("its version is %d, and this program knows up to %d: use a newer mcpbridge, or another file", version, len(versions))
		}
		if version == len(versions) {
			return nil
		}
		for _, step := range versions[version:] {
			if _, err := tx.ExecContext(ctx, step); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", len(versions)))
		return err
	})
}

// change runs a transaction.
func (s *Store) change(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, ignoreDone(tx.Rollback()))
	}
	return tx.Commit()
}

// ignoreDone removes the error of a transaction that a context has ended.
func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// Save implements providers.Store. It writes only the messages that changed.
func (s *Store) Save(ctx context.Context, t *providers.Transcript) error {
	if t.ID == "" {
		return errors.New("history: the conversation has no ID")
	}
	return s.named(s.change(ctx, func(tx *sql.Tx) error { return save(ctx, tx, t) }))
}

// named names the file in an error, which may be nil.
func (s *Store) named(err error) error {
	if err != nil {
		err = fmt.Errorf("history %s: %w", s.path, err)
	}
	return err
}

func save(ctx context.Context, tx *sql.Tx, t *providers.Transcript) error {
	run := t.Run
	run.Messages = nil
	state, err := encode(&run)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO conversation (id, title, provider, model, system, created, updated, run) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET title = excluded.title, provider = excluded.provider, model = excluded.model,
		system = excluded.system, created = excluded.created, updated = excluded.updated, run = excluded.run`,
		t.ID, t.Title, t.Provider, t.Model, t.System, t.Created.UnixMilli(), t.Updated.UnixMilli(), state)
	if err != nil {
		return err
	}
	bodies := make([]string, len(t.Messages))
	for i := range t.Messages {
		if bodies[i], err = encode(&t.Messages[i]); err != nil {
			return err
		}
	}
	kept, err := messages(ctx, tx, t.ID)
	if err != nil {
		return err
	}
	same := 0
	for same < min(len(kept), len(bodies)) && kept[same] == bodies[same] {
		same++
	}
	if _, err = tx.ExecContext(ctx, "DELETE FROM message WHERE conversation = ? AND place >= ?", t.ID, same); err != nil {
		return err
	}
	for i := same; i < len(bodies); i++ {
		if _, err := tx.ExecContext(ctx, "INSERT INTO message (conversation, place, body) VALUES (?, ?, ?)", t.ID, i, bodies[i]); err != nil {
			return err
		}
	}
	return nil
}

// messages returns the stored messages of a conversation, in order.
func messages(ctx context.Context, tx *sql.Tx, id string) ([]string, error) {
	rows, err := tx.QueryContext(ctx, "SELECT body FROM message WHERE conversation = ? ORDER BY place", id)
	return collect(rows, err, func(read func(...any) error) (body string, err error) {
		err = read(&body)
		return body, err
	})
}

// collect returns what scan reads from each row of a query; err is the error of the query.
func collect[T any](rows *sql.Rows, err error, scan func(read func(...any) error) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		value, err := scan(rows.Scan)
		if err != nil {
			return nil, err
		}
		all = append(all, value)
	}
	return all, rows.Err()
}

// Load implements providers.Store.
func (s *Store) Load(ctx context.Context, id string) (t *providers.Transcript, err error) {
	err = s.change(ctx, func(tx *sql.Tx) error {
		t, err = load(ctx, tx, id)
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("%w: %.60q", providers.ErrNoConversation, id)
	}
	return t, s.named(err)
}

const headingColumns = "id, title, provider, model, system, created, updated"

func load(ctx context.Context, tx *sql.Tx, id string) (*providers.Transcript, error) {
	var state string
	row := tx.QueryRowContext(ctx, "SELECT "+headingColumns+", run FROM conversation WHERE id = ?", id)
	heading, err := scan(row.Scan, &state)
	if err != nil {
		return nil, err
	}
	bodies, err := messages(ctx, tx, id)
	if err != nil {
		return nil, err
	}
	// Unmarshal validates and repairs the transcript.
	whole := wire.SetMember([]byte(state), "messages", []byte("["+strings.Join(bodies, ",")+"]"))
	t := new(providers.Transcript)
	if err := json.Unmarshal(whole, t); err != nil {
		return nil, err
	}
	t.Heading = heading
	return t, nil
}

// scan reads a row of headingColumns and further columns.
func scan(read func(...any) error, more ...any) (h providers.Heading, err error) {
	var created, updated int64
	err = read(append([]any{&h.ID, &h.Title, &h.Provider, &h.Model, &h.System, &created, &updated}, more...)...)
	h.Created, h.Updated = time.UnixMilli(created).UTC(), time.UnixMilli(updated).UTC()
	return h, err
}

// List implements providers.Store.
func (s *Store) List(ctx context.Context, most int) ([]providers.Heading, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT "+headingColumns+" FROM conversation ORDER BY updated DESC, id LIMIT ?", cmp.Or(max(0, most), 100))
	all, err := collect(rows, err, func(read func(...any) error) (providers.Heading, error) { return scan(read) })
	return all, s.named(err)
}

// encode returns JSON, with <, > and & unescaped.
func encode(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return string(bytes.TrimSpace(b.Bytes())), err
}
