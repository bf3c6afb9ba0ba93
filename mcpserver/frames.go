package mcpserver

import (
	"bufio"
	"context"
	"encoding/binary"
	"net"
	"net/http"
	"slices"
	"syscall"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// copiedFrame is how many bytes a message may have to be copied, so that it goes out together with
// others.
const copiedFrame = 8 << 10

// frameWriter writes messages as WebSocket text frames (RFC 6455, 5.2), as many as wait in one system
// call, which has only whole frames: the connection's reader may write control frames between them.
type frameWriter struct {
	life    context.Context // after whose end a large message gets no more time
	conn    net.Conn
	busy    chan struct{} // of its controlConn
	taken   func()        // is called when the client has taken a part of a large message
	gathers bool          // the connection writes net.Buffers at once
	parts   net.Buffers
	until   time.Time // the deadline of writes
}

func newFrameWriter(life context.Context, conn *controlConn, taken func()) *frameWriter {
	_, gathers := conn.Conn.(syscall.Conn)
	return &frameWriter{life: life, conn: conn.Conn, busy: conn.busy, taken: taken, gathers: gathers}
}

// extend gives the next write its time.
func (f *frameWriter) extend() {
	if now := time.Now(); f.until.Sub(now) < writeTime { // to set it for each write would cost as much as a frame
		f.until = now.Add(writeTime + time.Second)
		f.conn.SetWriteDeadline(f.until)
	}
}

// write writes a batch and frees its messages.
func (f *frameWriter) write(batch []*wire.Buffer) error {
	if len(batch) == 1 && len(batch[0].B) > largePart {
		return f.writeLarge(batch[0])
	}
	f.extend()
	size := 0
	for _, msg := range batch {
		size += maxFrameHeader
		if f.copies(msg) {
			size += len(msg.B)
		}
	}
	copied := wire.NewBuffer(size)
	defer copied.Free()
	parts, from := f.parts[:0], 0
	for _, msg := range batch {
		copied.B = appendFrameHeader(copied.B, len(msg.B))
		if f.copies(msg) {
			copied.B = append(copied.B, msg.B...)
		} else {
			parts = append(parts, copied.B[from:], msg.B)
			from = len(copied.B)
		}
	}
	var err error
	if f.parts = parts; len(parts) == 0 {
		_, err = f.conn.Write(copied.B)
	} else {
		parts = append(parts, copied.B[from:])
		_, err = parts.WriteTo(f.conn)
	}
	for _, msg := range batch {
		msg.Free()
	}
	return err
}

// writeLarge writes a message in parts, each of which has its time, as over HTTP. They are one frame: some clients do not put
// several together.
func (f *frameWriter) writeLarge(msg *wire.Buffer) error {
	defer msg.Free()
	f.busy <- struct{}{}
	defer func() { <-f.busy }()
	f.extend()
	if _, err := f.conn.Write(appendFrameHeader(nil, len(msg.B))); err != nil {
		return err
	}
	for part := range slices.Chunk(msg.B, largePart) {
		if f.life.Err() == nil {
			f.extend()
		}
		if _, err := f.conn.Write(part); err != nil {
			return err
		}
		f.taken()
	}
	return nil
}

func (f *frameWriter) copies(msg *wire.Buffer) bool { return len(msg.B) <= copiedFrame || !f.gathers }

const maxFrameHeader = 10 // bytes, of a frame of a server

// appendFrameHeader appends the header of a text frame of a server that is a whole message.
func appendFrameHeader(dst []byte, length int) []byte {
	const final, len16, len64 = 0x80, 126, 127
	dst = append(dst, final|websocket.TextMessage)
	switch {
	case length < len16:
		return append(dst, byte(length))
	case length <= 0xffff:
		return binary.BigEndian.AppendUint16(append(dst, len16), uint16(length))
	default:
		return binary.BigEndian.AppendUint64(append(dst, len64), uint64(length))
	}
}

// controlConn is a connection as its reader has it: the control frames that it writes, also of its own accord at what it
// cannot read, come between large messages.
type controlConn struct {
	net.Conn
	busy   chan struct{} // holds a token while a large message is written, or a control frame beside it
	within time.Duration // bounds the next write, from when it is its turn
}

// SetWriteDeadline implements net.Conn.
func (c *controlConn) SetWriteDeadline(t time.Time) error {
	if c.within = never; !t.IsZero() {
		c.within = time.Until(t)
	}
	return nil
}

// Write implements net.Conn.
func (c *controlConn) Write(b []byte) (int, error) {
	c.busy <- struct{}{}
	defer func() { <-c.busy }()
	c.Conn.SetWriteDeadline(time.Now().Add(c.within))
	return c.Conn.Write(b)
}

// controlUpgrade makes the connection of a request that is upgraded a controlConn.
type controlUpgrade struct{ http.ResponseWriter }

// Hijack implements http.Hijacker.
func (u controlUpgrade) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffers, err := http.NewResponseController(u.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	return &controlConn{Conn: conn, busy: make(chan struct{}, 1), within: writeTime}, buffers, nil
}
