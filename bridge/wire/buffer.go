package wire

import (
	"bytes"
	"io"
	"sync"
)

// The two sizes follow what passes: most messages are short, and the long ones are a file or a page of text. One mixed
// pool would keep handing short buffers to long messages, which then grow.
const (
	smallSize = 4 << 10
	largeSize = 96 << 10
	keepSize  = 256 << 10
)

var (
	small = sync.Pool{New: func() any { return &Buffer{spare: make([]byte, 0, smallSize)} }}
	large = sync.Pool{New: func() any { return &Buffer{spare: make([]byte, 0, largeSize)} }}
)

// Buffer is a pooled byte slice. It has one owner at a time, who may change B at will, hands the Buffer on to the next
// owner or ends it with Free. It is not safe for concurrent use.
type Buffer struct {
	B []byte

	spare []byte // B's memory while the Buffer is in a pool, so that a use after Free meets a nil B
}

// NewBuffer returns an empty Buffer with room for at least size bytes.
func NewBuffer(size int) *Buffer {
	var b *Buffer
	switch {
	case size <= smallSize:
		b = small.Get().(*Buffer)
	case size <= largeSize:
		b = large.Get().(*Buffer)
	default:
		return &Buffer{B: make([]byte, 0, size+1)} // and one for a line end
	}
	b.B, b.spare = b.spare, nil
	return b
}

// Free gives the Buffer back. Neither it nor any slice of B may be used afterwards. A nil Buffer is left alone.
func (b *Buffer) Free() {
	if b == nil {
		return
	}
	b.B, b.spare = nil, b.B[:0]
	switch c := cap(b.spare); {
	case c > keepSize:
	case c >= largeSize:
		large.Put(b)
	case c >= smallSize:
		small.Put(b)
	}
}

// grow makes room behind B, by exchanging its memory for a larger one.
func (b *Buffer) grow() {
	next := NewBuffer(2 * cap(b.B))
	next.B = append(next.B, b.B...)
	b.B, next.B = next.B, b.B
	next.Free()
}

// maxClaim bounds the memory that a body gets because its header announces a length.
const maxClaim = 1 << 20

// ReadBody reads a body to its end. length is the length that its header announces, negative
// for none. The error is a [*TooLongError] for a body over limit bytes, else the reader's. The
// Buffer is the caller's, with what has been read, whatever the error.
func ReadBody(r io.Reader, length int64, limit int) (*Buffer, error) {
	if length > int64(limit) {
		return NewBuffer(0), &TooLongError{Limit: limit, Size: int(length)}
	}
	b := NewBuffer(int(min(max(length, 0), maxClaim)) + bytes.MinRead) // the end needs room too
	return b, b.readAll(r, limit)
}

// readAll reads r to its end.
func (b *Buffer) readAll(r io.Reader, limit int) error {
	for {
		if len(b.B) == cap(b.B) {
			b.grow()
		}
		n, err := r.Read(b.B[len(b.B):cap(b.B)])
		b.B = b.B[:len(b.B)+n]
		switch {
		case len(b.B) > limit:
			return &TooLongError{Limit: limit, Size: len(b.B)}
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}
