package mcpserver

import (
	"encoding/binary"
	"net"
	"syscall"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// copiedFrame is how many bytes a message may have to be copied, so that it goes out together with
// others.
const copiedFrame = 8 << 10

// frameWriter writes messages as WebSocket text frames (RFC 6455, 5.2), as many as wait in one system
// call, which has only whole frames: the connection's reader may write control frames at any time.
type frameWriter struct {
	conn    net.Conn
	gathers bool // the connection writes net.Buffers at once
	parts   net.Buffers
	until   time.Time // the deadline of writes
}

func newFrameWriter(conn net.Conn) *frameWriter {
	_, gathers := conn.(syscall.Conn)
	return &frameWriter{conn: conn, gathers: gathers}
}

// write writes a batch and frees its messages.
func (f *frameWriter) write(batch []*wire.Buffer) error {
	if now := time.Now(); f.until.Sub(now) < writeTime { // to set it for each write would cost as much as a frame
		f.until = now.Add(writeTime + time.Second)
		f.conn.SetWriteDeadline(f.until)
	}
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
