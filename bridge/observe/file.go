package observe

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/internal/logfile"
)

// FileOptions are the settings of OpenFile. The zero value of all but Path works.
type FileOptions struct {
	Path      string       // its folder is made, for the user alone
	MaxBytes  int          // of the file, before it becomes Path.1; 0 means 16 MiB
	Files     int          // old ones that are kept, Path.1 being the latest; 0 means 4
	Arguments bool         // lines have the arguments of calls, up to 64 KiB
	Log       *slog.Logger // gets the first of several errors of writing; nil discards
}

// A File is a file to which a line of JSON is written for each call.
type File struct {
	reader *Reader
	log    *slog.Logger
	out    logfile.File
	lines  []byte // not yet written
	count  int    // calls in lines, and those lost before them
	lost   int    // calls since the last line that was written
	faulty bool   // the last write had an error
}

// OpenFile writes a line for each call from now on, until Close. A line is written within a second of the
// end of its call. Several processes may write to one file.
func OpenFile(s *Stream, opts FileOptions) (*File, error) {
	f := &File{
		log: cmp.Or(opts.Log, slog.New(slog.DiscardHandler)),
		out: logfile.File{Path: opts.Path, Most: int64(cmp.Or(opts.MaxBytes, 16<<20)), Keep: cmp.Or(opts.Files, 4)},
	}
	f.out.Resolve()
	if err := f.out.Open(); err != nil {
		return nil, err
	}
	f.reader = s.Read(Reading{Arguments: opts.Arguments, Every: time.Second}, f.write)
	return f, nil
}

// Close writes the calls that have ended so far.
func (f *File) Close() {
	f.reader.Close()
	f.out.Close()
}

// chunk is how many bytes of lines are written at once.
const chunk = 32 << 10

func (f *File) write(calls []Call) {
	for i := range calls {
		c := calls[i]
		f.count += 1 + c.Lost
		if len(f.lines) == 0 {
			c.Lost += f.lost
		}
		if f.lines = appendLine(f.lines, &c); len(f.lines) >= chunk {
			f.writeLines()
		}
	}
	if len(f.lines) > 0 {
		f.writeLines()
	}
}

func (f *File) writeLines() {
	written, err := f.out.Write(f.lines)
	if err != nil && !f.faulty {
		f.log.Warn("the record of calls cannot be written as it should be; it is tried again with each call", "file", f.out.Path, "error", err)
	}
	switch {
	case !written:
		f.lost += f.count
	case f.lost > 0:
		f.log.Info("calls are recorded again", "file", f.out.Path, "lost", f.lost)
		f.lost = 0
	}
	f.faulty, f.lines, f.count = err != nil, f.lines[:0], 0
}
