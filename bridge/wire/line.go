package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// A LineReader reads messages, one a line, into pooled buffers. It is for one goroutine.
type LineReader struct {
	limit int // of a line, in bytes
	w     *window
}

// NewLineReader returns a reader of lines of at most limit bytes, line ends not counted.
func NewLineReader(r io.Reader, limit int) *LineReader {
	return &LineReader{limit: limit, w: newWindow(r, limit, false)}
}

// Read returns the next line that is not empty, without its LF or CRLF, in a Buffer that becomes
// the caller's. The last line need not have an end. A [*TooLongError] is for a line over the limit,
// which was skipped without keeping it in memory: the next Read returns the line after it. Any
// other error is final: the stream's, [io.EOF] at its end, or one that is [bufio.ErrTooLong] after a
// TooLongError for a line of which more than 1 GiB was skipped: it does not seem to end.
func (l *LineReader) Read() (*Buffer, error) {
	for {
		line, err := l.w.line()
		if err == errUnended {
			return nil, l.w.skipLong(l.limit)
		}
		if err != nil && (err != io.EOF || len(line) == 0) {
			return nil, err
		}
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(line) > l.limit {
			return nil, newTooLong(l.limit, line)
		}
		if len(line) > 0 {
			return l.w.detach(line), nil
		}
	}
}

// maxSkip bounds the bytes of a line that are skipped. A line that never ends would not be noticed otherwise.
const maxSkip = 1 << 30

// endlessError is bufio.ErrTooLong for people.
type endlessError struct{}

func (endlessError) Error() string { return "more than 1 GiB came without an end" }

func (endlessError) Unwrap() error { return bufio.ErrTooLong }

// TooLongError is the error for a message over the limit of its reader.
type TooLongError struct {
	Limit int // in bytes
	Size  int // of the message, in bytes, as far as it was read

	Head, Tail []byte // the first 1 KiB and the last 64 bytes of what was read
}

const (
	headSize = 1 << 10
	tailSize = 64
)

// newTooLong returns the error for a message, or for what has been read of it.
func newTooLong(limit int, msg []byte) *TooLongError {
	return &TooLongError{Limit: limit, Size: len(msg), Head: headOf(msg), Tail: bytes.Clone(msg[max(0, len(msg)-tailSize):])}
}

func headOf(msg []byte) []byte { return bytes.Clone(msg[:min(len(msg), headSize)]) }

// Error names the size and the limit.
func (e *TooLongError) Error() string {
	return fmt.Sprintf("a message of %d bytes is over the limit of %d bytes", e.Size, e.Limit)
}

// skip counts a part of the message.
func (e *TooLongError) skip(part []byte) {
	e.Size += len(part)
	e.Tail = append(e.Tail, part[max(0, len(part)-tailSize):]...)
	e.Tail = e.Tail[max(0, len(e.Tail)-tailSize):]
}

// errUnended is window.line's error for a line that exceeds the limit before its end is read.
var errUnended = errors.New("line over the limit")

// A window cuts a stream into lines. It holds the bytes read ahead in one pooled buffer, as large
// as the last line needed: a stream that is idle after short lines costs 4 KiB.
type window struct {
	r     io.Reader
	limit int  // of a line, in bytes
	cr    bool // a CR ends a line too, whether or not an LF follows
	skip  int  // maxSkip

	buf  *Buffer
	from int   // buf.B[from:] has not been returned
	seen int   // buf.B[from:seen] has no line end
	last int   // length of the last line
	lf   bool  // the last line ended in a CR: an LF belongs to it
	err  error // of r, final
}

func newWindow(r io.Reader, limit int, cr bool) *window {
	return &window{r: r, limit: limit, cr: cr, skip: maxSkip, buf: NewBuffer(0)}
}

