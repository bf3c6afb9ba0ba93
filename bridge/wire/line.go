package wire

import (
	"bytes"
	"io"
)

// A LineReader reads messages, one a line, into pooled buffers. It is for one goroutine.
type LineReader struct {
	limit int // of a line, in bytes
	w     *window
}

// NewLineReader returns a reader of lines of at most limit bytes without their end.
func NewLineReader(r io.Reader, limit int) *LineReader {
	return &LineReader{limit: limit, w: newWindow(r, limit, false)}
}

// Read returns the next line that is not empty, without its LF or CRLF, in a Buffer that becomes
// the caller's. The last line need not have an end. A [*TooLongError] is for a line over the limit,
// which was skipped without keeping it in memory: the next Read goes on behind it. Any other error
// is the stream's, [io.EOF] at its end, and final.
func (l *LineReader) Read() (*Buffer, error) {
	for {
		line, err := l.w.line()
		if err == errUnended {
			return nil, &TooLongError{Limit: l.limit, Size: l.w.skipLine()}
		}
		if err != nil && (err != io.EOF || len(line) == 0) {
			return nil, err
		}
		line = bytes.TrimSuffix(line, cr)
		if len(line) > l.limit {
			return nil, &TooLongError{Limit: l.limit, Size: len(line)}
		}
		if len(line) > 0 {
			return l.w.detach(line), nil
		}
	}
}

var cr = []byte("\r")
