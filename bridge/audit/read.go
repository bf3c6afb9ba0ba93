package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/internal/logfile"
)

// A Line is a call in the audit. What is not said of its fields is as in [observe.Call].
type Line struct {
	N         int64     // the number of the line, from 1 on
	Time      time.Time // when the call began
	Principal string
	Profile   string
	Client    string // its name, and Version that of it, by its own account
	Version   string
	Model     string
	Method    string
	Target    string
	Server    string
	MS        float64 // milliseconds until it ended
	In, Out   int     // bytes
	Outcome   string
	Reason    string
	Decision  string
	Rule      string
	By        string
	Found     string // by scanning
}

// Read gives each line of a file and of its old files to a function, oldest first, as it is and as what it
// says, until the next one is read. Lines that a crash has torn are left out. No file is an error, and so is the end of
// ctx.
func Read(ctx context.Context, path string, each func(raw []byte, l *Line)) error {
	return readFiles(ctx, path, func(_ string, _ int, line []byte) {
		var l Line
		if json.Unmarshal(line, &l) == nil && l.N > 0 {
			each(line, &l)
		}
	})
}

// readFiles gives each line to a function, with its file and its number in that.
func readFiles(ctx context.Context, path string, each func(file string, n int, line []byte)) error {
	files, err := logfile.OpenAll(path)
	if err == nil && len(files) == 0 {
		err = &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	if err != nil {
		return err
	}
	for _, file := range files {
		defer file.Close()
	}
	for _, file := range files {
		n := 0
		err := logfile.Lines(contextReader{ctx, file}, func(line []byte) {
			n++
			each(file.Name(), n, line)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", file.Name(), err)
		}
	}
	return nil
}

// contextReader reads until ctx ends.
type contextReader struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
