package fleet

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/websocket"
	"github.com/xtaci/smux"
)

const (
	peerPath      = "/peer"
	handshakeTime = 10 * time.Second
	aliveEvery    = 2 * time.Second // how often an idle link is tried
	aliveWithin   = 6 * time.Second // after which one that says nothing is lost

	streamWindow = 256 << 10 // bytes that a stream's reader has not taken
	maxStreams   = 4096      // of one link; beyond it the streams wait for one another
)

// subprotocol is the version of a link. Nodes of two versions have one in common.
const subprotocol = "mcpbridge-peer.1"

// multiplexed are the settings of the streams of a link.
func multiplexed() *smux.Config {
	c := smux.DefaultConfig()
	c.Version = 2 // with a window for each stream
	c.KeepAliveInterval, c.KeepAliveTimeout = aliveEvery, aliveWithin
	c.MaxStreamBuffer, c.MaxReceiveBuffer = streamWindow, streamWindow*maxStreams
	return c
}

// dial opens a link to the node at a URL such as https://10.0.0.3:7332.
func (k *Keys) dial(ctx context.Context, url string) (*smux.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	dialer := websocket.Dialer{Subprotocols: []string{subprotocol}, HandshakeTimeout: handshakeTime}
	ws, response, err := dialer.DialContext(ctx, "ws"+strings.TrimPrefix(strings.TrimSuffix(url, "/"), "http")+peerPath, nil)
	if err != nil {
		if response != nil {
			response.Body.Close()
		}
		return nil, err
	}
	secure := tls.Client(newConn(ws), k.tls())
	if err := secure.HandshakeContext(ctx); err != nil {
		ws.Close()
		return nil, err
	}
	return smux.Client(secure, multiplexed())
}

// accept makes the request of a node at /peer a link.
func (k *Keys) accept(w http.ResponseWriter, r *http.Request) (*smux.Session, error) {
	up := websocket.Upgrader{Subprotocols: []string{subprotocol}, HandshakeTimeout: handshakeTime}
	ws, err := up.Upgrade(w, r, nil)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), handshakeTime)
	defer cancel()
	secure := tls.Server(newConn(ws), k.tls())
	if err := secure.HandshakeContext(ctx); err != nil {
		ws.Close()
		return nil, err
	}
	return smux.Server(secure, multiplexed())
}

// conn is a WebSocket connection as a stream of bytes, which passes proxies.
type conn struct {
	*websocket.Conn
	rest io.Reader // of the message that is being read; nil between two
}

func newConn(ws *websocket.Conn) *conn { return &conn{Conn: ws} }

// Read implements io.Reader.
func (c *conn) Read(p []byte) (int, error) {
	for {
		if c.rest == nil {
			kind, r, err := c.NextReader()
			switch {
			case err != nil:
				return 0, err
			case kind != websocket.BinaryMessage:
				return 0, net.ErrClosed
			}
			c.rest = r
		}
		n, err := c.rest.Read(p)
		if err == io.EOF {
			c.rest, err = nil, nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// Write implements io.Writer: each write is one message.
func (c *conn) Write(p []byte) (int, error) {
	if err := c.WriteMessage(websocket.BinaryMessage, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}
