package stack

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/ledger"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

// openLedger opens the book of the calls that may change something, if the config has one.
func (s *Stack) openLedger(folder string) error {
	if !s.cfg.Ledger.Enabled {
		return nil
	}
	path := LedgerFile(folder, s.cfg)
	if path == "" {
		return fmt.Errorf(`%s: ledger: there is no folder for it: name a "file"`, s.cfg.Path)
	}
	l := s.cfg.Ledger
	var err error
	s.book, err = s.pool.books.take(ledger.Options{
		Path: path, MaxBytes: l.MaxBytes, Files: l.Files, Keep: l.Keep, MaxResult: l.Result, Sync: l.Sync, Log: s.log,
	})
	if err != nil {
		return fmt.Errorf("%s: ledger: %w", s.cfg.Path, err)
	}
	return nil
}

// ledger has the calls written down that may change something, if the config says so.
func (s *Stack) ledger(source bridge.Source) bridge.Source {
	if s.book == nil {
		return source
	}
	return s.book.Wrap(source)
}

// LedgerFile returns the file of a config's ledger: its own, else one in a folder; "" if there is none.
func LedgerFile(folder string, cfg *config.Config) string {
	if cfg.Ledger.File != "" || folder == "" || cfg.Path == "" {
		return cfg.Ledger.File
	}
	sum := sha256.Sum256([]byte(realPath(cfg.Path)))
	return filepath.Join(folder, hex.EncodeToString(sum[:16])+".jsonl")
}

// realPath returns the path by which a config is known, however it was named.
func realPath(config string) string {
	if real, err := filepath.EvalSymlinks(config); err == nil {
		config = real
	}
	if path, err := filepath.Abs(config); err == nil {
		config = path
	}
	return config
}

// books are those of the Stacks of a pool: Stacks with the same settings share one.
type books struct {
	mu   sync.Mutex // guards open, and their users
	open map[ledger.Options]*sharedBook
}

type sharedBook struct {
	*ledger.Book
	of    ledger.Options
	users int
}

// take returns the book for settings. give must be called for it.
func (b *books) take(opts ledger.Options) (*sharedBook, error) {
	of := opts
	of.Log = nil
	b.mu.Lock()
	defer b.mu.Unlock()
	own := b.open[of]
	if own == nil {
		book, err := ledger.Open(opts)
		if err != nil {
			return nil, err
		}
		if own = (&sharedBook{Book: book, of: of}); b.open == nil {
			b.open = map[ledger.Options]*sharedBook{}
		}
		b.open[of] = own
	}
	own.users++
	return own, nil
}

// give ends the use of a book, which may be nil.
func (b *books) give(book *sharedBook) {
	if book == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if book.users--; book.users == 0 {
		delete(b.open, book.of)
		book.Close()
	}
}
