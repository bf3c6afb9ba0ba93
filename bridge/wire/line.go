package wire

import (
	"bytes"
	"io"
)

// LineReader reads messages that are a line each into pooled buffers. It is for one goroutine.
type LineReader struct {
	limit int
	w     *window
}

// NewLineReader returns a reader of lines up to limit bytes, line end not counted.
func NewLineReader(r io.Reader, limit int) *LineReader {
	return &LineReader{limit: limit, w: newWindow(r, limit, false)}
}

// Read returns the next line that is not empty, without its LF or CRLF, in a Buffer that becomes the caller's. A last line
// need not have an end. The error is a [*TooLongError] for a line over the limit: it has been skipped to its end without
// having been kept in memory, and the next Read goes on behind it. Every other error is the stream's, [io.EOF] at its
// end, and final.
func (l *LineReader) Read() (*Buffer, error) {
	for {
		line, err := l.w.line()
		if err == errUnended {
			return nil, &TooLongError{Limit: l.limit, Size: l.w.drop()}
		}
		if err != nil && (err != io.EOF || len(line) == 0) {
			return nil, err
		}
		line = bytes.TrimSuffix(line, cr)
		if len(line) > l.limit {
			return nil, &TooLongError{Limit: l.limit, Size: len(line)}
		}
		if len(line) > 0 {
			return l.w.take(line), nil
		}
	}
}

var cr = []byte("\r")
