package terminal

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds a line that is typed or piped in.
const maxLine = 1 << 20

// Lines are read one at a time, and only when somebody wants one.
type Lines struct {
	in      *bufio.Scanner
	pending chan error // of the read under way; nil: there is none
}

// NewLines returns the lines of in.
func NewLines(in io.Reader) *Lines {
	l := &Lines{in: bufio.NewScanner(in)}
	l.in.Buffer(nil, maxLine)
	return l
}

// Read waits for the next line, or for the end of ctx. A read of a terminal cannot be
// called off: the next one takes its line, and the last ends with the program.
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
