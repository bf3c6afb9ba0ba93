package wire

import (
	"bytes"
	"io"
	"slices"
	"sync"
)

// sizes are those of pooled buffers, each of which has a pool of its own: a single one would give short
// buffers to long messages, which then grow. Most messages are short. Those beyond are up to a quarter
// larger than what they hold: what waits for a client is counted by its memory, and to clear and collect
// new memory costs more than to read a message.
var sizes = [...]int{
	4 << 10, 96 << 10, 112 << 10, 128 << 10, 160 << 10, 192 << 10, 224 << 10, 256 << 10, 320 << 10, 384 << 10, 448 << 10,
	512 << 10, 640 << 10, 768 << 10, 896 << 10, 1024 << 10, 1280 << 10, 1536 << 10, 1792 << 10, 2048 << 10,
	2560 << 10, 3072 << 10, 3584 << 10, 4096 << 10, 5120 << 10, 6144 << 10,
}

var pools = [len(sizes)]sync.Pool{}

// A Buffer is a pooled byte slice. It has one owner at a time, which may change B and passes the
// Buffer on or frees it. It is not safe for concurrent use.
type Buffer struct {
	B []byte

	spare []byte // holds the memory of B in a pool, so that a use after Free sees a nil B
}

// NewBuffer returns an empty Buffer with room for at least size bytes.
func NewBuffer(size int) *Buffer {
	for i, most := range sizes {
		if size > most {
			continue
		}
		b, pooled := pools[i].Get().(*Buffer)
		if !pooled {
			return &Buffer{B: make([]byte, 0, most)}
		}
		b.B, b.spare = b.spare, nil
		return b
	}
	return &Buffer{B: make([]byte, 0, size+1)} // and one for a line end
}

// Free gives the Buffer back to its pool: neither it nor a slice of B may be used afterwards.
// Freeing nil does nothing.
func (b *Buffer) Free() {
	if b == nil {
		return
	}
	b.B, b.spare = nil, b.B[:0]
	if cap(b.spare) > sizes[len(sizes)-1] {
		return
	}
	for i, least := range slices.Backward(sizes[:]) {
		if cap(b.spare) >= least {
			pools[i].Put(b)
			return
		}
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
const maxClaim = 4 << 20

// ReadBody reads a body to its end. length is the length that its header announces, negative for
// none. arrived, which may be nil, is called with all that has been read, each time that there is
// more of it, and keeps nothing of it. The error is a [*TooLongError] for a body over limit bytes,
// else the reader's. The Buffer is the caller's, with what has been read, whatever the error.
func ReadBody(r io.Reader, length int64, limit int, arrived func([]byte)) (*Buffer, error) {
	if length > int64(limit) {
		head := make([]byte, headSize)
		n, _ := io.ReadFull(r, head)
		return NewBuffer(0), &TooLongError{Limit: limit, Size: int(length), Head: head[:n]}
	}
	whole := int(max(length, 0)) + bytes.MinRead // the end needs room too
	b := NewBuffer(min(whole, maxClaim+bytes.MinRead))
	return b, b.readAll(r, whole, limit, arrived)
}

// readAll reads r to its end. whole is the capacity that it is likely to need.
func (b *Buffer) readAll(r io.Reader, whole, limit int, arrived func([]byte)) error {
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
		case arrived != nil:
			arrived(b.B)
		}
	}
}
