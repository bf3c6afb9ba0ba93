package wire

import (
	"errors"

	"github.com/gorilla/websocket"
)

// Subprotocol is the WebSocket subprotocol of MCP: each text message is a JSON-RPC message.
const Subprotocol = "mcp"

// ErrBinary is the error of [ReadFrame] for a binary message.
var ErrBinary = errors.New("a binary WebSocket message, where MCP has text only")

// ReadFrame reads the next text message of a connection into a Buffer that becomes the caller's.
// Only one goroutine may read from a connection. The error is a [*TooLongError] for a message over
// limit bytes, [ErrBinary], or the connection's; after any error the caller closes the connection.
func ReadFrame(c *websocket.Conn, limit int) (*Buffer, error) {
	kind, r, err := c.NextReader()
	if err != nil {
		return nil, err
	}
	if kind != websocket.TextMessage {
		return nil, ErrBinary
	}
	b := NewBuffer(0)
	if err := b.readAll(r, 0, limit); err != nil {
		b.Free()
		return nil, err
	}
	return b, nil
}
