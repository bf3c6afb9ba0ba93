package ledger

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/logfile"
)

// Options are the settings of Open. The zero value of all but Path works.
type Options struct {
	Path      string        // its folder is made, for the user alone
	MaxBytes  int           // of the file, before it becomes Path.1; 0 means 16 MiB
	Files     int           // old ones that are kept, Path.1 being the latest; 0 means 4
	Keep      time.Duration // for which a call is remembered; 0 means 30 days
	MaxResult int           // bytes of a result that are kept for a call with an idempotency key; 0 means 64 KiB
	Sync      bool          // a call waits until its line is on the disk, not only with the system
	Log       *slog.Logger  // gets the first of several errors of writing, and that keys are forgotten before Keep is over; nil discards
}

// A Book is a file of the calls that may change something. It may be used from many goroutines.
type Book struct {
	opts     Options
	instance string // which of the processes that write to the file this is

	writing sync.Mutex // guards file and owed, and is held while lines are written; taken before mu
	file    logfile.File
	owed    []byte // lines for calls that were not made, which go before all others

	mu      sync.Mutex        // guards what follows
	next    *batch            // of the lines that are yet to be written; may be nil or empty
	spare   *batch            // whose memory the next one gets
	timer   *time.Timer       // runs flushLate; nil before it is needed
	late    bool              // it runs
	others  time.Time         // of the last line of another process
	number  int64             // of the last call
	moves   int               // of the file
	cleared time.Time         // when calls were forgotten last
	faulty  bool              // the last outcome could not be written
	forgot  bool              // a key, before its time was over
	known   map[string]*entry // calls of other processes by their IDs
	keys    map[scope]*entry
	doubts  map[scope]*entry
	answers answers
}

// Open opens the book in a file.
func Open(opts Options) (*Book, error) {
	opts.MaxBytes, opts.Files = cmp.Or(opts.MaxBytes, 16<<20), cmp.Or(opts.Files, 4)
	opts.Keep, opts.MaxResult = cmp.Or(opts.Keep, 30*24*time.Hour), cmp.Or(opts.MaxResult, 64<<10)
	opts.Log = cmp.Or(opts.Log, slog.New(slog.DiscardHandler))
	b := &Book{
		opts: opts, instance: rand.Text()[:10], cleared: time.Now(),
		file:  logfile.File{Path: opts.Path, Most: int64(opts.MaxBytes), Keep: opts.Files, Unlocked: true},
		known: map[string]*entry{}, keys: map[scope]*entry{}, doubts: map[scope]*entry{},
	}
	b.file.Follow = b.follow
	b.file.Resolve()
	if err := b.file.Open(); err != nil {
		return nil, err
	}
	return b, nil
}

// Close closes the file, which a call that is yet to come or to end opens again.
func (b *Book) Close() {
	b.write(func(of *batch) bool { return len(of.lines) > 0 })
	b.writing.Lock()
	defer b.writing.Unlock()
	b.payOwed()
	b.file.Close()
}

// Wrap returns a source in front of another one whose calls are written down, unless their tool is known to
// be read-only. A call that cannot be written down is not made.
func (b *Book) Wrap(source bridge.Source) bridge.Source { return &booked{source, b} }

type booked struct {
	source bridge.Source
	book   *Book
}

// Open implements bridge.Source.
func (o *booked) Open(ctx context.Context, caller *bridge.Caller) (bridge.Session, error) {
	s := newSession(o.book, caller)
	var err error
	if s.Session, err = o.source.Open(ctx, s.tools.Follow(caller)); err != nil {
		return nil, err
	}
	return s, nil
}
