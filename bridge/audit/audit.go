package audit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
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
	opts   Options
	reader *observe.Reader
	file   logfile.File
	last   last
	lines  []byte
	faulty bool // the last attempt to write has failed
	ended  chan struct{}
	closed sync.Once
}

// last is the line at the end of the chain.
type last struct {
	Count int64  `json:"count"` // of lines, since the first of all files
	Hash  string `json:"hash"`
}

// Open writes a line for each call of a stream from now on, until Close. While it cannot, the calls that end
// wait, once there are some thousands of them.
func Open(s *observe.Stream, opts Options) (*Log, error) {
	l := &Log{
		opts:  opts,
		file:  logfile.File{Path: opts.Path, Most: int64(cmp.Or(opts.MaxBytes, 16<<20)), Keep: cmp.Or(opts.Files, 4)},
		ended: make(chan struct{}),
	}
	l.opts.Log = cmp.Or(opts.Log, slog.New(slog.DiscardHandler))
	l.file.Resolve()
	l.file.Follow = l.last.follow
	if err := l.open(); err != nil {
		return nil, err
	}
	l.reader = s.Read(observe.Reading{Arguments: true, All: true}, l.write)
	return l, nil
}

// open opens the file, and finds where the chain ends.
func (l *Log) open() error {
	if err := l.file.Lock(); err != nil {
		return err
	}
	defer l.file.Unlock()
	if err := l.file.Open(); err != nil {
		return err
	}
	if head, _, _ := readHead(l.file.Path); l.last.Count == 0 || head.Count > l.last.Count {
		l.last = head // lines were removed: the next one tells that
	}
	return nil
}

// Close writes the calls that have ended so far, for up to 5 s.
func (l *Log) Close() {
	l.closed.Do(func() { close(l.ended) })
	l.reader.Close()
	l.file.Close()
}

// pause is the time between two attempts to write.
const pause = time.Second

// write writes lines for calls, however long it takes.
func (l *Log) write(calls []observe.Call) {
	for {
		left, err := l.tryWrite(calls)
		if calls = left; err != nil && !l.faulty {
			l.opts.Log.Error("the audit cannot be written, and calls will wait for it: it is tried again every second", "file", l.file.Path, "error", err)
		}
		if err == nil && l.faulty {
			l.opts.Log.Info("the audit is written again", "file", l.file.Path)
		}
		if l.faulty = err != nil; !l.faulty {
			return
		}
		select {
		case <-time.After(pause):
		case <-l.ended:
			if left, err = l.tryWrite(calls); len(left) > 0 {
				l.opts.Log.Error("calls are missing in the audit", "file", l.file.Path, "calls", len(left), "error", err)
			}
			return
		}
	}
}

// tryWrite returns the calls that are yet to be written, with an error. Without any, that is one of the head file.
func (l *Log) tryWrite(calls []observe.Call) (left []observe.Call, err error) {
	if err := l.file.Lock(); err != nil {
		return calls, err
	}
	defer l.file.Unlock()
	if err := l.file.Catch(); err != nil {
		return calls, err
	}
	next := l.last
	l.lines = l.lines[:0]
	for i := range calls {
		from := len(l.lines)
		l.lines = l.appendLine(l.lines, &calls[i], next)
		next.end(l.lines[from : len(l.lines)-1])
		next.Count++
	}
	if len(calls) > 0 {
		if written, err := l.file.Write(l.lines); !written {
			return calls, err
		}
	}
	l.last = next
	return nil, l.keepHead()
}

// keepHead writes to the head file where the chain ends. It overwrites that file, since a new one each time would cost
// more than the lines do. The lock is held.
func (l *Log) keepHead() error {
	text, _ := json.Marshal(l.last) // cannot fail
	f, err := os.OpenFile(l.file.Path+headSuffix, os.O_WRONLY|os.O_CREATE, 0o600)
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
