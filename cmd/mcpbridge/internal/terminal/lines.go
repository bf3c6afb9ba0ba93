package terminal

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds a line, in bytes.
const maxLine = 1 << 20

// Lines reads lines on demand.
type Lines struct {
	in      *bufio.Scanner
	pending chan error // of the pending read; nil without one
}

// NewLines returns a reader of the lines of in.
func NewLines(in io.Reader) *Lines {
	l := &Lines{in: bufio.NewScanner(in)}
	l.in.Buffer(nil, maxLine)
	return l
}

// Read waits for the next line, or for the end of ctx. A read of a terminal cannot be canceled: the
// next Read gets its line, and the last read ends with the program.
func (l *Lines) Read(ctx context.Context) (string, error) {
	if l.pending == nil {
		l.pending = make(chan error, 1)
		go func(done chan<- error) {
			if l.in.Scan() {
				done <- nil
			} else {
				done <- cmp.Or(l.in.Err(), io.EOF)
			}
		}(l.pending)
	}
	select {
	case err := <-l.pending:
		l.pending = nil
		switch {
		case errors.Is(err, bufio.ErrTooLong):
			return "", fmt.Errorf("a line is longer than %d KiB", maxLine>>10)
		case err != nil:
			return "", err
		}
		return l.in.Text(), nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
