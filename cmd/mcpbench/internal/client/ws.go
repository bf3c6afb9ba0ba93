package client

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/gorilla/websocket"
)

// buffers are shared by the connections that do not write at the moment.
var buffers = sync.Pool{}

// ws is MCP over WebSocket, a message a text frame.
type ws struct {
	conn    *websocket.Conn
	message []byte
}

func openWS(t Target) (Session, error) {
	ctx, cancel := context.WithDeadline(context.Background(), t.Until)
	defer cancel()
	d := websocket.Dialer{Subprotocols: []string{"mcp"}, ReadBufferSize: bufferSize, WriteBufferSize: 64 << 10, WriteBufferPool: &buffers}
	conn, answer, err := d.DialContext(ctx, t.URL, t.Header)
	if err != nil {
		if answer != nil {
			err = fmt.Errorf("%w: %s", err, answer.Status)
		}
		return nil, err
	}
	conn.NetConn().SetDeadline(t.Until)
	return single{&ws{conn: conn}}, nil
}

func (s *ws) write(message []byte) error {
	return s.conn.WriteMessage(websocket.TextMessage, message)
}

func (s *ws) read() ([]byte, error) {
	_, r, err := s.conn.NextReader()
	if err != nil {
		return nil, err
	}
	for s.message = s.message[:0]; ; {
		if len(s.message) == cap(s.message) {
			s.message = append(s.message, make([]byte, len(s.message)+4096)...)[:len(s.message)]
		}
		n, err := r.Read(s.message[len(s.message):cap(s.message)])
		s.message = s.message[:len(s.message)+n]
		if err == io.EOF {
			return s.message, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (s *ws) Close() { s.conn.Close() }