// line returns the next line without its end, valid until the next call. With the reader's error it
// returns the rest of the stream. A line whose end was read may exceed the limit. One whose end was
// not may exceed it by the CR of a line end; beyond that the error is errUnended.
func (w *window) line() ([]byte, error) {
	for {
		if w.lf && w.from < len(w.buf.B) {
			w.lf = false
			if w.buf.B[w.from] == '\n' {
				w.from++
				w.seen = w.from
			}
		}
		if n := w.lineEnd(w.buf.B[w.seen:]); n >= 0 {
			end := w.seen + n
			line := w.buf.B[w.from:end]
			w.lf = w.cr && w.buf.B[end] == '\r'
			w.from, w.seen, w.last = end+1, end+1, len(line)
			return line, nil
		}
		w.seen = len(w.buf.B)
		pending := w.buf.B[w.from:]
		switch {
		case len(pending)-1 > w.limit:
			return nil, errUnended
		case w.err != nil:
			w.from = w.seen
			return pending, w.err
		}
		w.read()
	}
}

// lineEnd returns the index of the first line end, -1 when b has none.
func (w *window) lineEnd(b []byte) int {
	if !w.cr {
		return bytes.IndexByte(b, '\n')
	}
	for from := 0; from < len(b); from += stride {
		part := b[from:min(from+stride, len(b))]
		n := bytes.IndexByte(part, '\n')
		if n >= 0 {
			part = part[:n]
		}
		if cr := bytes.IndexByte(part, '\r'); cr >= 0 {
			return from + cr
		}
		if n >= 0 {
			return from + n
		}
	}
	return -1
}

// stride bounds the search for an LF before that for a CR, and so the cost of a line that ends in a
// CR alone.
const stride = 4 << 10

// read reads from the stream once, or sets w.err.
func (w *window) read() {
	switch {
	case w.from == len(w.buf.B):
		w.buf.Free()
		w.buf = NewBuffer(w.last)
		w.from, w.seen = 0, 0
	case len(w.buf.B) < cap(w.buf.B):
	case w.from > 0:
		n := copy(w.buf.B, w.buf.B[w.from:])
		w.buf.B = w.buf.B[:n]
		w.from, w.seen = 0, w.seen-w.from
	default:
		w.buf.grow(2 * cap(w.buf.B))
	}
	w.err = io.ErrNoProgress
	for range 100 {
		n, err := w.r.Read(w.buf.B[len(w.buf.B):cap(w.buf.B)])
		w.buf.B = w.buf.B[:len(w.buf.B)+n]
		if n > 0 || err != nil {
			w.err = err
			return
		}
	}
}

// skipLong discards the line that is being read, whose end has not come, and returns the error for
// it.
func (w *window) skipLong(limit int) *TooLongError {
	long := &TooLongError{Limit: limit, Head: headOf(w.buf.B[w.from:])}
	for {
		part := w.buf.B[w.from:]
		n := w.lineEnd(part)
		if n >= 0 {
			w.lf = w.cr && part[n] == '\r'
			part = part[:n]
			w.from++
		}
		long.skip(part)
		w.from += len(part)
		w.seen = w.from
		if n < 0 && w.err == nil && long.Size-limit > w.skip {
			w.err = endlessError{}
		}
		if n >= 0 || w.err != nil {
			if bytes.HasSuffix(long.Tail, []byte("\r")) {
				long.Size--
				long.Tail = long.Tail[:len(long.Tail)-1]
			}
			return long
		}
		w.read()
	}
}

// detach moves the line that line has just returned to a Buffer of its own. A long line at the head
// of the window keeps its memory, and the rest moves out.
func (w *window) detach(line []byte) *Buffer {
	if len(line) <= copyBelow || &line[0] != &w.buf.B[0] {
		b := NewBuffer(len(line))
		b.B = append(b.B, line...)
		return b
	}
	b, rest := w.buf, w.buf.B[w.from:]
	w.buf = NewBuffer(max(len(rest), len(line)))
	w.buf.B = append(w.buf.B, rest...)
	w.from, w.seen = 0, 0
	b.B = line
	return b
}
