package wire

import (
	"bytes"
	"io"
	"sync"
)

// Most messages are short, and the long ones hold a file or a page of text. A single pool would
// give short buffers to long messages, which then grow.
const (
	smallSize = 4 << 10
	largeSize = 96 << 10
	keepSize  = 256 << 10
)

var (
	small = sync.Pool{New: func() any { return &Buffer{spare: make([]byte, 0, smallSize)} }}
	large = sync.Pool{New: func() any { return &Buffer{spare: make([]byte, 0, largeSize)} }}
)

// A Buffer is a pooled byte slice. It has one owner at a time, which may change B and passes the
// Buffer on or frees it. It is not safe for concurrent use.
type Buffer struct {
	B []byte

	spare []byte // holds the memory of B in a pool, so that a use after Free sees a nil B
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

// Free gives the Buffer back to its pool: neither it nor a slice of B may be used afterwards.
// Freeing nil does nothing.
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

// grow gives B a capacity of at least size.
func (b *Buffer) grow(size int) {
	next := NewBuffer(size)
	next.B = append(next.B, b.B...)
	b.B, next.B = next.B, b.B
	next.Free()
}

// maxClaim bounds the memory that a body gets because its header announces a length.
const maxClaim = 1 << 20

// ReadBody reads a body to its end. length is the length that its header announces, negative for
// none. The error is a [*TooLongError] for a body over limit bytes, else the reader's. The Buffer
// is the caller's, with what has been read, whatever the error.
func ReadBody(r io.Reader, length int64, limit int) (*Buffer, error) {
	if length > int64(limit) {
		return NewBuffer(0), &TooLongError{Limit: limit, Size: int(length)}
	}
	whole := int(max(length, 0)) + bytes.MinRead // the end needs room too
	b := NewBuffer(min(whole, maxClaim+bytes.MinRead))
	return b, b.readAll(r, whole, limit)
}

// readAll reads r to its end. whole is the capacity that it is likely to need.
func (b *Buffer) readAll(r io.Reader, whole, limit int) error {
	for {
		if size := cap(b.B); len(b.B) == size && size < whole {
			b.grow(min(4*size, whole)) // no more than a few times what has come
		} else if len(b.B) == size {
			b.grow(2 * size)
		}
		n, err := r.Read(b.B[len(b.B):cap(b.B)])
		b.B = b.B[:len(b.B)+n]
		switch {
		case len(b.B) > limit:
			return newTooLong(limit, b.B)
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}
