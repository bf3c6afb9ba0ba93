package mcpserver

import (
	"context"
	"encoding/binary"
	"net"
	"slices"
	"syscall"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// copiedFrame is how many bytes a message may have to be copied, so that it goes out together with
// others.
const copiedFrame = 8 << 10

// takenTime is how long a part of a message takes at least that has not only filled a buffer on the way to the client.
const takenTime = 100 * time.Millisecond

// frameWriter writes messages as WebSocket text frames (RFC 6455, 5.2), as many as wait in one system
// call, which has only whole frames: the connection's reader may write control frames at any time.
type frameWriter struct {
	life    context.Context // after whose end a large message is not given more time
	conn    net.Conn
	gathers bool // the connection writes net.Buffers at once
	parts   net.Buffers
	until   time.Time // the deadline of writes
}

func newFrameWriter(life context.Context, conn net.Conn) *frameWriter {
	_, gathers := conn.(syscall.Conn)
	return &frameWriter{life: life, conn: conn, gathers: gathers}
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
		defer batch[0].Free()
		return f.writeLarge(batch[0].B)
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
		copied.B = appendFrameHeader(copied.B, finalFrame|websocket.TextMessage, len(msg.B))
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

// writeLarge writes a message in several frames (RFC 6455, 5.4), each of which has its time: a client may be slow to take
// it. One that takes a frame is alive, though nothing can be read from it that answers a ping.
func (f *frameWriter) writeLarge(msg []byte) error {
	kind, left := byte(websocket.TextMessage), len(msg)
	for part := range slices.Chunk(msg, largePart) {
		if left -= len(part); left == 0 {
			kind |= finalFrame
		}
		begun := time.Now()
		if f.life.Err() == nil {
			f.extend()
		}
		if err := f.writeFrame(kind, part); err != nil {
			return err
		}
		if now := time.Now(); now.Sub(begun) >= takenTime {
			f.conn.SetReadDeadline(now.Add(silentTime))
		}
		kind = 0 // a continuation
	}
	return nil
}

func (f *frameWriter) writeFrame(kind byte, part []byte) (err error) {
	head := appendFrameHeader(make([]byte, 0, maxFrameHeader), kind, len(part))
	if f.gathers {
		_, err = (&net.Buffers{head, part}).WriteTo(f.conn)
	} else {
		_, err = f.conn.Write(append(head, part...))
	}
	return err
}

func (f *frameWriter) copies(msg *wire.Buffer) bool { return len(msg.B) <= copiedFrame || !f.gathers }

const (
	maxFrameHeader = 10   // bytes, of a frame of a server
	finalFrame     = 0x80 // is the last one of a message
)

// appendFrameHeader appends the header of a frame of a server, of a kind.
func appendFrameHeader(dst []byte, kind byte, length int) []byte {
	const len16, len64 = 126, 127
	dst = append(dst, kind)
	switch {
	case length < len16:
		return append(dst, byte(length))
	case length <= 0xffff:
		return binary.BigEndian.AppendUint16(append(dst, len16), uint16(length))
	default:
		return binary.BigEndian.AppendUint64(append(dst, len64), uint64(length))
	}
}
