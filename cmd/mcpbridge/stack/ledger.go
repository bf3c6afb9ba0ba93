package stack

import (
	"cmp"
	"fmt"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/ledger"
)

// openLedger opens the book of the calls that may change something, if the config has one.
func (s *Stack) openLedger(path string) error {
	if !s.cfg.Ledger.Enabled {
		return nil
	}
	if path = cmp.Or(s.cfg.Ledger.File, path); path == "" {
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
