package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// TooLongError is the error for a message over the limit of its reader.
type TooLongError struct {
	Limit int // in bytes
	Size  int // the size of the message in bytes, or as much of it as had been seen
}

// Error names the limit.
func (e *TooLongError) Error() string {
	return fmt.Sprintf("a message of %d bytes is over the limit of %d bytes", e.Size, e.Limit)
}

// errUnended is window.line's for a line that is over the limit already though its end is not in sight.
var errUnended = errors.New("line over the limit")

// window cuts a stream into lines. It holds what has been read and not been returned in one pooled buffer, which is as
// large as the last line asked for: a stream that is idle after short lines costs 4 KiB.
type window struct {
	r     io.Reader
	limit int
	cr    bool // a CR ends a line too, and an LF behind it belongs to it

	buf  *Buffer
	from int   // buf.B[from:] has not been returned
	seen int   // buf.B[from:seen] has no line end
	last int   // length of the last line
	lf   bool  // the last line ended in a CR
	err  error // of r, final
}

func newWindow(r io.Reader, limit int, cr bool) *window {
	return &window{r: r, limit: limit, cr: cr, buf: NewBuffer(0)}
}

// line returns the next line without its end, valid until the next call. With the reader's error comes what was left
// without a line end. A whole line may be over the limit; one without an end in sight may exceed it by one byte, for the
// CR of a line end.
func (w *window) line() ([]byte, error) {
	for {
		if w.lf && w.from < len(w.buf.B) {
			w.lf = false
			if w.buf.B[w.from] == '\n' {
				w.from++
				w.seen = w.from
			}
		}
		if n := w.find(w.buf.B[w.seen:]); n >= 0 {
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
		w.fill()
	}
}

// find returns where the first line end is, -1 when there is none.
func (w *window) find(b []byte) int {
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

// stride is how far ahead an LF is looked for before a CR is: where lines end in CR alone,
// each of them costs no more than that.
const stride = 4 << 10

// fill reads once, or notes why it cannot.
func (w *window) fill() {
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
		w.buf.grow()
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

// drop reads on to the next LF and keeps nothing. It returns how long the line was, without its end.
func (w *window) drop() (size int) {
	last := byte(0)
	for {
		pending := w.buf.B[w.from:]
		n := bytes.IndexByte(pending, '\n')
		ended := n >= 0
		if !ended {
			n = len(pending)
		}
		size += n
		if n > 0 {
			last = pending[n-1]
		}
		w.from += n
		w.seen = w.from
		if ended {
			w.from++
			w.seen++
		}
		if ended || w.err != nil {
			if last == '\r' {
				size--
			}
			return size
		}
		w.fill()
	}
}

// take returns the line that the last call of line returned, in a Buffer of its own. A long line at the head of the window,
// where growing has brought it, keeps the memory it is in, and the rest moves out.
func (w *window) take(line []byte) *Buffer {
	if len(line) <= direct || &line[0] != &w.buf.B[0] {
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
