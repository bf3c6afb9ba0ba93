package wire

import (
	"errors"

	"github.com/gorilla/websocket"
)

// Subprotocol is the WebSocket subprotocol of MCP, where each text message is a JSON-RPC message.
const Subprotocol = "mcp"

// ErrBinary is why [ReadFrame] takes no binary message.
var ErrBinary = errors.New("a binary WebSocket message, where MCP has text only")

// ReadFrame reads the next text message of the connection whole, into a Buffer that becomes the caller's. Only one
// goroutine may read from a connection. The error is a [*TooLongError] for a message over limit bytes, an error for a binary
// one, or the connection's; after any of them the caller closes the connection.
func ReadFrame(c *websocket.Conn, limit int) (*Buffer, error) {
	kind, r, err := c.NextReader()
	if err != nil {
		return nil, err
	}
	if kind != websocket.TextMessage {
		return nil, ErrBinary
	}
	b := NewBuffer(0)
	if err := b.readAll(r, limit); err != nil {
		b.Free()
		return nil, err
	}
	return b, nil
}
