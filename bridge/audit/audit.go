package audit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/internal/logfile"
	"github.com/mcpbridge/mcpbridge/bridge/observe"
)

// Options are the settings of Open. The zero value of all but Path works.
type Options struct {
	Path     string       // its folder is made, for the user alone
	MaxBytes int          // of the file, before it becomes Path.1; 0 means 16 MiB
	Files    int          // old ones that are kept, Path.1 being the latest; 0 means 4
	Values   bool         // lines have the arguments of calls, up to 64 KiB, and not their names alone
	Hidden   []string     // names of arguments whose values are left out, in any letter case
	Log      *slog.Logger // gets the first of several errors of writing; nil discards
}

// A Log is a file to which a line is written for each call.
type Log struct {
	reader *observe.Reader
	faulty bool // the last attempt to write has failed
	ended  chan struct{}
	closed sync.Once

	mu      sync.Mutex // guards what follows, and is held during an attempt
	chain   *chain
	missing int   // calls that have no line though the Log has ended
	fault   error // why
}

// chain is the file of a Log, with its settings.
type chain struct {
	opts  Options
	file  logfile.File
	last  last
	lines []byte
}

// last is the line at the end of the chain.
type last struct {
	Count int64  `json:"count"` // of lines, since the first of all files
	Hash  string `json:"hash"`
}

// Open writes a line for each call of a stream from now on, until Close. While it cannot, the calls that end
// wait, once there are some thousands of them.
func Open(s *observe.Stream, opts Options) (*Log, error) {
	c, err := open(opts)
	if err != nil {
		return nil, err
	}
	l := &Log{chain: c, ended: make(chan struct{})}
	l.reader = s.Read(observe.Reading{Arguments: true, All: true}, l.write)
	return l, nil
}

// Configure changes the settings, for all calls that have no line yet. If it fails, they stay as they were.
func (l *Log) Configure(opts Options) error {
	next, err := open(opts)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.chain.file.Close()
	l.chain = next
	return nil
}

// open opens a file, and finds where its chain ends.
func open(opts Options) (*chain, error) {
	opts.Log = cmp.Or(opts.Log, slog.New(slog.DiscardHandler))
	c := &chain{opts: opts, file: logfile.File{Path: opts.Path, Most: int64(cmp.Or(opts.MaxBytes, 16<<20)), Keep: cmp.Or(opts.Files, 4)}}
	c.file.Resolve()
	c.file.Follow = c.last.follow
	if err := c.file.Lock(); err != nil {
		return nil, err
	}
	defer c.file.Unlock()
	if err := c.file.Open(); err != nil {
		return nil, err
	}
	if head, _, _ := readHead(c.file.Path); c.last.Count == 0 || head.Count > c.last.Count {
		c.last = head // lines were removed: the next one tells that
	}
	return c, nil
}

// Close writes the calls that have ended so far, for up to 5 s. The error says how many calls could not be
// written.
func (l *Log) Close() error {
	l.closed.Do(func() { close(l.ended) })
	l.reader.Close()
	if !l.mu.TryLock() {
		return errors.New("the audit is still being written: the last calls may be missing in it")
	}
	defer l.mu.Unlock()
	l.chain.file.Close()
	if l.missing > 0 {
		return fmt.Errorf("calls that are missing in the audit: %d: %w", l.missing, l.fault)
	}
	return nil
}

// pause is the time between two attempts to write.
const pause = time.Second

// write writes lines for calls, however long it takes.
func (l *Log) write(calls []observe.Call) {
	for {
		c, left, err := l.tryWrite(calls)
		if calls = left; err != nil && !l.faulty {
			c.opts.Log.Error("the audit cannot be written, and calls will wait for it: it is tried again every second", "file", c.file.Path, "error", err)
		}
		if err == nil && l.faulty {
			c.opts.Log.Info("the audit is written again", "file", c.file.Path)
		}
		if l.faulty = err != nil; !l.faulty {
			return
		}
		select {
		case <-time.After(pause):
		case <-l.ended:
			l.tryLast(calls)
			return
		}
	}
}

// tryLast is the last attempt to write lines for calls.
func (l *Log) tryLast(calls []observe.Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if left, err := l.chain.tryWrite(calls); len(left) > 0 {
		l.missing += len(left)
		l.fault = err
	}
}

// tryWrite is an attempt to write lines for calls, and returns of which file.
func (l *Log) tryWrite(calls []observe.Call) (c *chain, left []observe.Call, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	left, err = l.chain.tryWrite(calls)
	return l.chain, left, err
}

// tryWrite returns the calls that are yet to be written, with an error. Without any, that is one of the head file.
func (c *chain) tryWrite(calls []observe.Call) (left []observe.Call, err error) {
	if err := c.file.Lock(); err != nil {
		return calls, err
	}
	defer c.file.Unlock()
	if err := c.file.Catch(); err != nil {
		return calls, err
	}
	next := c.last
	c.lines = c.lines[:0]
	for i := range calls {
		from := len(c.lines)
		c.lines = c.appendLine(c.lines, &calls[i], next)
		next.end(c.lines[from : len(c.lines)-1])
		next.Count++
	}
	if len(calls) > 0 {
		if written, err := c.file.Write(c.lines); !written {
			return calls, err
		}
	}
	c.last = next
	return nil, c.keepHead()
}

// keepHead writes to the head file where the chain ends. It overwrites that file, since a new one each time would cost
// more than the lines do. The lock is held.
func (c *chain) keepHead() error {
	text, _ := json.Marshal(c.last) // cannot fail
	f, err := os.OpenFile(c.file.Path+headSuffix, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	n, err := f.Write(append(text, '\n'))
	if err == nil {
		err = f.Truncate(int64(n))
	}
	return errors.Join(err, f.Close())
}

// headSuffix ends the name of the file that says where the chain ends.
const headSuffix = ".head"

// readHead reads where the chain of a file ends; ok is false if that was never written.
func readHead(path string) (at last, ok bool, err error) {
	text, err := os.ReadFile(path + headSuffix)
	for before := []byte(nil); err == nil && !bytes.Equal(text, before); { // it may just be written
		before = text
		text, err = os.ReadFile(path + headSuffix)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return last{}, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &at)
	}
	return at, err == nil, err
}
