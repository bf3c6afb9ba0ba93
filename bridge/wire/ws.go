package wire

import (
	"errors"
	"io"

	"github.com/gorilla/websocket"
)

// Subprotocol is the WebSocket subprotocol of MCP: each text message is a JSON-RPC message.
const Subprotocol = "mcp"

// ErrBinary is the error of [ReadFrame] for a binary message.
var ErrBinary = errors.New("a binary WebSocket message, where MCP has text only")

// ReadFrame reads the next text message of a connection into a Buffer that becomes the caller's.
// Only one goroutine may read from a connection. The error is a [*TooLongError] for a message over
// limit bytes, which was skipped, [ErrBinary], or the connection's; after any of the last two the
// caller closes the connection.
func ReadFrame(c *websocket.Conn, limit int) (*Buffer, error) {
	kind, r, err := c.NextReader()
	if err != nil {
		return nil, err
	}
	if kind != websocket.TextMessage {
		return nil, ErrBinary
	}
	b := NewBuffer(0)
	if err := b.readAll(r, 0, limit, nil); err != nil {
		if long := (*TooLongError)(nil); errors.As(err, &long) {
			long.skipRest(r)
		}
		b.Free()
		return nil, err
	}
	return b, nil
}

// skipRest reads the rest of a message. The next read of the connection reports an error.
func (e *TooLongError) skipRest(r io.Reader) {
	var part [4 << 10]byte
	for err := error(nil); err == nil; {
		var n int
		n, err = r.Read(part[:])
		e.skip(part[:n])
	}
}
